"""Upstream as the follower sees it: its state, its announced head, and its verified head."""

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
"""Seconds before a quarantined upstream is checked again: another node may answer at the URL since."""

RECENT_HEADS: Final = 16
"""Maximum number of announced heads of an upstream that are remembered."""

logger = logging.getLogger("wsnode.follow")


class PeerState(Enum):
    """State of an upstream."""

    CONNECTING = "connecting"
    UNREACHABLE = "unreachable"
    FOLLOWED = "followed"
    QUARANTINED = "quarantined"


class PeerError(Exception):
    """Error of an upstream that cannot be followed; the text gives the reason."""

    def __init__(self, why: str, *, is_forked: bool = False, permanent: bool = False) -> None:
        super().__init__(why)
        self.is_forked = is_forked
        """True if the upstream's chain leaves this node's chain below its finalized block."""
        self.permanent = permanent
        """True if the upstream is not to be asked again, since it sent an invalid block."""


class Upstream:
    """Upstream node: its client, its state, the heads that it announced, and the kinds of requests supported
    by it.
    """

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self.standing = PeerState.CONNECTING
        self.why = ""
        """Reason why the upstream is quarantined, or not followed further."""
        self.is_forked = False
        self.is_beyond = False
        """True if the upstream's head is of a fork that is not known here."""
        self.is_unsupported = False
        """True if the upstream's head is beyond the chain's rules, as far as they are known here."""
        self.is_banned = False
        """True if the upstream is quarantined for good."""
        self.link: Link | None = None
        """Connection by which the upstream announces heads."""
        self.announced: Head | None = None
        """Head that the upstream announced last; not verified."""
        self._recent: dict[int, Head] = {}
        """Last announced head of each number, none above the last one; at most `RECENT_HEADS`."""
        self.head: Head | None = None
        """Last of the upstream's heads that was fetched and executed."""
        self.is_elsewhere = False
        """True if the upstream's head has been off the proved chain for at least three slots."""
        self.went_back = False
        """True if the upstream's head is below an earlier one, on the same chain."""
        self.offers_raw: bool | None = None
        """True if the upstream gives blocks as RLP; None before it was asked."""
        self.offers_access_lists = True
        """True if the upstream is asked for access lists of blocks: until it lacked the method, or sent a
        wrong list.
        """
        self.takes_batches = True
        """True if the upstream is asked for several blocks in one batch: until it refused two."""
        self.interface_version: tuple[int, ...] = ()
        """Version of the upstream's API specification; empty before it is known, and for Ethereum."""
        self.refused_blocks = 0
        """Number of times it was quarantined since its last valid block; counted for Starknet only."""
        self.announces_heads = False
        """True if the upstream announces heads by itself; it is polled otherwise."""
        self.woken = trio.Event()
        self.refusals = RepeatedWarning(logger, trio.current_time)
        """Warnings about announced blocks that the upstream does not give."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        return self.standing is PeerState.FOLLOWED

    def announce(self, head: Head) -> bool:
        """Take note of the upstream's head; return True if that is another one."""
        if self.announced == head:
            return False
        self.announced = head
        self._recent = {number: each for number, each in self._recent.items() if number < head.number}
        self._recent[head.number] = head
        if len(self._recent) > RECENT_HEADS:
            del self._recent[min(self._recent)]
        self.woken.set()
        return True

    def announced_at(self, number: int) -> Head | None:
        """Return the last announced head of a number, None if it is not remembered."""
        return self._recent.get(number)

    def require_unreplaced(self, block: Head | None) -> None:
        """Check that the upstream has not announced another block at the height of `block` or below.

        Raises:
            UpstreamError: `absent`: the upstream has, so its chain may not have `block` any more.
        """
        told = self.announced
        if told is None or block is None:
            return
        if told.number <= block.number and told.hash != block.hash:
            raise UpstreamError("absent", f"block {block}, which {told} has replaced")

    def quarantine(self, error: PeerError) -> None:
        """Quarantine the upstream, and log the reason unless that was logged before."""
        if self.why != str(error):
            logger.error("%s is quarantined: %s", self, error)
        self.standing, self.why, self.is_forked = PeerState.QUARANTINED, str(error), error.is_forked
        self.is_banned = error.permanent
        self.leave()
        # The session of this upstream may be waiting for an announcement.
        self.woken.set()

    def leave(self) -> None:
        """Forget the upstream's heads and its connection, since it can be asked no more."""
        self.announced = self.head = self.link = None
        self._recent = {}
        self.went_back = self.is_elsewhere = False

    def verified(self, head: Head, *, is_ancestor: bool) -> None:
        """Note a valid head of the upstream; `is_ancestor` if it is an ancestor of the head before it."""
        self.went_back = is_ancestor
        self.head = head


class Upstreams:
    """Upstreams of a chain, in the order of the configuration."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        self.all = list(upstreams)

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self.all)

    @property
    def usable(self) -> list[Upstream]:
        """Return the upstreams that are followed, the best first."""
        usable = [upstream for upstream in self.all if upstream.is_usable]
        return sorted(usable, key=lambda upstream: upstream.client.score.cost)

    def highest(self, agree: int) -> int | None:
        """Return the highest block number that `agree` upstreams have announced or passed; None if fewer
        followed upstreams have announced a head.
        """
        return agreed_number([each.announced.number for each in self.usable if each.announced], agree)


class LowerHead:
    """Decision to move the head back to an ancestor, because upstreams have moved back to it."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._since: float | None = None
        """Time, on trio's clock in seconds, since which the upstreams' head is below this node's; None if it
        is not.
        """

    def forget(self) -> None:
        """Record that the upstreams' head is not below this node's."""
        self._since = None

    def target(self, number: int, head: int, agree: int, seconds: float) -> Head | None:
        """Return canonical block `number`, if it is below `head` and an upstream has moved back to it.

        With fewer than two upstreams, or fewer than `agree`, the result is None for the first `seconds`: a
        URL may be shared by several nodes, and the lower head may be of one that lags behind.
        """
        backers = [
            upstream
            for upstream in self._upstreams
            if upstream.is_usable and upstream.went_back and upstream.head and upstream.head.number == number
        ]
        if number >= head or not backers:
            self._since = None
            return None
        if len(backers) < max(2, agree):
            now = trio.current_time()
            self._since = now if self._since is None else self._since
            if now - self._since < seconds:
                return None
        self._since = None
        return backers[0].head


def named(clients: Sequence[Client]) -> list[Upstream]:
    """Return an upstream for each client, with unique names: URLs that differ in their secret parts only get
    a number.
    """
    upstreams: list[Upstream] = []
    for client in clients:
        same = sum(str(other.client) == str(client) for other in upstreams)
        upstreams.append(Upstream(f"{client}#{same + 1}" if same else str(client), client))
    return upstreams
