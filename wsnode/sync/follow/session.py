"""Session with one upstream: connect, check, subscribe or poll, and connect again."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import uniform
from typing import Final, Protocol

import trio

from wsnode.ethereum.head import Head
from wsnode.sync.follow.blocks.block_client import UnknownForkError
from wsnode.sync.follow.upstream import PeerError, PeerState, Upstream
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

FIRST_PAUSE: Final = 0.5
MAX_PAUSE: Final = 30.0
AFTER_SESSION_PAUSE: Final = 0.05
"""Seconds before the first attempt to connect again after a session of more than `MAX_PAUSE`: most such
connections end by a provider's own limit or restart, and another node behind its URL answers immediately.
"""

logger = logging.getLogger("wsnode.follow")


class SessionEvents(Protocol):
    """Receiver of the events of sessions with upstreams; `Follower` and `StarknetFollower` implement it."""

    def announced(self, upstream: Upstream, head: Head) -> None:
        """Note that an upstream has announced another head."""

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge the last announced block of an upstream.

        Raises:
            PeerError: The blocks are invalid, or leave our chain below the finalized block.
            UpstreamError: The upstream does not give the blocks.
        """

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Note that an upstream accepts subscriptions."""

    def changed(self) -> None:
        """Note that the state of an upstream has changed."""


class NodeDialect(Protocol):
    """Requests of a session to upstreams of one kind of chain; `EthereumDialect` and `StarknetDialect`
    implement it.
    """

    polls_beside: bool
    """True if an upstream that announces its heads is polled for them too."""

    async def greet(self, upstream: Upstream, link: Link) -> Head:
        """Check that an upstream is of our chain, and return its head.

        Raises:
            PeerError: The upstream is of another chain.
            UpstreamError: The upstream gives no valid answer.
        """

    async def subscribe_heads(self, link: Link, hear: Callable[[bytes], None]) -> bool:
        """Subscribe to new heads and call `hear` with each announcement; return False if it is refused."""

    def announced_head(self, upstream: Upstream, text: bytes) -> Head | None:
        """Return the head in an announcement, or None if it has none.

        Raises:
            UpstreamError: The announcement is malformed.
        """
        ...

    async def head(self, upstream: Upstream, link: Link) -> Head | None:
        """Return the head of an upstream, or None if it has none.

        Raises:
            UpstreamError: The upstream gives no valid answer.
        """

    def poll_seconds(self, upstream: Upstream) -> float:
        """Return the seconds between two requests for the head."""
        ...

    def recheck_seconds(self, upstream: Upstream) -> float:
        """Return the seconds before a quarantined upstream is checked again."""
        ...


class UpstreamSession:
    """Task that connects to one upstream and follows its heads, again after each failure."""

    def __init__(self, dialect: NodeDialect, upstream: Upstream, events: SessionEvents) -> None:
        self._dialect = dialect
        self._upstream = upstream
        self._events = events

    async def run(self) -> None:
        """Connect to the upstream and follow it, again after each failure, for ever."""
        pause = FIRST_PAUSE
        while True:
            began = trio.current_time()
            try:
                await self._attend()
            except PeerError as unfit:
                await self._leave_alone(unfit)
            except UpstreamError as error:
                self._leave(PeerState.UNREACHABLE, str(error))
                if trio.current_time() - began > MAX_PAUSE:
                    pause = AFTER_SESSION_PAUSE
                await trio.sleep(pause * uniform(0.5, 1.5))
                pause = min(max(2 * pause, FIRST_PAUSE), MAX_PAUSE)

    async def _leave_alone(self, unfit: PeerError) -> None:
        upstream = self._upstream
        upstream.quarantine(unfit)
        self._events.changed()
        if unfit.permanent:
            await trio.sleep_forever()
        await trio.sleep(self._dialect.recheck_seconds(upstream))

    def _leave(self, standing: PeerState, why: str) -> None:
        upstream = self._upstream
        if upstream.standing is not standing:
            logger.warning("%s: %s", upstream, why)
        upstream.standing, upstream.why = standing, why
        upstream.leave()
        self._events.changed()

    async def _attend(self) -> None:
        upstream = self._upstream
        link = await upstream.client.link()
        head = await self._dialect.greet(upstream, link)
        upstream.link = link
        upstream.announces_heads = await self._dialect.subscribe_heads(link, self._hear)
        if upstream.standing is not PeerState.FOLLOWED:
            logger.info("%s is followed, its head is %s", upstream, head)
        upstream.standing, upstream.why, upstream.is_forked = PeerState.FOLLOWED, "", False
        self._note_head(head)
        self._events.changed()
        if upstream.announces_heads:
            await self._events.greeted(upstream, link)
        polls = not upstream.announces_heads or self._dialect.polls_beside
        await first_failure(
            lambda: self._take_all(link),
            lambda: ended(link),
            *((lambda: self._poll(link),) if polls else ()),
        )

    def _hear(self, text: bytes) -> None:
        with suppress(UpstreamError):
            head = self._dialect.announced_head(self._upstream, text)
            if head is not None:
                self._note_head(head)

    def _note_head(self, head: Head) -> None:
        if self._upstream.announce(head):
            self._events.announced(self._upstream, head)

    async def _poll(self, link: Link) -> None:
        while True:
            await trio.sleep(self._dialect.poll_seconds(self._upstream))
            head = await self._dialect.head(self._upstream, link)
            if head is not None:
                self._note_head(head)

    async def _take_all(self, link: Link) -> None:
        upstream = self._upstream
        while True:
            upstream.woken = trio.Event()
            if upstream.standing is PeerState.QUARANTINED:
                raise PeerError(upstream.why, is_forked=upstream.is_forked, permanent=upstream.is_banned)
            announced = upstream.announced
            try:
                await self._events.take(upstream, link)
            except UnknownForkError:
                # `take` has logged the unknown fork. The upstream stays, because it may be right and has the
                # blocks before the fork.
                self._events.changed()
            except UpstreamError as error:
                if link.ended.is_set():
                    raise
                if error.reason == "invalid":
                    raise PeerError(error.detail) from None
                upstream.refusals.say("%s: %s", upstream, error)
                if upstream.announced == announced:
                    # A head that the upstream cannot give no longer counts as announced; the upstream may
                    # announce it again.
                    upstream.announced = upstream.head
            await upstream.woken.wait()


async def ended(link: Link) -> None:
    """Wait until the connection ends, and raise.

    Raises:
        UpstreamError: `unreachable`: the connection has ended.
    """
    await link.ended.wait()
    raise UpstreamError("unreachable", "the connection ended")


async def first_failure(*works: Callable[[], Awaitable[None]]) -> None:
    """Run all of `works` concurrently until one raises, cancel the others, and raise its error.

    Raises:
        PeerError, UpstreamError: The error of the first failure.
    """
    failures: list[Exception] = []
    async with trio.open_nursery() as nursery:

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            try:
                await work()
            except (PeerError, UpstreamError) as error:
                # The nursery would wrap the error in an exception group, so it is raised after the nursery.
                failures.append(error)
                nursery.cancel_scope.cancel()

        for work in works:
            nursery.start_soon(run, work)
    raise failures[0]
