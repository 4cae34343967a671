"""A bug in one block does not end a development chain."""

from pathlib import Path

import pytest
import trio

from tests.ethereum.live.growing import emitting_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.chain import DevelopmentChain
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
            with trio.fail_after(60):
                while audience.head.number < 3:
                    await audience.wait_move(audience.head)
            nursery.cancel_scope.cancel()
        assert caplog.text.count("no block was made") == 1
