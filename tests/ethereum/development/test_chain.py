"""A bug in one block does not end a development chain."""

import time
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.ethereum.live.growing import emitting_genesis
from tests.node_process import PATIENCE
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.clock import LATEST
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool


class Audience(Hub):
    """Fails to announce one of the changes."""

    failed = 0

    def advance(self) -> HeadChange:
        """Fail when the second block is there."""
        with self.snapshot() as view:
            fails = view.number == 2 and not self.failed
        if fails:
            self.failed += 1
            raise NameError("name 'absent' is not defined")
        return super().advance()


async def test_blocks_go_on_after_one_that_could_not_be_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Chain.open(tmp_path, emitting_genesis(), writer=True, durable=False) as chain:
        audience = Audience(chain)
        development = DevelopmentChain(chain, TransactionPool(chain), audience, block_time=0.01)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(development.run)
            with trio.fail_after(PATIENCE):
                while audience.head.number < 3:
                    await audience.wait_move(audience.head)
            nursery.cancel_scope.cancel()
        assert caplog.text.count("no block was made") == 1


async def test_a_clock_at_its_end_is_one_line_for_each_block_that_is_not_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    with Chain.open(tmp_path, emitting_genesis(), writer=True, durable=False) as chain:
        development = DevelopmentChain(chain, TransactionPool(chain), Hub(chain), block_time=1)
        development.set_time(LATEST)
        development._clock._now = lambda: time.time() + 10
        async with trio.open_nursery() as nursery:
            nursery.start_soon(development.run)
            await trio.sleep(2.5)
            nursery.cancel_scope.cancel()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("wsnode")] == [
        "no block was made: The timestamp is too big"
    ] * 2
    assert not any(record.exc_info for record in caplog.records)
