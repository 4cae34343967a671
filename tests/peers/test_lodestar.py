"""Lodestar, a consensus client of another house, on wsnode alone: finality, and restarts of either side."""

import signal
from pathlib import Path

import pytest

from tests.node_process import until
from tests.peers.processes.driven_wsnode import driven_wsnode
from tests.peers.processes.lodestar import SLOTS_PER_EPOCH, Lodestar, genesis_file, started_lodestar

EPOCHS = 5
MAX_SECONDS = 400.0


@pytest.mark.soak
def test_lodestar_finalizes_a_chain_on_wsnode_and_both_survive_restarts(tmp_path: Path, secret: Path) -> None:
    with driven_wsnode(tmp_path, genesis_file(), secret) as node:
        genesis = node.head()[1]
        with started_lodestar(tmp_path, genesis, node.endpoints.engine, secret) as lodestar:
            wait_for_slot(lodestar, 1)
            dropped = node.head()[1]
            # It keeps final blocks only: begun again it has a rival branch built, from the genesis block on.
            # Later than in the first epoch it would wait for a peer instead.
            lodestar.stop(signal.SIGKILL)
            lodestar.start()
            wait_for_slot(lodestar, 2 * SLOTS_PER_EPOCH)
            number = int(node.ask("eth_getBlockByHash", dropped, False)["number"], 16)
            assert node.ask("eth_getBlockByNumber", hex(number), False)["hash"] != dropped
            node.kill_and_start()
            wait_for_slot(lodestar, EPOCHS * SLOTS_PER_EPOCH)
            until("finality", lambda: lodestar.finalized() > 0, MAX_SECONDS)
            until("the head", lambda: (head := lodestar.head()) and head[1] == node.head()[1], MAX_SECONDS)
            assert int(node.ask("eth_getBlockByNumber", "finalized", False)["number"], 16) > 0


def wait_for_slot(lodestar: Lodestar, slot: int) -> None:
    until(f"slot {slot}", lambda: (head := lodestar.head()) is not None and head[0] >= slot, MAX_SECONDS)
