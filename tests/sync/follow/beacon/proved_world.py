"""A follower whose head is proved: upstreams and beacon nodes in memory, and slots that the test counts."""

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import msgspec
import trio

from tests.conformance.test_light_client import unprefixed
from tests.ethereum.live.growing import EMITTERS
from tests.sync.follow.beacon.beacon_nodes import FakeBeacon, Json
from tests.sync.follow.world import Source, World, followed, sources_of
from tests.vector_files import require_vectors
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.sync.follow.beacon.anchor import AnchorSettings, HeadAnchor
from wsnode.upstream.address import UpstreamAddress

SLOT_SECONDS: Final = 1
LIGHT: Final = FolderKind(64, is_light=True)
BEGIN: Final = 16
"""Slot, and block, of the checkpoint."""
OTHER_LOGS: Final = [(EMITTERS[0], ())]


@cache
def grown_story(fork: str = "fulu") -> Json:
    """Return the beacon chain above the blocks of a growing chain."""
    vector: Json = json.loads(
        gzip.decompress(require_vectors(f"light-client/grown-{fork}.json.gz").read_bytes())
    )
    return vector


class Slots:
    """A clock that stands until the test moves it: slots are numbers of blocks."""

    def __init__(self, slot: int) -> None:
        self.slot = slot

    def seconds(self) -> float:
        return float(self.slot * SLOT_SECONDS)


class ProvedWorld(msgspec.Struct, frozen=True):
    """A follower, its upstreams, its beacon nodes, and the clock of all."""

    world: World
    sources: dict[str, Source]
    beacons: dict[str, FakeBeacon]
    clock: Slots

    @property
    def anchor(self) -> HeadAnchor:
        found = self.world.follower.anchor
        assert found is not None, "its head is proved"
        return found

    def block(self, number: int, name: str = "honest") -> Head:
        """Return a block of an upstream's chain."""
        with self.sources[name].growing.chain.snapshot() as view:
            found = view.hash_of(BlockNumber(number))
        assert found is not None
        return Head(BlockNumber(number), found)

    def marks(self) -> tuple[int | None, int | None]:
        """Return the numbers of the safe and the finalized block."""
        with self.world.chain.snapshot() as view:
            return view.safe, view.finalized


@asynccontextmanager
async def proved_world(
    folder: Path,
    *,
    slot: int = 20,
    blocks: int = 30,
    liars: Sequence[str] = (),
    has_honest: bool = True,
    beacons: Sequence[str] = ("beacon",),
    kind: FolderKind = LIGHT,
    story: Json | None = None,
    checkpoint: str | None = "",
    agree: int = 1,
    **settings: Any,
) -> AsyncIterator[ProvedWorld]:
    """Run a follower of an honest upstream and of liars, whose chains are others from the first block on.

    Its chain is in the folder, and goes on from the last time.
    """
    vector = story or grown_story()
    clock = Slots(slot)
    root = vector["checkpoint"] if checkpoint == "" else checkpoint
    names = [*liars, "honest"]
    async with trio.open_nursery() as nursery:
        nodes = {name: FakeBeacon(vector, lambda: clock.slot, nursery) for name in beacons}
        for node in nodes.values():
            node.spec = {"SLOT_DURATION_MS": str(1000 * SLOT_SECONDS), "SECONDS_PER_SLOT": "1"}
        with sources_of(Path(mkdtemp(dir=folder)), names, nursery) as sources:
            for name, source in sources.items():
                if name == "honest":
                    source.grow(blocks)
                else:
                    for _ in range(blocks):
                        source.growing.grow(OTHER_LOGS)
            anchoring = AnchorSettings(
                addresses=[UpstreamAddress.parse(f"http://{name}/") for name in nodes],
                checkpoint=None if root is None else unprefixed(root),
                now=clock.seconds,
                **settings,
            )
            asked = {name: source for name, source in sources.items() if name != "honest" or has_honest}
            async with followed(
                folder, asked, kind=kind, beacons=nodes, beacon=anchoring if nodes else None, agree=agree
            ) as world:
                yield ProvedWorld(world, sources, nodes, clock)
        nursery.cancel_scope.cancel()
