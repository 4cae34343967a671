"""State of Arbitrum by proofs: reads, and calls up to what only ArbOS can run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.ethereum.codec.test_transactions_arbitrum import L1_BLOCK, block_of, envelope, upstream_receipts
from tests.ethereum.codec.test_transactions_system import STATE_SYNC, block, receipt_of, told_receipt
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import Playground, playground
from tests.memory_transport import Ask, asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, decode_blocks, encode_json_receipts, verify_with_receipts
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.services.proofs import proved, proving
from wsnode.node.views import opening
from wsnode.server.access.router import Network
from wsnode.sync.follow.upstream import PeerState, Upstream, Upstreams

PLAIN, PROGRAM, NUMBER, HASH, CALLER = (f"0x{byte:02x}{'00' * 18}01" for byte in range(0xC1, 0xC6))
RETURN: Final = "5f5260205ff3"
CODES: Final = {
    PLAIN: "602a" + RETURN,
    PROGRAM: "eff00000" + "11" * 40,
    NUMBER: "43" + RETURN,
    HASH: "6001430340" + RETURN,
    # Calls the address in its input, and returns that it did.
    CALLER: "5f5f5f5f5f355afa" + RETURN,
}
OSAKA: Final = 50
CONTRACTS: Final = {
    **{f"0x{number:040x}": "precompile" for number in (*range(0x64, 0x74), 0xC8, 0xFF)},
    PROGRAM: "stylus",
}


class ProvingNode:
    """A chain that proves the state of its newest block, whatever block is named."""

    def __init__(self, chain: Playground) -> None:
        self._chain = chain

    @property
    def root(self) -> bytes:
        """Return the root of its state."""
        return bytes.fromhex(self._chain.block()["stateRoot"][2:])

    def raw(self, method: str, params: list[Any]) -> dict[str, Any]:
        """Return the reply with the newest block in the place of another chain's."""
        return self._chain.raw(method, ["latest" if isinstance(each, dict) else each for each in params])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProvingNode]:
    with playground(tmp_path_factory.mktemp("theirs")) as chain:
        for address, code in CODES.items():
            chain("anvil_setCode", address, f"0x{code}")
        chain("anvil_setStorageAt", PLAIN, "0x0", "0x" + "07".rjust(64, "0"))
        chain("anvil_setBalance", PLAIN, "0x9")
        chain("evm_mine")
        yield ProvingNode(chain)


@contextmanager
def light_folder(
    folder: Path, node: ProvingNode, genesis: bytes, encoded: bytes, receipts: bytes
) -> Iterator[Ask]:
    """Open a light folder that begins with a block, and yield what asks it."""
    kind = FolderKind(10, is_light=True)
    with Chain.open(folder, genesis, writer=True, durable=False, kind=kind) as chain:
        (block,), error = decode_blocks(chain.spec, [encoded])
        assert error is None
        told = verify_with_receipts(chain.spec, block, encode_json_receipts(receipts))
        assert isinstance(told, BuiltBlock)
        chain.begin_at(told, 0)
        proving_node: Any = node
        client: Any = MemoryClient(proving_node)
        upstreams = Upstreams([Upstream("node", client)])
        upstreams.all[0].standing = PeerState.FOLLOWED
        network = Network("light", build_registry(chain), opening(chain, None, is_proved=True), ())
        network = proved(network, proving(chain, upstreams))
        yield asking(Dispatcher(network.registry, network.open_view))


@pytest.fixture
def ask(request: pytest.FixtureRequest, node: ProvingNode, tmp_path: Path) -> Iterator[Ask]:
    """Yield what asks a light folder of Arbitrum, of the version of ArbOS that a test wants."""
    version = getattr(request, "param", 32)
    encoded = block_of(envelope("0x65"), version=version, state_root=node.root)
    genesis = find_network("arbitrum").genesis
    with light_folder(tmp_path, node, genesis, encoded, upstream_receipts()) as asking_it:
        yield asking_it


