"""Writes between Constantinople and Petersburg: charged by what they change in the end (EIP-1283)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.memory_transport import Ask, asking
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.codec.transactions import sign_transaction
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.dispatcher import Dispatcher

SECRET = b"\x11" * 32
GAS = 100_000
TRANSACTION = 21_000
NO_OMMERS = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")

# The standard's own table: code, the value before, gas used by the code, refund.
CASES = [
    ("60006000556000600055", 0, 412, 0),
    ("60006000556001600055", 0, 20_212, 0),
    ("60016000556000600055", 0, 20_212, 19_800),
    ("60016000556002600055", 0, 20_212, 0),
    ("60016000556001600055", 0, 20_212, 0),
    ("60006000556000600055", 1, 5212, 15_000),
    ("60006000556001600055", 1, 5212, 4800),
    ("60006000556002600055", 1, 5212, 0),
    ("60026000556000600055", 1, 5212, 15_000),
    ("60026000556003600055", 1, 5212, 0),
    ("60026000556001600055", 1, 5212, 4800),
    ("60026000556002600055", 1, 5212, 0),
    ("60016000556000600055", 1, 5212, 15_000),
    ("60016000556002600055", 1, 5212, 0),
    ("60016000556001600055", 1, 412, 0),
    ("600160005560006000556001600055", 0, 40_218, 19_800),
    ("600060005560016000556000600055", 1, 10_218, 19_800),
]


def contract(index: int) -> bytes:
    return (0x1000 + index).to_bytes(20, "big")


def genesis(petersburg: int) -> bytes:
    names = ("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople")
    config = {f"{name}Block": 0 for name in names} | {"petersburgBlock": petersburg, "chainId": 1}
    alloc: dict[str, Any] = {address_of(SECRET).hex(): {"balance": hex(10**18)}}
    for index, (code, value, _used, _refund) in enumerate(CASES):
        slots = {"0x" + "00" * 32: f"0x{value:064x}"} if value else {}
        alloc[contract(index).hex()] = {"balance": "0x0", "code": f"0x{code}", "storage": slots}
    return json.dumps(
        {"config": config, "difficulty": "0x20000", "gasLimit": hex(8_000_000), "alloc": alloc}
    ).encode()


def transactions() -> list[bytes]:
    return [
        sign_transaction(
            SECRET,
            chain_id=1,
            nonce=index,
            to=contract(index),
            value=0,
            input=b"",
            gas=GAS,
            gas_price=1,
        )
        for index in range(len(CASES))
    ]


def computed(text: str) -> bytes:
    return bytes.fromhex(text[2:]) if text.startswith("0x") and len(text) > 20 else number(int(text, 0))


def append(chain: Chain) -> None:
    """Make a block of all cases; the engine says what it computed, so no trie is needed here."""
    appender = Appender(chain)
    parent = header_fields(appender.tip[0])
    root = bytes(32)
    fields: dict[str, bytes] = {
        "parent_hash": parent.hash,
        "ommers_hash": NO_OMMERS,
        "coinbase": bytes(20),
        **dict.fromkeys(("state_root", "transactions_root", "receipts_root"), root),
        "logs_bloom": bytes(256),
        "difficulty": b"",
        "number": number(1),
        "gas_limit": number(parent.gas_limit),
        "gas_used": b"",
        "timestamp": number(10),
        "extra_data": b"",
        "mix_hash": root,
        "nonce": bytes(8),
    }
    for _ in range(8):
        head: Item = list(fields.values())
        content = encode(head) + _listed(transactions()) + encode([])
        blocks, malformed = decode_blocks(chain.spec, [_wrapped(content)])
        assert malformed is None
        error = appender.extend(blocks).error
        if error is None:
            appender.store(appender.take_pending())
            return
        fields[error.rule] = computed(error.expected)
    raise AssertionError(str(error))


def _listed(items: list[bytes]) -> bytes:
    return _wrapped(b"".join(items))


def _wrapped(content: bytes) -> bytes:
    size = number(len(content))
    return bytes([0xF7 + len(size)]) + size + content


@contextmanager
def chain_of(folder: Path, petersburg: int) -> Iterator[Ask]:
    with Chain.open(folder, genesis(petersburg), writer=True, durable=False) as chain:
        append(chain)
        yield asking(Dispatcher(build_registry(chain), chain.snapshot))


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with chain_of(tmp_path_factory.mktemp("constantinople"), 2) as ask:
        yield ask


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case[0] for case in CASES])
def test_a_write_costs_what_the_standards_table_says(ask: Ask, index: int) -> None:
    _code, _value, used, refund = CASES[index]
    receipt = ask("eth_getBlockReceipts", "0x1")["result"][index]
    spent = TRANSACTION + used
    assert int(receipt["gasUsed"], 16) == spent - min(refund, spent // 2)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case[0] for case in CASES])
def test_a_trace_shows_the_same_costs(ask: Ask, index: int) -> None:
    _code, _value, used, refund = CASES[index]
    trace = ask("debug_traceBlockByNumber", "0x1")["result"][index]["result"]
    assert sum(step["gasCost"] for step in trace["structLogs"]) == used
    assert trace["structLogs"][-1].get("refund", 0) == refund


def test_petersburg_took_it_back(tmp_path: Path) -> None:
    with chain_of(tmp_path, 0) as ask:
        receipts = ask("eth_getBlockReceipts", "0x1")["result"]
        # Two writes of nothing over nothing, at the price of before.
        assert int(receipts[0]["gasUsed"], 16) == TRANSACTION + 2 * 5000 + 12
