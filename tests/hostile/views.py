"""What a client believes the chain to be, from nothing but what its subscriptions said."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
PLACES = 1 << 32
"""More than there are logs in a block."""


class ViewError(Exception):
    """A notification that does not go on from the one before: a gap, a duplicate, a wrong removal."""


class Heads:
    """The chain's hashes from the block `first` on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.hashes: list[str] = []

    @property
    def last(self) -> int:
        """The number of the head, the one below `first` if there is none yet."""
        return self.first + len(self.hashes) - 1

    def take(self, header: Message) -> None:
        """Put a header on its parent, in the place of all that was there.

        Raises:
            ViewError: It is there already, or its parent is not.
        """
        number, place = int(header["number"], 16), int(header["number"], 16) - self.first
        if not 0 <= place <= len(self.hashes):
            raise ViewError(f"block {number} does not follow {self.last}")
        if place < len(self.hashes) and self.hashes[place] == header["hash"]:
            raise ViewError(f"block {number} came twice")
        if place and self.hashes[place - 1] != header["parentHash"]:
            raise ViewError(f"block {number} has another parent than block {number - 1}")
        self.hashes[place:] = [header["hash"]]

    def reorganise(self, notice: Message) -> None:
        """Take back what a notice says was dropped.

        Raises:
            ViewError: Its blocks are not those of this chain.
        """
        ancestor = notice["commonAncestor"]
        kept = int(ancestor["number"], 16) - self.first + 1
        dropped = [block["hash"] for block in reversed(notice["dropped"])]
        if not 0 < kept <= len(self.hashes) or self.hashes[kept - 1] != ancestor["hash"]:
            raise ViewError(f"a reorganisation has an unknown ancestor: {ancestor['number']}")
        if self.hashes[kept : kept + len(dropped)] != dropped[: len(self.hashes) - kept]:
            raise ViewError("a reorganisation dropped unknown blocks")
        del self.hashes[kept:]


class Logs:
    """The chain's logs: their places in rising order, and what they say."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.digests: list[bytes] = []

    @property
    def last(self) -> int:
        """The number of the last block with a log; it may have more of them."""
        return self.places[-1] // PLACES if self.places else 0

    def take(self, log: Message) -> None:
        """Put a log behind the others, or take the last one back.

        Raises:
            ViewError: It is not behind them, or not the last one.
        """
        place, digest = place_of(log), digest_of(log)
        if log["removed"]:
            if not self.places or (self.places[-1], self.digests[-1]) != (place, digest):
                raise ViewError(
                    f"{log['blockNumber']}/{log['logIndex']} was removed, and is not the last log"
                )
            self.places.pop()
            self.digests.pop()
        elif self.places and place <= self.places[-1]:
            raise ViewError(f"{log['blockNumber']}/{log['logIndex']} does not follow the last log")
        else:
            self.places.append(place)
            self.digests.append(digest)

    def between(self, first: int, last: int) -> list[bytes]:
        """Return the digests of the logs of blocks `first` to `last`."""
        ends = (bisect_left(self.places, number * PLACES) for number in (first, last + 1))
        return self.digests[slice(*ends)]


def place_of(log: Message) -> int:
    """Return the block and the index of a log as one number."""
    return int(log["blockNumber"], 16) * PLACES + int(log["logIndex"], 16)


def digest_of(log: Message) -> bytes:
    """Return a hash of all that a log says, but for whether it was removed."""
    text = json.dumps({**log, "removed": False}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def difference(name: str, seen: Sequence[object], expected: Sequence[object]) -> list[str]:
    """Return a line that says where a list is another than the chain's, or none."""
    if seen == expected:
        return []
    pairs = zip(seen, expected, strict=False)
    first = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(seen), len(expected)))
    return [f"{len(seen):,} {name}, {len(expected):,} on the chain, the first difference at {first:,}"]
