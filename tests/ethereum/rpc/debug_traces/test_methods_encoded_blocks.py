"""debug_traceBlock: blocks given as RLP, of the chain or invented."""

from typing import Any

import pytest

from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rlp import Item, encode, encoded_items, number
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

NUMBER, GAS_LIMIT, BASE_FEE = 8, 9, 15


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


class Encoded(bytes):
    """An item that is encoded already."""


def raw_block(ask: Ask, block: str) -> str:
    raw: str = ask("debug_getRawBlock", block)["result"]
    return raw


def joined(items: list[bytes]) -> bytes:
    payload = b"".join(items)
    if len(payload) <= 55:
        return bytes([0xC0 + len(payload)]) + payload
    size = number(len(payload))
    return bytes([0xF7 + len(size)]) + size + payload


def changed(raw: str, **members: Item) -> str:
    """Return a block whose header has other members, by their places `_8`, `_9`, …"""
    parts = encoded_items(bytes.fromhex(raw[2:]))
    header = encoded_items(parts[0])
    for place, item in members.items():
        header[int(place[1:])] = encode(item)
    return f"0x{joined([joined(header), *parts[1:]]).hex()}"


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tracer": "callTracer"}, {"tracer": "prestateTracer"}])
def test_a_known_block_is_traced_as_by_its_number(ask: Ask, options: dict[str, Any]) -> None:
    for block in ("0x2", "0x10", "0x28", "latest"):
        traces = ask("debug_traceBlockByNumber", block, options)
        assert ask("debug_traceBlock", raw_block(ask, block), options) == traces


def test_a_block_that_nobody_made_is_traced(ask: Ask) -> None:
    free = changed(raw_block(ask, "latest"), _15=b"")
    assert len(ask("debug_traceBlock", free, {"tracer": "callTracer"})["result"]) == 4


@pytest.mark.parametrize(
    ("encoded", "words"),
    [
        ("0x", "could not decode block: "),
        ("0xc0", "could not decode block: "),
        ("0x01", "could not decode block: "),
    ],
)
def test_what_is_no_block_is_refused(ask: Ask, encoded: str, words: str) -> None:
    error = ask("debug_traceBlock", encoded)["error"]
    assert error["code"] == -32000
    assert error["message"].startswith(words)


def test_a_block_without_its_place_is_refused(ask: Ask) -> None:
    latest = raw_block(ask, "latest")
    words = {
        raw_block(ask, "0x0"): "genesis is not traceable",
        changed(latest, _8=number(99)): "block #98 not found",
        changed(latest, _0=bytes([7] * 32)): f"block 0x{'07' * 32} not found",
        latest[:-2]: "could not decode block: expected canonical RLP, got input too short",
    }
    for encoded, message in words.items():
        assert ask("debug_traceBlock", encoded)["error"] == {"code": -32000, "message": message}


def test_transactions_that_the_block_could_not_have_are_told(ask: Ask) -> None:
    latest, before = raw_block(ask, "latest"), raw_block(ask, "0x35")
    parts, older = (encoded_items(bytes.fromhex(raw[2:])) for raw in (latest, before))
    repeated = f"0x{joined([parts[0], older[1], *parts[2:]]).hex()}"
    message = ask("debug_traceBlock", repeated)["error"]["message"]
    assert message.startswith("tracing failed: nonce too low: address 0x")
    dear = changed(latest, _15=number(10**18))
    message = ask("debug_traceBlock", dear)["error"]["message"]
    assert message.startswith("tracing failed: max fee per gas less than block base fee: address 0x")


def test_a_block_is_bounded(ask: Ask, execution_apis_chain: Chain) -> None:
    chain = execution_apis_chain
    boundless = changed(raw_block(ask, "latest"), _9=number((1 << 63) - 1))
    words = f"gas limit {(1 << 63) - 1} of the block exceeds 2000000000"
    assert ask("debug_traceBlock", boundless)["error"] == {"code": -32005, "message": words}
    registry = build_registry(chain, limits=CallLimits(trace_block_bytes=1024))
    small = asking(Dispatcher(registry, chain.snapshot))
    refused = small("debug_traceBlock", "0x" + "00" * 1025)["error"]
    assert refused == {"code": -32005, "message": "block has more than 1024 bytes"}
