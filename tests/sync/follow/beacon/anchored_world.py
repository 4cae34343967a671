"""What proves heads, on a folder: beacon nodes in memory, and no thread, so that a clock may jump."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trio

from tests.conformance.test_light_client import network_of, unprefixed
from tests.ethereum.live.growing import emitting_genesis
from tests.sync.follow.beacon.beacon_nodes import SLOT_SECONDS, FakeBeacon, Json, at_once
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.follow.beacon.anchor import AnchorSettings, HeadAnchor
from wsnode.sync.follow.beacon.light_client import LightClient
from wsnode.sync.follow.beacon.prover import RunSync
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.upstream.address import UpstreamAddress

Known = tuple[int, bool]
"""The finalized slot of a light client, and whether it has the next committee."""


class AnchoredWorld(msgspec.Struct, frozen=True):
    """One anchor, the beacon node that it asks, and a clock that began at a slot."""

    anchor: HeadAnchor
    beacon: FakeBeacon
    now: Callable[[], float]

    async def until_slot(self, slot: int) -> None:
        """Return at the end of a slot of the clock, once nothing more is to be done in it."""
        await trio.sleep((slot + 1) * SLOT_SECONDS - 0.1 - self.now())

    def proved_slots(self) -> tuple[int, int]:
        """Return the slots of the proved head and of the finalized block."""
        prover = self.anchor.prover
        assert prover is not None, "a beacon node has answered"
        assert prover.client is not None, "it has given the checkpoint"
        return prover.client.optimistic.slot, prover.client.finalized.slot

    def asked_for_bootstrap(self) -> bool:
        """Return whether the beacon node was asked for the checkpoint."""
        return any("bootstrap" in path for path in self.beacon.asked)


def known_by(vector: Json, row: bytes | None) -> Known | None:
    """Return what a row of the light client keeps, None where there is none."""
    if row is None:
        return None
    client = LightClient.decode(network_of(vector), row)
    return client.finalized.slot, client.next_committee_known


@asynccontextmanager
async def anchored_world(
    folder: Path, vector: Json, slot: int, *, has_checkpoint: bool, run_sync: RunSync = at_once
) -> AsyncIterator[AnchoredWorld]:
    """Prove heads from a slot of the clock on, by what the folder keeps from the last time."""
    began = trio.current_time() - slot * SLOT_SECONDS

    def now() -> float:
        return trio.current_time() - began

    async with trio.open_nursery() as nursery:
        beacon = FakeBeacon(vector, lambda: int(now() // SLOT_SECONDS), nursery)
        beacon.spec = {"SECONDS_PER_SLOT": str(SLOT_SECONDS)}
        settings = AnchorSettings(
            addresses=[UpstreamAddress.parse("http://beacon/")],
            checkpoint=unprefixed(vector["checkpoint"]) if has_checkpoint else None,
            now=now,
            run_sync=run_sync,
        )
        with Chain.open(folder, emitting_genesis(), writer=True, durable=False) as chain:
            live = LiveTree(BlockTree(chain), Hub(chain))
            anchor = HeadAnchor(chain, live, settings, StorageRetry(lambda: None), beacon.connect)
            async with trio.open_nursery() as running:
                running.start_soon(anchor.run)
                yield AnchoredWorld(anchor, beacon, now)
                running.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
