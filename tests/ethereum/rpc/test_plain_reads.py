"""The usual form of parameters, which the engine reads, is answered as any other, which Python reads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import transaction_hashes
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import (
    read_balance,
    read_code,
    read_hash,
    read_storage,
    read_transaction_count,
)
from wsnode.jsonrpc.dispatcher import Dispatcher

NOBODY = "0x" + "13" * 20
GARBAGE: st.SearchStrategy[Any] = st.sampled_from(
    [None, 4, True, "", "0x", "0X1", "1", "0xg", "0x0x00", "0x" + "0" * 65, [], {}]
)
SLOTS = st.one_of(
    st.integers(0, 3).map(hex),
    st.integers(0, 3).map("0x{:064x}".format),
    st.integers(0, 2**260).map(hex),
    st.sampled_from(["0x00A", "00", "f"]),
)


def of_state(chain: Chain, *places: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Return strategies of parameters: an account of the genesis or nobody, other places, and a block."""
    genesis = json.loads((require_vectors("execution-apis") / "genesis.json").read_text())
    names = sorted(f"0x{name.removeprefix('0x')}" for name in genesis["alloc"])
    accounts = st.sampled_from([*names, NOBODY, NOBODY.upper(), names[0].upper().replace("X", "x")])
    with chain.snapshot() as view:
        hashes = [f"0x{(view.hash_of(number) or b'').hex()}" for number in (0, view.head)]
        last = view.head
    blocks = st.one_of(
        st.integers(0, last + 2).map(hex),
        st.sampled_from(["latest", "earliest", "pending", "safe", "0x01", hex(1 << 63), *hashes, NOBODY]),
    )
    usual = [accounts, *places, blocks]
    members = [st.one_of(place, place, place, GARBAGE) for place in usual]
    return st.one_of(*(st.tuples(*some).map(list) for some in (members, usual, usual[:-1], members[:-2])))


STATE_METHODS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "eth_getBalance": (),
    "eth_getTransactionCount": (),
    "eth_getCode": (),
    "eth_getStorageAt": (SLOTS,),
}


@pytest.mark.parametrize("method", STATE_METHODS)
@given(chosen=st.data())
def test_state_is_the_same_in_any_form(
    execution_apis_chain: Chain, method: str, chosen: st.DataObject
) -> None:
    params = chosen.draw(of_state(execution_apis_chain, *STATE_METHODS[method]))
    assert_same(execution_apis_chain, method, params)


@pytest.mark.parametrize("method", ["eth_getTransactionByHash", "eth_getTransactionReceipt"])
@given(chosen=st.data())
def test_transactions_are_the_same_in_any_form(
    execution_apis_chain: Chain, method: str, chosen: st.DataObject
) -> None:
    with execution_apis_chain.snapshot() as view:
        row = view.body(chosen.draw(st.integers(0, view.head)))
        hashes = transaction_hashes(row or b"")
    names = [f"0x{hashes[start : start + 32].hex()}" for start in range(0, len(hashes), 32)]
    # The index knows the first eight bytes only.
    alike = [name[:18] + "0" * 48 for name in names]
    name = st.sampled_from([*names, *alike, *map(str.upper, names), "0x" + "13" * 32])
    for params in ([chosen.draw(name)], chosen.draw(st.lists(st.one_of(name, GARBAGE), max_size=2))):
        assert_same(execution_apis_chain, method, params)


@pytest.mark.parametrize("block", [(), ("latest",), ("0x1",)])
def test_these_forms_are_usual(execution_apis_chain: Chain, block: tuple[str, ...]) -> None:
    account, slot = json.dumps([NOBODY, *block]).encode(), json.dumps([NOBODY, "0x0", *block]).encode()
    with execution_apis_chain.snapshot() as view:
        number = 1 if block == ("0x1",) else view.head
        at = (view.state, number, view.hash_of(number) or b"")
        assert [read(*at, account) for read in (read_balance, read_transaction_count, read_code)] == [
            b'"0x0"',
            b'"0x0"',
            b'"0x"',
        ]
        assert read_storage(*at, slot) == b'"0x%064x"' % 0


def test_of_another_block_its_number_is_told(execution_apis_chain: Chain) -> None:
    params = json.dumps([NOBODY, "0x3"]).encode()
    assert read_balance(execution_apis_chain.state, 1, bytes(32), params) == 3


def test_a_hash_in_the_usual_form_is_read() -> None:
    assert read_hash(b'["0x%064X"]' % 10) == bytes(31) + b"\n"
    assert read_hash(b'["0X%064X"]' % 10) is None


def assert_same(chain: Chain, method: str, params: list[Any]) -> None:
    assert reply(chain, method, json.dumps(params)) == reply(chain, method, escaped(params))


def escaped(params: list[Any]) -> str:
    """Return JSON of the same values with each letter of a string escaped, which is never usual."""
    return "[" + ",".join(map(_escaped, params)) + "]"


def _escaped(value: Any) -> str:
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(letter):04x}" for letter in value) + '"'
    return json.dumps(value)


def reply(chain: Chain, method: str, params: str) -> bytes:
    session = Dispatcher(build_registry(chain), chain.snapshot).session(None)
    answer = session.receive(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode())
    session.end_turn()
    assert isinstance(answer, bytes)
    return answer
