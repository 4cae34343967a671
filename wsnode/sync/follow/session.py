"""Session with one upstream: connect, check, subscribe or poll, and connect again."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import uniform
from typing import Final, Protocol

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.sync.follow.block_time import BlockTime
from wsnode.sync.follow.blocks.block_client import UnknownForkError, decode_rpc_block, head_at
from wsnode.sync.follow.identity_check import greet, identity_of
from wsnode.sync.follow.upstream import RECHECK_SECONDS, PeerError, PeerState, Upstream
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
LEAST_POLL_SECONDS: Final = 0.1
MOST_POLL_SECONDS: Final = 2.0
POLLS_A_BLOCK: Final = 4

logger = logging.getLogger("wsnode.follow")


class SessionEvents(Protocol):
    """Receiver of an upstream's news."""

    @property
    def accepts_any(self) -> bool:
        """Return True if even a finalized block may be replaced."""

    def announced(self, upstream: Upstream, head: Head) -> None:
        """Take note that an upstream has announced another head."""

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge the last announced block of an upstream.

        Raises:
            PeerError: Its blocks are invalid, or leave ours below the finalized one.
            UpstreamError: Its blocks cannot be had.
        """

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Take note that an upstream can be subscribed to."""

    def changed(self) -> None:
        """Take note that an upstream came or went."""


class UpstreamSession:
    """Task that keeps a session with one upstream."""

    def __init__(
        self, chain: Chain, upstream: Upstream, events: SessionEvents, block_time: BlockTime
    ) -> None:
        self._chain = chain
        self._block_time = block_time
        self._upstream = upstream
        self._events = events

    async def run(self) -> None:
        """Keep the session with the upstream, for ever."""
        pause = FIRST_PAUSE
        while True:
            began = trio.current_time()
            try:
                await self._attend()
            except PeerError as unfit:
                await self._leave_alone(unfit)
            except UpstreamError as error:
                self._leave(PeerState.UNREACHABLE, str(error))
                if trio.current_time() - began > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                await trio.sleep(pause * uniform(0.5, 1.5))
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _leave_alone(self, unfit: PeerError) -> None:
        upstream = self._upstream
        upstream.quarantine(unfit)
        self._events.changed()
        if unfit.permanent:
            await trio.sleep_forever()
        await trio.sleep(RECHECK_SECONDS)

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
        with self._chain.snapshot() as view:
            ours = identity_of(view)
        head = await greet(upstream, link, ours, accepts_any=self._events.accepts_any)
        upstream.link = link
        upstream.announces_heads = await self._subscribed(link)
        if upstream.standing is not PeerState.FOLLOWED:
            logger.info("%s is followed, its head is %s", upstream, head)
        upstream.standing, upstream.why, upstream.is_forked = PeerState.FOLLOWED, "", False
        self._note_head(head)
        self._events.changed()
        if upstream.announces_heads:
            await self._events.greeted(upstream, link)
        await first_failure(
            lambda: self._take_all(link),
            lambda: ended(link),
            *(() if upstream.announces_heads else (lambda: self._poll(link),)),
        )

    async def _subscribed(self, link: Link) -> bool:
        """Subscribe to the upstream's heads; return False if it refuses."""
        try:
            await link.subscribe(["newHeads"], self._hear)
        except UpstreamError as error:
            if error.reason == "refused":
                return False
            raise
        return True

    def _hear(self, text: bytes) -> None:
        with suppress(UpstreamError):
            block = self._upstream.client.read(decode_rpc_block, text)
            if block is not None:
                self._note_head(block.head)

    def _note_head(self, head: Head) -> None:
        if self._upstream.announce(head):
            self._events.announced(self._upstream, head)

    async def _poll(self, link: Link) -> None:
        while True:
            seconds = self._block_time(self._chain) / POLLS_A_BLOCK
            await trio.sleep(min(max(seconds, LEAST_POLL_SECONDS), MOST_POLL_SECONDS))
            head = await head_at(self._upstream, "latest", link)
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
                # It is said already, and the upstream stays: it may be right, and has the blocks before.
                self._events.changed()
            except UpstreamError as error:
                if link.ended.is_set():
                    raise
                if error.reason == "invalid":
                    raise PeerError(error.detail) from None
                upstream.refusals.say("%s: %s", upstream, error)
                if upstream.announced == announced:
                    # What it cannot give counts as announced no more; it may announce it again.
                    upstream.announced = upstream.head
            await upstream.woken.wait()


async def ended(link: Link) -> None:
    """Wait for the end of the connection.

    Raises:
        UpstreamError: It has ended.
    """
    await link.ended.wait()
    raise UpstreamError("unreachable", "the connection ended")


async def first_failure(*works: Callable[[], Awaitable[None]]) -> None:
    """Run all of `works` until one fails, and fail as it did.

    Raises:
        PeerError, UpstreamError: The first failure.
    """
    failures: list[Exception] = []
    async with trio.open_nursery() as nursery:

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            try:
                await work()
            except (PeerError, UpstreamError) as error:
                # Not out of the nursery, which would wrap it in a group.
                failures.append(error)
                nursery.cancel_scope.cancel()

        for work in works:
            nursery.start_soon(run, work)
    raise failures[0]
