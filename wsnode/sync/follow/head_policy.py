"""Policies that choose the head: by upstreams' announcements, or by the sync committee's signatures."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from wsnode.ethereum.head import Head
from wsnode.sync.follow.beacon.anchor import HeadAnchor
from wsnode.sync.follow.fork_choice import Path, anchored, chosen

BESIDE_BLOCKS: Final = 64
"""Distance above the proved block within which announced blocks are fetched and judged, in blocks."""


class Choice(msgspec.Struct, frozen=True):
    """Decision of a head policy: the block that should be the head."""

    block: Head | int
    """The block, or its number if it is canonical."""
    is_certain: bool
    """True if the head goes back to a lower canonical block immediately; False if it waits, since one
    upstream with a lower head may only lag behind.
    """


class HeadPolicy(ABC):
    """Policy of the head: it chooses the head among upstreams' blocks, and decides how upstreams and their
    blocks are treated.
    """

    agree: int
    """Number of upstreams that must have an announced block before it becomes the head."""
    follows_word: bool
    """True if the upstreams' announcements decide.

    Then blocks are fetched by number over a long distance, an announced block may become the head as it is
    judged, and an upstream whose head is invalid or leaves the finalized block is quarantined.
    """

    @property
    @abstractmethod
    def beginning_agree(self) -> int:
        """Return the number of upstreams that must have the first block of a light folder."""

    @property
    @abstractmethod
    def is_decided(self) -> bool:
        """Return True if the policy's choice is up to date; following stops if such a choice is refused."""

    @abstractmethod
    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return True if an announced block may be fetched and judged now, with our head at `head`."""

    @abstractmethod
    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        """Return the block that should be the head, or None to leave the head as it is.

        `paths` are the paths to the upstreams' heads. `path_to` returns the path to a block, or None if it
        has unknown ancestors.
        """

    @abstractmethod
    def highest(self, announced: int | None) -> int | None:
        """Return the block number to catch up to, or None if it is unknown.

        `announced` is the number that enough upstreams have announced, or None.
        """

    @abstractmethod
    def not_ready_reason(self) -> str | None:
        """Return the reason why this node is not ready for requests, or None if it is."""

    @abstractmethod
    def trust(self, upstreams: int) -> str:
        """Return the source of trust in the head, in words; `upstreams` is the number of upstreams."""

    @abstractmethod
    def members(self) -> dict[str, Any]:
        """Return the policy's own members of `wsnode_status`."""


class AnnouncedHead(HeadPolicy):
    """Policy of the highest block that enough upstreams have announced."""

    follows_word = True

    def __init__(self, agree: int) -> None:
        self.agree = agree

    @property
    def beginning_agree(self) -> int:
        return self.agree

    @property
    def is_decided(self) -> bool:
        """Return True: announcements are always of the present head."""
        return True

    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return True: blocks up to a distant head are fetched by number first."""
        return True

    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        found = chosen(paths, self.agree)
        return None if found is None else Choice(found, is_certain=False)

    def highest(self, announced: int | None) -> int | None:
        return announced

    def not_ready_reason(self) -> str | None:
        """Return None, since the follower itself compares the head with the announced heads."""
        return None

    def trust(self, upstreams: int) -> str:
        return f"{self.agree} of {upstreams} upstreams choose"

    def members(self) -> dict[str, Any]:
        return {}


class ProvedHead(HeadPolicy):
    """Policy of the newest block signed by the sync committee, or of a block announced on top of it."""

    follows_word = False

    def __init__(self, anchor: HeadAnchor, agree: int) -> None:
        self._anchor = anchor
        self.agree = agree

    @property
    def beginning_agree(self) -> int:
        """Return 1: the first block is proved by its hash, so one upstream is enough to send it."""
        return 1

    @property
    def is_decided(self) -> bool:
        """Return True if the proved head is recent: a block signed long ago may have left the chain."""
        return self._anchor.is_fresh

    def is_within_reach(self, announced: Head, head: Head) -> bool:
        """Return True if a block is at most `BESIDE_BLOCKS` above the lower of proved block and head."""
        if (proved := self._anchor.head) is None:
            return False
        return announced.number - min(proved.number, head.number) <= BESIDE_BLOCKS

    def choose(
        self, paths: Sequence[Path], head: Head, path_to: Callable[[Head], Path | None]
    ) -> Choice | None:
        """Return the proved block, or the highest block above it that `agree` upstreams have, if the settings
        allow such a head.

        Returns None if no block is proved, if the path to the proved block is unknown, or if the proofs are
        behind the node's `head`.
        """
        anchor = self._anchor
        if (proved := anchor.head) is None or (way := path_to(proved)) is None:
            return None
        # While proofs are late, the proved block may be an earlier head, to which the chain must not go back.
        if not anchor.is_current and proved.number <= head.number:
            return None
        found = anchored(paths, way, self.agree, anchor.ahead)
        if not isinstance(found, Head):
            # The proved block is canonical, so announced blocks that were served above it may stay.
            found = max(found, min(head.number, proved.number + anchor.ahead))
        return Choice(found, is_certain=True)

    def highest(self, announced: int | None) -> int | None:
        """Return the number of the proved block, or of an announced one above it where such heads are
        allowed.

        The result is at most `ANNOUNCED_AHEAD` above the proved block, and None before the first proof.
        """
        proved = self._anchor.highest
        if proved is None or announced is None:
            return proved
        return max(proved, min(announced, proved + self._anchor.ahead))

    def not_ready_reason(self) -> str | None:
        return self._anchor.status().reason

    def trust(self, upstreams: int) -> str:
        return self._anchor.trust

    def members(self) -> dict[str, Any]:
        return {"beacon": self._anchor.members()}
