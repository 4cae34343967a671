"""Who says which block is the head: enough upstreams by their word, or the sync committee by signatures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from wsnode.ethereum.head import Head
from wsnode.sync.follow.beacon.anchor import HeadAnchor
from wsnode.sync.follow.fork_choice import Path, anchored, chosen

BESIDE_BLOCKS: Final = 64
"""How far above the proved block announced ones are fetched and judged."""


class Choice(msgspec.Struct, frozen=True):
    """The block that should be the head."""

    block: Head | int
    """A canonical one by its number."""
    is_certain: bool
    """Whether a block below the head is gone back to at once: an upstream's may be one that lags behind."""


class HeadPolicy(ABC):
    """What decides on the head, and what follows from that for upstreams and their blocks."""

    agree: int
    """How many upstreams must have a block before it is the head, or is announced on top of it."""
    follows_word: bool
    """Whether upstreams decide: they may lead a long way by numbers, a block of theirs may become the head as
    it comes, and those that have a head which cannot be taken are followed no more.
    """

    @property
    @abstractmethod
    def beginning_agree(self) -> int:
        """Return how many upstreams must have the first block of a light folder."""

    @property
    @abstractmethod
    def is_decided(self) -> bool:
        """Return whether what it chooses holds now, so that following stops where it cannot be followed."""

    @abstractmethod
    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return whether an announced block may be judged beside the chain, whose head is given."""

    @abstractmethod
    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        """Return what should be the head, given the ways to the upstreams' heads; None to leave it.

        `path_to` returns the way to a block, None if it leads over unknown ones.
        """

    @abstractmethod
    def highest(self, announced: int | None) -> int | None:
        """Return the height to reach, given that which enough upstreams say they have reached."""

    @abstractmethod
    def not_ready_reason(self) -> str | None:
        """Return why this node should not be asked now, None if it may be."""

    @abstractmethod
    def trust(self, upstreams: int) -> str:
        """Return in words what the head rests on, of so many upstreams."""

    @abstractmethod
    def members(self) -> dict[str, Any]:
        """Return what `wsnode_status` tells besides."""


class AnnouncedHead(HeadPolicy):
    """The head is the highest block that enough upstreams have."""

    follows_word = True

    def __init__(self, agree: int) -> None:
        self.agree = agree

    @property
    def beginning_agree(self) -> int:
        """Return how many upstreams must have the first block of a light folder."""
        return self.agree

    @property
    def is_decided(self) -> bool:
        """Return true: the word of upstreams is about now."""
        return True

    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return true: what is far is come near to by numbers first."""
        return True

    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        """Return the highest block that enough upstreams have."""
        found = chosen(paths, self.agree)
        return None if found is None else Choice(found, is_certain=False)

    def highest(self, announced: int | None) -> int | None:
        """Return what is announced."""
        return announced

    def not_ready_reason(self) -> str | None:
        """Return none: upstreams that are behind are seen by their heads."""
        return None

    def trust(self, upstreams: int) -> str:
        """Return how many choose."""
        return f"{self.agree} of {upstreams} upstreams choose"

    def members(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


class ProvedHead(HeadPolicy):
    """The head is the newest block that the sync committee has signed, or announced ones on top of that."""

    follows_word = False

    def __init__(self, anchor: HeadAnchor, agree: int) -> None:
        self._anchor = anchor
        self.agree = agree

    @property
    def beginning_agree(self) -> int:
        """Return one: by its hash the first block is what is proved, whoever gives it."""
        return 1

    @property
    def is_decided(self) -> bool:
        """Return whether proofs are new: a block that was signed long ago may have left the chain."""
        return self._anchor.is_fresh

    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return whether a block is so near above the proved one, or our head, that its proof may be soon."""
        if (proved := self._anchor.head) is None:
            return False
        return announced.number - min(proved.number, head.number) <= BESIDE_BLOCKS

    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        """Return the proved block, or what is announced on top of it where that is served."""
        anchor = self._anchor
        if (proved := anchor.head) is None or (way := path_to(proved)) is None:
            return None
        # Proofs that are behind lead over what was the head once.
        if not anchor.is_current and proved.number <= head.number:
            return None
        found = anchored(paths, way, self.agree, anchor.ahead)
        if not isinstance(found, Head):
            # The proved block is canonical. What was served above it as announced may stay.
            found = max(found, min(head.number, proved.number + anchor.ahead))
        return Choice(found, is_certain=True)

    def highest(self, announced: int | None) -> int | None:
        """Return the height of the proved block, or as far above it as may be served."""
        proved = self._anchor.highest
        if proved is None or announced is None:
            return proved
        return max(proved, min(announced, proved + self._anchor.ahead))

    def not_ready_reason(self) -> str | None:
        """Return why proofs are not what they should be."""
        return self._anchor.status().reason

    def trust(self, upstreams: int) -> str:
        """Return what the proofs rest on."""
        return self._anchor.trust

    def members(self) -> dict[str, Any]:
        """Return where proofs stand."""
        return {"beacon": self._anchor.members()}
