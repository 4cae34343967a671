"""Execution witnesses: they hold all reads of a block, and lead to its state root."""

from typing import Any

import pytest

from tests.ethereum.partial_trie import Nodes, PartialTrie, decode
from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import encode, number
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import CancelFlag, StoppedError, execution_witness
from wsnode.jsonrpc.dispatcher import Dispatcher

BYZANTIUM = 9
HEAD = 54
NOBODY = encode([b"", b"", keccak256(b"\x80"), keccak256(b"")])


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


def unhex(text: str) -> bytes:
    return bytes.fromhex(text[2:])


class StatelessState:
    """The state before a block, out of its witness alone."""

    def __init__(self, witness: dict[str, Any]) -> None:
        self.nodes = Nodes(map(unhex, witness["state"]))
        self.codes = {keccak256(unhex(code)) for code in witness["codes"]}
        self.accounts = PartialTrie(self.nodes, unhex(witness["headers"][-1]["stateRoot"]))

    def account(self, address: bytes) -> list[bytes]:
        members = decode(self.accounts.get(address) or NOBODY)
        assert isinstance(members, list)
        return [member for member in members if isinstance(member, bytes)]

    def slots(self, address: bytes) -> PartialTrie:
        return PartialTrie(self.nodes, self.account(address)[2])


def reads_of(ask: Ask, block: str) -> dict[str, dict[str, Any]]:
    """Return what the transactions of a block read first, account by account, by another tracer's word."""
    traces = ask("debug_traceBlockByNumber", block, {"tracer": "prestateTracer"})["result"]
    read: dict[str, dict[str, Any]] = {}
    for trace in traces:
        for address, found in trace["result"].items():
            first = read.setdefault(address, {**found, "storage": {}})
            first["storage"] = {**found.get("storage", {}), **first["storage"]}
    return read


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BYZANTIUM, HEAD + 1))
def test_everything_that_a_block_reads_is_proved(ask: Ask, block: int) -> None:
    state = StatelessState(ask("debug_executionWitness", hex(block))["result"])
    for name, found in reads_of(ask, hex(block)).items():
        address = unhex(name)
        _, _, _, code_hash = state.account(address)
        before = hex(block - 1)
        assert int.from_bytes(state.account(address)[0]) == int(
            ask("eth_getTransactionCount", name, before)["result"], 16
        )
        assert int.from_bytes(state.account(address)[1]) == int(
            ask("eth_getBalance", name, before)["result"], 16
        )
        for slot in found["storage"]:
            value = state.slots(address).get(unhex(slot))
            stored = unhex(ask("eth_getStorageAt", name, slot, before)["result"])
            assert (decode(value) if value else b"") == stored.lstrip(b"\0")
        if "code" in found and ask("eth_getCode", name, before)["result"] != "0x":
            assert code_hash in state.codes


@pytest.mark.parametrize("block", range(BYZANTIUM, HEAD + 1))
def test_the_state_root_follows_from_the_witness_and_the_changes(
    ask: Ask, execution_apis_chain: Chain, block: int
) -> None:
    witness = ask("debug_executionWitness", hex(block))["result"]
    state = StatelessState(witness)
    header = ask("eth_getHeaderByNumber", hex(block))["result"]
    first = block - 1, unhex(header["parentHash"])
    last = block, unhex(header["hash"])
    store = execution_apis_chain.state
    for name in ask("debug_getModifiedAccountsByNumber", block)["result"]:
        address = unhex(name)
        storage = state.slots(address)
        before, after = dict(store.slots(address, *first)), dict(store.slots(address, *last))
        changed = {slot: after.get(slot) for slot in before | after if before.get(slot) != after.get(slot)}
        for slot, value in sorted(changed.items(), key=lambda change: change[1] is None):
            if value is None:
                storage.remove(slot)
            else:
                storage.set(slot, encode(value.lstrip(b"\0")))
        found = store.account(address, last)
        assert found is not None
        nonce, balance, code_hash = found
        state.accounts.set(address, encode([number(nonce), number(balance), storage.root(), code_hash]))
    for gone in set(store.addresses(*first)) - set(store.addresses(*last)):
        state.accounts.remove(gone)
    assert state.accounts.root() == unhex(header["stateRoot"])


def test_a_hash_is_proved_by_the_headers_down_to_it(ask: Ask) -> None:
    # NUMBER - 5 is the oldest block that the code of a later transaction asks for, if any does.
    for block in range(BYZANTIUM, HEAD + 1):
        headers = ask("debug_executionWitness", hex(block))["result"]["headers"]
        numbers = [int(header["number"], 16) for header in headers]
        assert numbers == list(range(block - len(headers), block))


def test_a_witness_has_geths_form(ask: Ask) -> None:
    witness = ask("debug_executionWitness", "latest")["result"]
    assert list(witness) == ["headers", "codes", "state", "keys"]
    assert witness["keys"] is None
    (parent,) = witness["headers"]
    shown = ask("eth_getHeaderByHash", parent["hash"])["result"]
    assert {name: value for name, value in parent.items() if value is not None} == shown
    assert parent["blockAccessListHash"] is None
    assert witness["state"] == sorted(set(witness["state"]))
    assert "0x" not in witness["codes"]
    assert (
        ask(
            "debug_executionWitness", {"blockHash": ask("eth_getHeaderByNumber", "latest")["result"]["hash"]}
        )["result"]
        == witness
    )


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("0x0", "block {0x0 <nil> false} found, but parent missing"),
        ("0x100", "block {0x100 <nil> false} not found"),
        ("0x" + "11" * 32, f"block {{<nil> 0x{'11' * 32} false}} not found"),
        ("0x2", "block 2 is older than Byzantium: it has no witness"),
    ],
)
def test_blocks_without_a_witness_are_refused(ask: Ask, block: str, words: str) -> None:
    assert ask("debug_executionWitness", block)["error"] == {"code": -32000, "message": words}


def limited(chain: Chain, **limits: int) -> Ask:
    registry = build_registry(chain, limits=CallLimits(**limits))
    return asking(Dispatcher(registry, chain.snapshot))


def test_the_block_to_come_has_a_witness(ask: Ask) -> None:
    witness = ask("debug_executionWitness", "pending")["result"]
    assert [header["number"] for header in witness["headers"]] == [hex(HEAD)]
    state = StatelessState(witness)
    assert state.accounts.root() == unhex(witness["headers"][0]["stateRoot"])


def test_a_witness_is_bounded(execution_apis_chain: Chain) -> None:
    refused = limited(execution_apis_chain, witness_bytes=1024)("debug_executionWitness", "latest")
    assert refused["error"] == {"code": -32005, "message": "more than 1024 bytes"}


def test_a_block_that_is_too_old_is_refused(execution_apis_chain: Chain) -> None:
    few = limited(execution_apis_chain, history_bytes=1024)
    words = "block 9 is too old: more than 1024 bytes of changes since"
    assert few("debug_executionWitness", "0xa")["error"] == {"code": -32005, "message": words}
    assert few("debug_getModifiedAccountsByNumber", 0, 54)["error"]["code"] == -32005


def test_a_witness_that_nobody_waits_for_ends(execution_apis_chain: Chain) -> None:
    flag = CancelFlag()
    flag.set()
    with execution_apis_chain.snapshot() as view:
        header, body = view.header(HEAD), view.body(HEAD)
    assert header is not None
    assert body is not None
    with pytest.raises(StoppedError):
        execution_witness(
            execution_apis_chain.state, (header, body), changes=1 << 30, found=1 << 30, cancel=flag
        )
