"""One upstream as the follower sees it: how it stands, what it announced, and what of that is verified."""

import logging
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

import trio

from wsnode.ethereum.head import Head
from wsnode.sync.follow.fork_choice import agreed_number
from wsnode.untrusted.repeated_warning import RepeatedWarning
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

RECHECK_SECONDS: Final = 60.0
"""How long an upstream that is not fit is left alone: what stands behind a URL may change."""

logger = logging.getLogger("wsnode.follow")


class PeerState(Enum):
    """What is done with an upstream."""

    CONNECTING = "connecting"
    UNREACHABLE = "unreachable"
    FOLLOWED = "followed"
    QUARANTINED = "quarantined"


class PeerError(Exception):
    """An upstream cannot be followed; the text says why."""

    def __init__(self, why: str, *, is_forked: bool = False, permanent: bool = False) -> None:
        super().__init__(why)
        self.is_forked = is_forked
        """Whether its chain leaves ours below what is final here."""
        self.permanent = permanent
        """Whether it is not to be asked again: it sent an invalid block."""


class Upstream:
    """A client of one node, and what is known of that node."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self.standing = PeerState.CONNECTING
        self.why = ""
        """Why it is quarantined, or not followed further."""
        self.is_forked = False
        self.is_beyond = False
        """Whether its head is of a fork that is not known here."""
        self.is_unsupported = False
        """Whether its head has what the chain's rules, as far as they are known here, do not."""
        self.is_banned = False
        """Whether it is quarantined for good."""
        self.link: Link | None = None
        """The connection that its announcements come by."""
        self.announced: Head | None = None
        """Its head by its own word."""
        self.head: Head | None = None
        """The last of its heads that was fetched and executed."""
        self.went_back = False
        """Whether its head is below one that it had before, on the same chain."""
        self.offers_raw: bool | None = None
        """Whether it has blocks as RLP; not known before it was asked."""
        self.offers_access_lists = True
        """Whether it is asked for access lists of blocks; not any more once it lacked the method or lied."""
        self.takes_batches = True
        """Whether it is asked for several blocks at once; not any more once it refused two."""
        self.announces_heads = False
        """Whether it announces heads by itself; it is polled otherwise."""
        self.woken = trio.Event()
        self.refusals = RepeatedWarning(logger, trio.current_time)
        """What it announced and does not give."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        """Return whether it is followed now."""
        return self.standing is PeerState.FOLLOWED

    def announce(self, head: Head) -> bool:
        """Take note of its head; return whether that is another one."""
        if self.announced == head:
            return False
        self.announced = head
        self.woken.set()
        return True

    def require_unreplaced(self, block: Head | None) -> None:
        """Give up a block in the place of which, or below which, it has announced another one since.

        Raises:
            UpstreamError: `absent`: it has.
        """
        told = self.announced
        if told is None or block is None:
            return
        if told.number <= block.number and told.hash != block.hash:
            raise UpstreamError("absent", f"block {block}, which {told} has replaced")

    def quarantine(self, error: PeerError) -> None:
        """Follow it no more, and log why unless that was logged before."""
        if self.why != str(error):
            logger.error("%s is quarantined: %s", self, error)
        self.standing, self.why, self.is_forked = PeerState.QUARANTINED, str(error), error.is_forked
        self.is_banned = error.permanent
        self.leave()
        # Its attendant may be waiting for an announcement.
        self.woken.set()

    def leave(self) -> None:
        """Forget what it said, as it can be asked no more."""
        self.announced = self.head = self.link = None
        self.went_back = False

    def verified(self, head: Head, *, is_ancestor: bool) -> None:
        """Take note that one of its heads is valid; `is_ancestor` of the one before."""
        self.went_back = is_ancestor
        self.head = head


class Upstreams:
    """All upstreams, in the order in which they were given."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        self.all = list(upstreams)

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self.all)

    @property
    def usable(self) -> list[Upstream]:
        """Return those that are followed, the best first."""
        usable = [upstream for upstream in self.all if upstream.is_usable]
        return sorted(usable, key=lambda upstream: upstream.client.score.cost)

    def highest(self, agree: int) -> int | None:
        """Return the height that `agree` upstreams say they have reached, None if too few can be asked."""
        return agreed_number([each.announced.number for each in self.usable if each.announced], agree)


def named(clients: Sequence[Client]) -> list[Upstream]:
    """Return upstreams with names that differ, though URLs may differ in their secret parts alone."""
    upstreams: list[Upstream] = []
    for client in clients:
        same = sum(str(other.client) == str(client) for other in upstreams)
        upstreams.append(Upstream(f"{client}#{same + 1}" if same else str(client), client))
    return upstreams
