"""Many blocks on demand: other calls run meanwhile, and no blocks are made for a client that has left."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.ethereum.development.playground import Playground, RefusedError
from tests.ethereum.live.growing import emitting_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.control import BLOCKS_AT_ONCE
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.development.mining import MAX_BLOCKS

Told = tuple[DevelopmentChain, Hub]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """Return an empty chain, and the hub that publishes its blocks."""
    with Chain.open(tmp_path, emitting_genesis(), writer=True, durable=False) as chain:
        hub = Hub(chain)
        yield DevelopmentChain(chain, TransactionPool(chain), hub), hub


@pytest.mark.slow
async def test_other_changes_come_between(told: Told) -> None:
    (development, hub), wanted = told, 2 * BLOCKS_AT_ONCE + 10
    async with trio.open_nursery() as nursery:
        nursery.start_soon(development.mine, wanted)
        await hub.wait_move(hub.head)
        await development.snapshot()
        (snapshot,) = development.snapshots.values()
        assert snapshot.number == BLOCKS_AT_ONCE
    assert hub.head.number == wanted


async def test_none_are_made_once_nobody_waits(told: Told) -> None:
    development, hub = told
    async with trio.open_nursery() as nursery:
        nursery.start_soon(development.mine, MAX_BLOCKS)
        await hub.wait_move(hub.head)
        nursery.cancel_scope.cancel()
    made = hub.head.number
    assert made < BLOCKS_AT_ONCE
    assert await development.mine() == made + 1


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("evm_mine", {"blocks": MAX_BLOCKS + 1}),
        ("anvil_mine", 10**9),
        ("hardhat_mine", "0x3b9aca00"),
        ("hardhat_mine", hex(2**64 - 1)),
    ],
)
def test_more_than_can_be_made_are_refused_at_once(chain: Playground, method: str, options: Any) -> None:
    with pytest.raises(RefusedError, match=f"more than {MAX_BLOCKS} blocks at once") as refused:
        chain(method, options)
    assert (refused.value.code, chain.head) == (-32602, 0)
