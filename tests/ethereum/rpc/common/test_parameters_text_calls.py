import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_transport import Conversation
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import run_call_text
from wsnode.jsonrpc.dispatcher import Dispatcher

IDENTITY = "0x" + "04".rjust(40, "0")
# Returns the sender, the value, the price and what is left of the gas.
SURROUNDINGS = "0x335f52346020523a6040525a60605260805ff3"

ADDRESSES = st.sampled_from([IDENTITY, "0x" + "13" * 20, "0X" + "13" * 20, "0x13", "", None, 4])
QUANTITIES = st.one_of(
    st.integers(0, 2**70).map(hex), st.sampled_from(["0x0", "0x", "0x01", "0X1", "1", "", None, 7, "0xg"])
)
INPUTS: st.SearchStrategy[Any] = st.sampled_from(
    [SURROUNDINGS, "0x", "0x0aFF", "0xabc", "abcd", "", "0x0x00", None, []]
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "from": ADDRESSES,
        "to": ADDRESSES,
        "gas": st.one_of(st.integers(0, 200_000).map(hex), QUANTITIES),
        "gasPrice": QUANTITIES,
        "value": QUANTITIES,
        "data": INPUTS,
        "input": INPUTS,
    },
)
BLOCKS = st.sampled_from(
    ["latest", "0x1", "0x0", "0x01", "0xffff", "earliest", "pending", "0x8000000000000000"]
)


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
@given(call=CALLS, block=BLOCKS)
def test_a_call_in_the_usual_form_is_answered_as_in_any_other(
    execution_apis_chain: Chain, dispatcher: Dispatcher, method: str, call: dict[str, Any], block: str
) -> None:
    # A member without a value changes nothing, but is not usual.
    other = call | {"accessList": None}
    assert run(execution_apis_chain, [other, block]) is None
    assert reply(dispatcher, method, [call, block]) == reply(dispatcher, method, [other, block])


STORING = "0x8bebc8ba651aee624937e7d897853ac30c95a067"
"""An account of the genesis with 1 to 3 in the slots of these numbers."""
# Returns the sum of the slot that the input names and of the contract's balance.
READING = "0x5f35544701" + "5f5260205ff3"


def word(number: int) -> str:
    return f"0x{number:064x}"


WORDS = st.one_of(st.integers(0, 5).map(word), st.integers(0, 2**256 - 1).map(word))
SLOTS = st.one_of(
    st.dictionaries(WORDS, WORDS, max_size=4),
    st.dictionaries(
        st.one_of(WORDS, st.sampled_from(["0x1", word(1).upper(), "0X" + word(1)[2:], ""])),
        st.one_of(WORDS, st.sampled_from(["0x1", "0xA", None, 1, word(10).upper()])),
        max_size=2,
    ),
)
ACCOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from([READING, READING, "0x", "", "0x5", "0xef01", "0xef0100" + "13" * 20, None]),
        "balance": QUANTITIES,
        "nonce": QUANTITIES,
        "state": SLOTS,
        "stateDiff": SLOTS,
    },
)
OVERRIDES = st.dictionaries(
    st.sampled_from([STORING, STORING.upper().replace("X", "x"), "0x" + "13" * 20, "0x13"]),
    st.one_of(ACCOUNTS, ACCOUNTS, st.just({"code": READING}), st.none()),
    max_size=3,
)


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
@given(slot=st.integers(0, 5).map(word), to=st.sampled_from([STORING, "0x" + "13" * 20]), overrides=OVERRIDES)
def test_overrides_in_the_usual_form_are_answered_as_in_any_other(
    execution_apis_chain: Chain,
    dispatcher: Dispatcher,
    method: str,
    slot: str,
    to: str,
    overrides: dict[str, Any],
) -> None:
    call = {"to": to, "data": slot, "gas": "0x30000"}
    other = call | {"accessList": None}
    assert run(execution_apis_chain, [other, "latest", overrides]) is None
    assert reply(dispatcher, method, [call, "latest", overrides]) == reply(
        dispatcher, method, [other, "latest", overrides]
    )


@pytest.mark.parametrize("member", ["state", "stateDiff"])
def test_a_thousand_slots_are_answered_at_once(dispatcher: Dispatcher, member: str) -> None:
    slots = {word(number): word(1000 + number) for number in range(4, 1004)}
    overrides = {STORING: {"code": READING, "balance": "0x0", member: slots}}
    for slot, value in ((1, member == "stateDiff"), (4, 1004), (1003, 2003), (1004, 0)):
        answer = reply(dispatcher, "eth_call", [{"to": STORING, "data": word(slot)}, "latest", overrides])
        assert json.loads(answer)["result"] == word(value)


@pytest.mark.parametrize(
    "params",
    [
        [{}],
        [{"to": IDENTITY, "data": "0x0a"}, "latest"],
        [
            {
                "from": IDENTITY,
                "to": IDENTITY,
                "gas": "0x5208",
                "gasPrice": "0x0",
                "value": "0x0",
                "input": "0x",
            }
        ],
        [{"data": SURROUNDINGS}, "0x1"],
        [{}, "latest", {}],
        [
            {},
            "0x1",
            {
                STORING: {"nonce": "0x1", "balance": "0x2", "code": "0x00", "state": {word(1): word(2)}},
                IDENTITY: {"stateDiff": {word(1): word(2)}},
            },
        ],
    ],
)
def test_these_forms_are_usual(execution_apis_chain: Chain, params: list[Any]) -> None:
    assert run(execution_apis_chain, params) is not None


def test_of_another_block_its_number_is_told(execution_apis_chain: Chain) -> None:
    assert run(execution_apis_chain, [{}, "0x1"]) == 1


def run(chain: Chain, params: list[Any]) -> object:
    with chain.snapshot() as view:
        header = view.header(view.number) or b""
        return run_call_text(view.state, view.number, header, json.dumps(params).encode(), 10, 1000)


def reply(dispatcher: Dispatcher, method: str, params: list[Any]) -> bytes:
    session = Conversation(dispatcher, None)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = session.receive(json.dumps(request).encode())
    session.end_turn()
    assert isinstance(answer, bytes)
    return answer
