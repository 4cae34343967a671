"""The demo's traffic against a pool that refuses it."""

from pathlib import Path

import trio

from tests.ethereum.pool.playground import Playground
from wsnode.demo.traffic import TrafficGenerator


def test_a_refused_transaction_does_not_end_it(tmp_path: Path) -> None:
    # The traders have no funds before the demo's first blocks.
    playground = Playground(tmp_path)
    TrafficGenerator(
        playground.chain.spec,
        lambda _address: 0,
        playground.pool.add,
        trio.lowlevel.checkpoint,
        block_time=1.0,
        seed=7,
    ).send()
    assert playground.pool.executable() == []
    playground.close()
