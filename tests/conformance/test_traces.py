"""Parity's traces of the chains of ethereum/tests: what the flat tracer, which is geth's, says too."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_ethereum_tests import cases, files, genesis, offer
from tests.ethereum.rpc.parity_traces.flat_traces import FLAT, comparable, differing, words
from tests.memory_transport import asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.dispatcher import Dispatcher


def compare(chain: Chain) -> int:
    """Compare all blocks, and return how many calls there were."""
    ask = asking(Dispatcher(build_registry(chain), chain.snapshot))
    calls = 0
    for number in range(1, chain.head.number + 1):
        traces: list[dict[str, Any]] = ask("trace_block", hex(number))["result"]
        traced = ask("debug_traceBlockByNumber", hex(number), FLAT)["result"]
        flat = [words(comparable(trace)) for of_one in traced for trace in of_one["result"]]
        found = list(map(comparable, traces))
        for place in differing(found, flat):
            assert (found[place].pop("error"), flat[place].pop("error")) == ("Out of gas", "Stack underflow")
        assert found == flat
        calls += len(found)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_traces_are_the_flat_tracers(path: Path, tmp_path: Path) -> None:
    for case in cases(path):
        with Chain.open(tmp_path, genesis(case), writer=True, durable=False) as chain:
            tree = BlockTree(chain)
            for block in case["blocks"]:
                if not block.get("expectException"):
                    assert offer(tree, bytes.fromhex(block["rlp"][2:])) is None
            calls = compare(chain)
            assert calls or not any(block.get("transactions") for block in case["blocks"])
