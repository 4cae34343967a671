import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import run_call_text
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.session import Session

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
    session = Session(dispatcher, None)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = session.receive(json.dumps(request).encode())
    session.end_turn()
    assert isinstance(answer, bytes)
    return answer
