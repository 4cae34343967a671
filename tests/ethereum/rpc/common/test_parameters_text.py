"""The usual form of parameters, which the engine reads, is answered as any other, which Python reads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ethereum.rpc.common.random_calls import (
    GARBAGE,
    NOBODY,
    STATE_METHODS,
    hashes_of_transactions,
    of_state,
)
from tests.memory_transport import Conversation
from wsnode.ethereum.chain import LOCAL_CALLER, Chain
from wsnode.ethereum.codec.rows import log_values, transaction_hashes
from wsnode.ethereum.state import read_log_filter
from wsnode.jsonrpc.dispatcher import Dispatcher


@pytest.mark.parametrize("method", STATE_METHODS)
@given(chosen=st.data())
def test_state_is_the_same_in_any_form(
    execution_apis_chain: Chain, dispatcher: Dispatcher, method: str, chosen: st.DataObject
) -> None:
    params = chosen.draw(of_state(execution_apis_chain, *STATE_METHODS[method]))
    assert_same(dispatcher, method, params)


@pytest.mark.parametrize("method", ["eth_getTransactionByHash", "eth_getTransactionReceipt"])
@given(chosen=st.data())
def test_transactions_are_the_same_in_any_form(
    execution_apis_chain: Chain, dispatcher: Dispatcher, method: str, chosen: st.DataObject
) -> None:
    name = hashes_of_transactions(execution_apis_chain)
    for params in ([chosen.draw(name)], chosen.draw(st.lists(st.one_of(name, GARBAGE), max_size=2))):
        assert_same(dispatcher, method, params)


@pytest.mark.slow
@given(chosen=st.data())
def test_logs_are_the_same_in_any_form(
    execution_apis_chain: Chain, dispatcher: Dispatcher, chosen: st.DataObject
) -> None:
    assert_same(dispatcher, "eth_getLogs", [chosen.draw(log_filters(execution_apis_chain))])


def log_filters(chain: Chain) -> st.SearchStrategy[dict[str, Any]]:
    """Return filters by what logs of the chain have, for most of which there are logs."""
    with chain.snapshot() as view:
        rows = [view.receipts(number) or b"" for number in range(view.number + 1)]
        last, some_hash = view.number, f"0x{view.head.hash.hex()}"
    logs = [log for row in rows for log in log_values(row)]
    addresses = st.sampled_from([*sorted({f"0x{address.hex()}" for address, _ in logs}), NOBODY])
    topics = st.sampled_from(
        [*sorted({f"0x{topic.hex()}" for _, topics in logs for topic in topics}), some_hash]
    )
    places = st.one_of(st.none(), topics, st.lists(topics, max_size=3), GARBAGE)
    numbers = st.integers(0, last + 1).map(hex)
    members: dict[str, st.SearchStrategy[Any]] = {
        "fromBlock": st.one_of(st.just("0x0"), numbers, st.sampled_from(["latest", "earliest"]), GARBAGE),
        "toBlock": st.one_of(st.just(hex(last)), numbers, st.sampled_from(["latest", "pending"]), GARBAGE),
        "address": st.one_of(addresses, st.lists(addresses, max_size=3), GARBAGE),
        "topics": st.one_of(st.lists(st.one_of(st.none(), topics), max_size=5), st.lists(places), GARBAGE),
    }
    usual = {"fromBlock": st.just("0x0"), "address": addresses, "topics": st.lists(places, max_size=2)}
    others = members | {"blockHash": st.just(some_hash), "FROMBLOCK": numbers}
    return st.one_of(*(st.fixed_dictionaries({}, optional=some) for some in (usual, members, others)))


def test_these_filters_are_usual(dispatcher: Dispatcher) -> None:
    for wanted in ({}, {"fromBlock": "0x0"}, {"fromBlock": "0x0", "toBlock": "latest", "topics": [None]}):
        assert read_log_filter(json.dumps([wanted]).encode(), 1, 54) is not None
        assert_same(dispatcher, "eth_getLogs", [wanted])


def test_a_filter_that_names_too_much_is_not_usual() -> None:
    two = json.dumps([{"address": NOBODY, "topics": [["0x" + "13" * 32]]}]).encode()
    found = read_log_filter(two, 2, 54)
    assert found is not None
    assert found[0].groups() == [[b"\0" + bytes.fromhex(NOBODY[2:])], [b"\1" + b"\x13" * 32]]
    assert (found[0].count, *found[1:]) == (2, 54, 54)
    assert read_log_filter(two, 1, 54) is None


@pytest.mark.parametrize(
    ("blocks", "head", "range_"),
    [
        ({}, 7, (7, 7)),
        ({"fromBlock": "0x3"}, 7, (3, 7)),
        ({"fromBlock": "0x3", "toBlock": "0x7"}, 7, (3, 7)),
        ({"fromBlock": "0x3", "toBlock": "0x8"}, 7, None),
        ({"fromBlock": "0x8"}, 7, None),
        ({"toBlock": "0x6"}, 7, None),
    ],
)
def test_only_blocks_that_there_are_are_usual(
    blocks: dict[str, str], head: int, range_: tuple[int, int] | None
) -> None:
    found = read_log_filter(json.dumps([blocks]).encode(), 0, head)
    assert (found and found[1:]) == range_


@pytest.mark.parametrize("block", [(), ("latest",), ("0x1",)])
def test_these_forms_are_usual(execution_apis_chain: Chain, block: tuple[str, ...]) -> None:
    account, slot = json.dumps([NOBODY, *block]).encode(), json.dumps([NOBODY, "0x0", *block]).encode()
    with execution_apis_chain.snapshot() as view:
        answer = view.native_view.answer
        assert answer("eth_getBalance", account) == answer("eth_getTransactionCount", account) == b'"0x0"'
        assert answer("eth_getCode", account) == b'"0x"'
        assert answer("eth_getStorageAt", slot) == b'"0x%064x"' % 0


def test_a_block_that_there_is_not_is_left_to_the_handler(execution_apis_chain: Chain) -> None:
    params = json.dumps([NOBODY, "0xffff"]).encode()
    with execution_apis_chain.snapshot() as view:
        assert view.native_view.answer("eth_getBalance", params) is None


def test_a_hash_in_the_usual_form_is_read(execution_apis_chain: Chain) -> None:
    with execution_apis_chain.snapshot() as view:
        name = transaction_hashes(view.body(view.number) or b"")[:32].hex().upper().encode()
        for method, unknown in (("eth_getTransactionByHash", None), ("eth_getTransactionReceipt", b"null")):
            assert name.lower() in (view.native_view.answer(method, b'["0x%b"]' % name) or b"")
            assert view.native_view.answer(method, b'["0X%b"]' % name) is None
            assert view.native_view.answer(method, b'["0x%064X"]' % 10) == unknown


def test_a_method_that_the_engine_does_not_have_is_named(execution_apis_chain: Chain) -> None:
    with execution_apis_chain.snapshot() as view, pytest.raises(ValueError, match="eth_call with 0 limits"):
        view.native_view.answer("eth_call", b"[]")


def test_an_ended_snapshot_answers_nothing(execution_apis_chain: Chain) -> None:
    with execution_apis_chain.snapshot() as view:
        native_view = view.native_view
    assert native_view.answer("eth_getBalance", json.dumps([NOBODY]).encode()) is None


def assert_same(dispatcher: Dispatcher, method: str, params: list[Any]) -> None:
    assert reply(dispatcher, method, json.dumps(params)) == reply(dispatcher, method, escaped(params))


def escaped(params: list[Any]) -> str:
    """Return JSON of the same values with each letter of a string escaped, which is never usual."""
    return "[" + ",".join(map(_escaped, params)) + "]"


def _escaped(value: Any) -> str:
    match value:
        case str():
            return '"' + "".join(f"\\u{ord(letter):04x}" for letter in value) + '"'
        case list():
            return escaped(value)
        case dict():
            return "{" + ",".join(f"{_escaped(name)}:{_escaped(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


def reply(dispatcher: Dispatcher, method: str, params: str) -> bytes:
    session = Conversation(dispatcher, LOCAL_CALLER)
    answer = session.receive(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode())
    session.end_turn()
    assert isinstance(answer, bytes)
    return answer