def call(to: str, data: str = "0x") -> list[Any]:
    return [{"to": to, "data": data}, "latest"]


def word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def test_balances_codes_and_slots_are_read(ask: Ask) -> None:
    assert ask("eth_getBalance", PLAIN, "latest")["result"] == "0x9"
    assert ask("eth_getCode", PROGRAM, "latest")["result"] == f"0x{CODES[PROGRAM]}"
    assert ask("eth_getStorageAt", PLAIN, "0x0", "latest")["result"] == "0x" + "07".rjust(64, "0")
    assert ask("eth_getTransactionCount", PLAIN, "latest")["result"] == "0x0"


def test_calls_of_contracts_of_the_evm_are_answered(ask: Ask) -> None:
    assert int(ask("eth_call", *call(PLAIN))["result"], 16) == 0x2A
    assert int(ask("eth_call", *call(CALLER, word(PLAIN)))["result"], 16) == 1


def test_the_opcode_number_gives_the_block_of_l1(ask: Ask) -> None:
    assert int(ask("eth_call", *call(NUMBER))["result"], 16) == L1_BLOCK
    seen = ask("eth_call", *call(NUMBER), {}, {"number": "0x5"})["result"]
    assert int(seen, 16) == 5


@pytest.mark.parametrize(("address", "kind"), CONTRACTS.items())
def test_calls_that_come_to_what_arbos_runs_are_refused(ask: Ask, address: str, kind: str) -> None:
    for params in (call(address), call(CALLER, word(address))):
        error = ask("eth_call", *params)["error"]
        assert error["code"] == -32000
        assert error["data"] == {"address": address, "kind": kind}
        assert error["message"].endswith("which runs inside ArbOS: wsnode cannot execute it")
    for method in ("eth_createAccessList", "debug_traceCall"):
        assert ask(method, *call(CALLER, word(address)))["error"]["data"] == error["data"]


def test_the_error_names_the_contract(ask: Ask) -> None:
    error = ask("eth_call", *call("0x" + "64".rjust(40, "0")))["error"]
    address = "0x" + "64".rjust(40, "0")
    assert error["message"].startswith(f"execution touches {address} (ArbSys), which runs")


def test_the_hash_of_a_block_of_l1_is_refused(ask: Ask) -> None:
    assert ask("eth_call", *call(HASH))["error"]["data"]["kind"] == "blockhash"


@pytest.mark.parametrize("ask", [OSAKA], indirect=True)
def test_a_precompile_of_osaka_is_there_from_its_version_of_arbos_on(ask: Ask) -> None:
    p256 = "0x" + "0100".rjust(40, "0")
    assert ask("eth_call", *call(p256))["result"] == "0x"


def test_a_precompile_that_prague_does_not_have_is_refused(ask: Ask) -> None:
    p256 = "0x" + "0100".rjust(40, "0")
    assert ask("eth_call", *call(p256))["error"]["data"] == {"address": p256, "kind": "precompile"}


def test_gas_to_which_arbos_adds_is_not_estimated(ask: Ask) -> None:
    simulation = {"blockStateCalls": [{"calls": [{"to": PLAIN}]}]}
    for reply in (ask("eth_estimateGas", {"to": PLAIN}), ask("eth_simulateV1", simulation, "latest")):
        assert reply["error"]["code"] == -32000
        assert reply["error"]["message"].startswith("ArbOS adds gas for data on L1")


def test_calls_of_a_chain_whose_headers_have_no_blob_gas_are_answered(
    node: ProvingNode, tmp_path: Path
) -> None:
    encoded = block(STATE_SYNC, receipt_of(0x7F), node.root)
    genesis = find_network("polygon").genesis
    with light_folder(tmp_path, node, genesis, encoded, told_receipt(type="0x7f")) as ask:
        assert int(ask("eth_call", *call(PLAIN))["result"], 16) == 0x2A
        blob_base_fee = {PLAIN: {"code": "0x4a" + RETURN}}
        assert int(ask("eth_call", *call(PLAIN), blob_base_fee)["result"], 16) == 1
