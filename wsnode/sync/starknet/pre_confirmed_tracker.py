"""Tracker of the block that upstreams are building on our head."""

from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.followed import FollowedState, PreConfirmedBlock
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import Upstream, Upstreams
from wsnode.sync.starknet.client import SHORT, ask_block
from wsnode.sync.starknet.pre_confirmed import Base, count_transactions, decode_pre_confirmed
from wsnode.upstream.errors import UpstreamError

WEBSOCKET_SECONDS: Final = 0.25
HTTP_SECONDS: Final = 0.5
"""Seconds between two polls of upstreams over HTTP alone, by default."""
MAX_AGE: Final = 10.0
"""Seconds after the last poll that gave the block until it counts as empty."""


class Poll(msgspec.Struct, frozen=True):
    """Replies of one upstream about its pre-confirmed block: `block` is the JSON of getBlockWithReceipts,
    `update` that of getStateUpdate.
    """

    upstream: Upstream
    block: bytes
    update: bytes
    count: int
    """Number of transactions."""


class PreConfirmedTracker:
    """Task that polls upstreams for the pre-confirmed block, and holds the one with the most transactions on
    this node's head.
    """

    def __init__(
        self,
        chain: StarknetChain,
        state: FollowedState,
        upstreams: Upstreams,
        chain_id: str,
        interval: float | None,
        storage_retry: StorageRetry,
    ) -> None:
        """Poll `upstreams` every `interval` seconds; 0 turns polling off, None is the default interval."""
        self._chain = chain
        self._state = state
        self._upstreams = upstreams
        self._chain_id = chain_id
        self._interval = interval
        self._storage_retry = storage_retry
        self._last: Poll | None = None
        """Replies of which the held block was made."""
        self._seen = 0.0
        """Time of the last poll that gave the held block, by trio's clock."""

    async def run(self) -> None:
        """Poll for ever, unless polling is turned off."""
        while self._interval != 0:
            await self._storage_retry.until_stored(self.step)
            await trio.sleep(self._seconds())

    def _seconds(self) -> float:
        if self._interval is not None:
            return self._interval
        announces = any(each.client.address.is_websocket for each in self._upstreams.all)
        return WEBSOCKET_SECONDS if announces else HTTP_SECONDS

    async def step(self) -> None:
        """Poll the upstreams once, and hold the block that is taken."""
        base = None if self._state.is_behind() else self._base()
        if base is None:
            self._forget()
            return
        held = self._state.pre_confirmed
        if held is not None and held.parent_hash != base.hash:
            self._forget()
        polls = await self._poll([each for each in self._upstreams.usable if _is_at(each, base)])
        for poll in sorted(polls, key=self._rank, reverse=True):
            if await self._take(poll, base):
                return
        if trio.current_time() - self._seen > MAX_AGE:
            self._forget()

    def _rank(self, poll: Poll) -> tuple[int, bool]:
        is_held = self._last is not None and self._last.upstream is poll.upstream
        return poll.count, is_held

    def _forget(self) -> None:
        self._state.pre_confirmed = self._last = None

    def _base(self) -> Base | None:
        with self._chain.snapshot() as view:
            row = None if view.head is None else view.block(view.head)
            return None if row is None or view.head is None else Base(view.head, row.hash, row.new_root)

    async def _poll(self, upstreams: list[Upstream]) -> list[Poll]:
        polls: list[Poll] = []

        async def poll(upstream: Upstream) -> None:
            try:
                polls.append(await _ask(upstream))
            except UpstreamError:
                # The upstream's score has counted the failure.
                return

        async with trio.open_nursery() as nursery:
            for upstream in upstreams:
                nursery.start_soon(poll, upstream)
        return polls

    async def _take(self, poll: Poll, base: Base) -> bool:
        """Hold the block of a poll; return False if it is not on `base`, or its replies do not agree."""
        last = self._last
        if last is None or (last.block, last.update) != (poll.block, poll.update):
            try:
                block = await self._decode(poll, base)
            except UpstreamError:
                return False
            if block is None:
                return False
            self._state.pre_confirmed = block
            self._state.publish()
        self._last, self._seen = poll, trio.current_time()
        return True

    async def _decode(self, poll: Poll, base: Base) -> PreConfirmedBlock | None:
        decode = partial(
            poll.upstream.client.read,
            lambda poll: decode_pre_confirmed(poll.block, poll.update, base, self._chain_id),
            poll,
        )
        if len(poll.block) + len(poll.update) < SHORT:
            return decode()
        return await trio.to_thread.run_sync(decode)


def _is_at(upstream: Upstream, base: Base) -> bool:
    return upstream.head is not None and upstream.head.hash == base.hash


async def _ask(upstream: Upstream) -> Poll:
    block, update = await ask_block(upstream, "pre_confirmed")
    return Poll(upstream, block, update, upstream.client.read(count_transactions, block))
