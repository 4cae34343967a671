"""geth's answers where members of a block stand in place of others."""

import shutil
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.conftest import import_blocks
from tests.ethereum.rpc.calls.test_overrides_block import FEES, HEAD, SENDER, TARGET, state
from tests.memory_transport import Ask, asking
from tests.peers.geth import PATIENT, Geth, started_geth
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

OVERRIDES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"number": hex(HEAD + 1)},
    {"number": hex(HEAD + 2)},
    {"number": hex(HEAD - 3)},
    {"number": hex(1 << 64)},
    {"difficulty": "0x5"},
    {"time": hex(479)},
    {"time": "0xffffffff"},
    *({"gasLimit": limit} for limit in ("0x1", "0x5208", "0xc350", "0x7fffffffffffffff")),
    {"feeRecipient": "0x" + "ab" * 20},
    {"prevRandao": "0x" + "cd" * 32},
    *({"baseFeePerGas": fee} for fee in ("0x0", "0x64", "0x3b9aca00")),
    {"blobBaseFee": "0x77"},
    {"beaconRoot": "0x" + "11" * 32},
    {"withdrawals": []},
    {"unknown": "0x1"},
    {"GasLimit": "0x20000", "FEERECIPIENT": "0x" + "ab" * 20},
)
GAS: Final = {"gas": "0x186a0"}
"""Without a limit of its own a traced call gets all that the node allows."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ask, Geth]]:
    folder, vectors = tmp_path_factory.mktemp("nodes"), require_vectors("execution-apis")
    blocks, genesis = folder / "chain.rlp", vectors / "genesis.json"
    shutil.copy(vectors / "chain.rlp", blocks)
    with (
        started_geth(folder, genesis, blocks) as geth,
        Chain.open(folder / "ours", genesis.read_bytes(), writer=True, durable=False) as chain,
    ):
        import_blocks(chain, blocks)
        yield asking(Dispatcher(build_registry(chain, limits=PATIENT), chain.snapshot)), geth


def calls(overrides: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield calls of each method with overrides."""
    block = hex(HEAD)
    for fees in (GAS, FEES, {**GAS, "gasPrice": "0x77359400"}):
        call = {"from": SENDER, "to": TARGET, **fees}
        yield "eth_call", [call, block, state("f3"), overrides]
        options = {"tracer": "callTracer", "stateOverrides": state("f3"), "blockOverrides": overrides}
        yield "debug_traceCall", [call, block, options]
        yield "eth_createAccessList", [call, block, state("f3"), overrides]
        simulated = {"blockOverrides": overrides, "stateOverrides": state("f3"), "calls": [call]}
        yield "eth_simulateV1", [{"blockStateCalls": [simulated]}, block]
        # After another number geth's estimates know the parent alone, under the number before.
        if "number" not in overrides:
            yield "eth_estimateGas", [call, block, state("fd"), overrides]
        yield "eth_estimateGas", [call, block, state("f3"), overrides]
    yield "eth_estimateGas", [{"from": SENDER, "to": "0x" + "99" * 20}, block, {}, overrides]
    yield "eth_estimateGas", [{"from": SENDER, "data": "0x600a600055" + "00" * 3000}, block, {}, overrides]


@pytest.mark.parametrize("overrides", OVERRIDES, ids=str)
def test_a_block_with_other_members_is_geths(nodes: tuple[Ask, Geth], overrides: dict[str, Any]) -> None:
    ask, geth = nodes
    for method, params in calls(overrides):
        theirs = geth.ask(method, *params)
        assert ask(method, *params) == {name: theirs[name] for name in theirs if name in {"result", "error"}}
