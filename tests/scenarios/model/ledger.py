"""What the store has gone through: every block that there ever was, and when it was on the chain."""

from collections import Counter, defaultdict

import msgspec

from tests.ethereum.live.growing import GrowingChain
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.logs.filter import Log, LogFilter
from wsnode.ethereum.primitives.values import BlockNumber, Hash32

Place = tuple[str, int]
"""A log: its block's hash in hex, and its index there."""


class Known(msgspec.Struct, frozen=True):
    """A block, on the chain or not."""

    head: Head
    parent: str
    logs: tuple[Log, ...]


class Ledger:
    """The model: filled by the writers of the store, and by the hub's changes."""

    def __init__(self, growing: GrowingChain, genesis: Head) -> None:
        self._growing = growing
        self.known = {name(genesis): Known(genesis, f"0x{bytes(32).hex()}", ())}
        self.departures = Counter[str]()
        """How often each block has left the chain."""
        self.is_split = False
        """Whether a block's logs come in several events."""
        self._steps: dict[Head, set[tuple[Head, bool]]] = defaultdict(set)

    @property
    def chain(self) -> list[Head]:
        """Return the canonical blocks, the genesis first."""
        return [next(iter(self.known.values())).head, *(block.head for block in self._growing.blocks)]

    def note(self) -> None:
        """Take note of the blocks that have been added to the store."""
        parent = name(self.chain[0])
        for block in self._growing.blocks:
            self.known.setdefault(name(block.head), Known(block.head, parent, tuple(block.logs)))
            parent = name(block.head)

    def follow(self, change: HeadChange) -> None:
        """Take note of a change that the hub announces."""
        for head in change.removed:
            self._steps[head].add((head, True))
        for head in change.added:
            self._steps[self.known[self.known[name(head)].parent].head].add((head, False))

    def canonical(self, wanted: LogFilter) -> list[Place]:
        """Return the wanted logs of the canonical chain."""
        return [place for head in self.chain for place in self.logs(head, wanted)]

    def branch(self, block: str, wanted: LogFilter) -> list[Place]:
        """Return the wanted logs from the genesis up to a block."""
        places: list[Place] = []
        while (known := self.known.get(block)) is not None:
            places = self.logs(known.head, wanted) + places
            block = known.parent
        return places

    def logs(self, head: Head, wanted: LogFilter) -> list[Place]:
        """Return the wanted logs of a block."""
        if not wanted.covers(head.number):
            return []
        logs = self.known[name(head)].logs
        return [(name(head), index) for index, log in enumerate(logs) if wanted.matches(log)]

    def missed(self, cursor: Position, wanted: LogFilter | None, *, reorgs: bool) -> set[int]:
        """Return how many notifications can have come behind `cursor` at once; None is for headers."""
        counts: set[int] = set()
        for head, is_removed in self._steps[cursor.head]:
            if is_removed and reorgs:
                counts.add(1)
            if wanted is not None:
                counts.add(len(self.logs(head, wanted)))
            elif not is_removed:
                counts.add(1)
        if self.is_split and counts:
            return set(range(1, max(counts) + 1))
        return counts - {0}


def name(head: Head) -> str:
    """Return a block's hash as clients see it."""
    return f"0x{head.hash.hex()}"


def named(place: dict[str, str]) -> Head:
    """Return a block that a notice names."""
    return Head(BlockNumber(int(place["number"], 16)), Hash32(bytes.fromhex(place["hash"][2:])))


def behind_log(log: dict[str, str], *, removed: bool) -> Position:
    """Return the position behind a log, or behind its removal."""
    block_hash = Hash32(bytes.fromhex(log["blockHash"][2:]))
    return Position(int(log["blockNumber"], 16), block_hash, int(log["logIndex"], 16) + (not removed))
