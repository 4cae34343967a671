"""The demo's traffic against a pool that refuses some of it."""

from pathlib import Path

import trio

from tests.ethereum.pool.playground import Playground
from wsnode.demo.traffic import Traffic


def test_a_refused_transaction_does_not_end_it(tmp_path: Path) -> None:
    playground = Playground(tmp_path)

    def send_for_a_block() -> int:
        traffic = Traffic(
            playground.chain.spec,
            lambda _address: 0,
            playground.pool.add,
            trio.lowlevel.checkpoint,
            block_time=1.0,
            seed=7,
        )
        traffic.send()
        return len(playground.pool.executable())

    sent = send_for_a_block()
    assert sent > 0
    # Equal seed and nonces make equal transactions, which are known already.
    assert send_for_a_block() == sent
    playground.close()
