"""wsnode driven by a consensus client made of the specification: alone, by turns with geth, and killed."""

import random
import time
from pathlib import Path

import pytest

from tests.peers.processes.consensus_client import Line, driven, genesis_file
from tests.peers.processes.daemon import Daemon
from tests.peers.processes.driven_geth import driven_geth
from tests.peers.processes.driven_wsnode import driven_wsnode

RECEIPTS = ("eth_getBlockReceipts", "debug_getRawReceipts", "debug_getRawBlock")


@pytest.mark.parametrize(
    ("slots", "reorganisations"),
    [
        pytest.param(40, ("12:1", "20:3:open", "34:6"), marks=pytest.mark.slow),
        pytest.param(128, ("16:1", "40:3:open", "70:8", "100:20:open"), marks=pytest.mark.soak),
    ],
)
def test_wsnode_and_geth_build_by_turns_and_finality_is_reached(
    slots: int, reorganisations: tuple[str, ...], tmp_path: Path, secret: Path
) -> None:
    genesis = genesis_file()
    with driven_wsnode(tmp_path, genesis, secret) as node, driven_geth(tmp_path, genesis, secret) as geth:
        options = ("--slots", str(slots), "--blobs", "2", "--requests", "--reorganise", *reorganisations)
        with driven((node.endpoints, geth.endpoints), secret, *options) as lines:
            *told, last = lines
        check_equal(node, geth, last)
        built = [line for line in told if "reorganised" not in line]
        # geth hands out what it has, which right after it began may be little.
        assert all(line["transactions"] > 0 for line in built if line["builder"] == 0)
        assert sum(line["blobs"] for line in built if line["builder"] == 0) > slots // 4
        assert last["finalized"] > 0


def check_equal(node: Daemon, geth: Daemon, last: Line) -> None:
    """Compare the heads, what is final, and all blocks with their receipts."""
    assert node.head() == geth.head() == (last["number"], last["head"])
    for tag in ("safe", "finalized"):
        found = [each.ask("eth_getBlockByNumber", tag, False)["hash"] for each in (node, geth)]
        assert found[0] == found[1]
    for number in range(last["number"] + 1):
        for method in RECEIPTS:
            assert node.ask(method, hex(number)) == geth.ask(method, hex(number))


@pytest.mark.nightly
def test_a_node_that_is_killed_under_its_consensus_client_goes_on(tmp_path: Path, secret: Path) -> None:
    chance = random.Random(5)
    moments = set(chance.sample(range(4, 38), 5))
    with driven_wsnode(tmp_path, genesis_file(), secret) as node:
        options = ("--slots", "40", "--blobs", "1", "--reorganise", "15:3", "34:9")
        with driven((node.endpoints,), secret, *options) as lines:
            for line in lines:
                if line.get("slot") in moments:
                    time.sleep(chance.uniform(0, 0.4))
                    before = node.head()
                    node.kill_and_start()
                    # What was chosen is stored, so at most the next choice has come between.
                    assert node.head()[0] >= before[0] - 9
                last = line
        assert node.head() == (last["number"], last["head"])
        assert (
            int(node.ask("eth_getBlockByNumber", "finalized", False)["number"], 16) == last["finalized"] > 0
        )
