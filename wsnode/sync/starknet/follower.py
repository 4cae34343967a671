"""Follower of a Starknet chain: the sessions with all upstreams, and the state of following."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import trio

from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import StarknetError
from wsnode.starknet.followed import FollowedState
from wsnode.starknet.rpc.forwarded.methods import FORWARDED
from wsnode.starknet.trust import describe_trusted_members
from wsnode.sync.follow.session import UpstreamSession
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.sync_report import HeadAnnouncements, SyncStage, SyncStageLog, described
from wsnode.sync.follow.upstream import Upstream, Upstreams, named
from wsnode.sync.starknet.client import StarknetDialect, block_at
from wsnode.sync.starknet.forwarder import StarknetForwarder
from wsnode.sync.starknet.head_tracker import StarknetHeadTracker
from wsnode.sync.starknet.pre_confirmed_tracker import PreConfirmedTracker
from wsnode.sync.starknet.replies import StarknetHead, head_at
from wsnode.sync.starknet.state_reader import StarknetStateReader
from wsnode.sync.starknet.store import ChainWriter, StarknetWindow
from wsnode.sync.starknet.verified_blocks import BlockVerifier
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Connect, Link

L1_SECONDS: Final = 30.0
"""Seconds between requests for the last block accepted on L1."""
L1_UNKNOWN_SECONDS: Final = 2.0
"""Seconds until the next such request while no block is known, and the stage does not change."""
WATCH_SECONDS: Final = 2.0
ALONE_SECONDS: Final = 15.0
"""Seconds after the last announcement for which the chain counts as ready without upstreams."""
COVERED: Final = (
    "blocks, transactions, receipts, events and state differences are proved by the block hash, but for the "
    "upstreams' word on "
)
TRUST: Final = (
    "classes are proved by their hashes, deprecated ones are the upstreams' word; state that no block of a "
    "window has written is proved by storage proofs; l1_accepted is the upstreams' word; of the "
    "pre-confirmed block transaction hashes are proved; an upstream alone answers "
    f"{', '.join(FORWARDED)}, and getTransactionStatus of transactions that are not stored"
)
"""Proofs and sources of all answers besides the members of blocks."""

logger = logging.getLogger("wsnode.follow")


class StarknetFollower:
    """Follower of a Starknet chain's upstreams: a block becomes the head once `agree` of them have it."""

    def __init__(
        self,
        chain: StarknetChain,
        chain_id: str,
        addresses: Sequence[UpstreamAddress],
        publish: Callable[[], None],
        *,
        agree: int = 1,
        window: int | None = None,
        keeps_state: bool = False,
        checkpoint: bytes | None = None,
        max_lag: int = 2,
        pre_confirmed_interval: float | None = None,
        connect: Connect | None = None,
    ) -> None:
        """Prepare to follow `addresses`.

        `publish` is called after each change of the stored head, of the pre-confirmed block and of the last
        block accepted on L1, and after each sent transaction. A new folder with a `window` keeps this number
        of blocks; it is light, unless it `keeps_state` (see `ChainWriter`). `pre_confirmed_interval` is the
        seconds between polls of the block that is being built; 0 turns them off.

        Raises:
            StarknetError: The folder has another chain.
        """
        with chain.snapshot() as view:
            if view.head is not None and view.chain_id not in (None, chain_id):
                raise StarknetError(f"{chain.folder}: its chain is {view.chain_id}, not {chain_id}")
        self._chain = chain
        self.chain_id = chain_id
        self._connect = connect
        self._max_lag = max_lag
        self.upstreams = Upstreams(named([Client(each, connect=connect) for each in addresses]))
        self._scopes: dict[Upstream, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None
        self._storage_retry = StorageRetry(self._see)
        self._stage_changed = trio.Event()
        """Event of the next change of the stage."""
        self.writer = ChainWriter(chain, chain_id, window, publish, keeps_state=keeps_state)
        verifier = BlockVerifier(chain, chain_id)
        self._head_tracker = StarknetHeadTracker(
            chain, self.writer, verifier, self.upstreams, agree, checkpoint
        )
        self._window = StarknetWindow(chain, self.writer, verifier, self.upstreams, self._storage_retry)
        self._dialect = StarknetDialect(chain_id, self.upstreams, lambda: self._head_tracker.floor)
        self.forwarder = StarknetForwarder(self.upstreams, lambda: self.writer.head)
        self.reader = StarknetStateReader(chain, self.upstreams)
        self._state = FollowedState(
            self.forwarder,
            self.reader,
            lambda: self.not_ready_reason() is not None,
            publish,
            trio.current_time,
        )
        chain.followed = self._state
        self._pre_confirmed = PreConfirmedTracker(
            chain, self._state, self.upstreams, chain_id, pre_confirmed_interval, self._storage_retry
        )
        self._announcements = HeadAnnouncements()
        self._news = 0.0
        """Time of the last announcement of a head, by trio's clock."""
        self.stage = SyncStage.CONNECTING
        self._stages = SyncStageLog()
        self.on_stage: list[Callable[[], None]] = []
        """Listeners called when `stage` has changed."""

    @property
    def agree(self) -> int:
        return self._head_tracker.agree

    @property
    def reorganisations(self) -> int:
        return self._head_tracker.reorganisations

    @property
    def highest(self) -> int | None:
        """Return the highest block number that `agree` upstreams have announced or passed, None if fewer
        have.
        """
        return self.upstreams.highest(self.agree)

    @property
    def lag(self) -> int | None:
        """Return the number of blocks from our head to `highest`, or None if that is unknown."""
        highest = self.highest
        return None if highest is None else max(0, highest - self.writer.head)

    @property
    def l1_accepted(self) -> StarknetHead | None:
        """Return the last block accepted on L1 by the upstreams' reports, or None before the first report."""
        return self._head_tracker.floor

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for upstream in self.upstreams:
                nursery.start_soon(self._keep, upstream)
            nursery.start_soon(self._watch)
            nursery.start_soon(self._watch_l1)
            nursery.start_soon(self._pre_confirmed.run)
            if self.writer.window is not None:
                nursery.start_soon(self._window.run)

    async def _keep(self, upstream: Upstream) -> None:
        with trio.CancelScope() as self._scopes[upstream]:
            async with trio.open_nursery() as nursery:
                await nursery.start(upstream.client.run)
                await UpstreamSession(self._dialect, upstream, self).run()

    def follow(self, addresses: Sequence[UpstreamAddress], agree: int) -> None:
        """Follow these upstreams only from now on, quarantined ones too, with another `agree`."""
        assert self._nursery is not None, "run is running"
        for upstream, scope in list(self._scopes.items()):
            if upstream.client.address not in addresses or not upstream.is_usable:
                scope.cancel()
                del self._scopes[upstream]
        kept = {upstream.client.address: upstream for upstream in self._scopes}
        new = [Client(each, connect=self._connect) for each in addresses if each not in kept]
        made = {upstream.client.address: upstream for upstream in named(new)}
        self.upstreams.all = [kept[each] if each in kept else made[each] for each in addresses]
        self._head_tracker.agree = agree
        for upstream in made.values():
            self._nursery.start_soon(self._keep, upstream)
        self.changed()

    def announced(self, upstream: Upstream, head: Any) -> None:
        self._news = trio.current_time()
        self._announcements.add(upstream, head, self._news)
        self._see()

    async def take(self, upstream: Upstream, link: Link) -> None:
        await self._storage_retry.until_stored(partial(self._head_tracker.take, upstream, link))
        self._see()

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Do nothing: a follower of Starknet needs no further subscription."""

    def changed(self) -> None:
        """Record that the state of an upstream has changed, and have the others compared again."""
        for upstream in self.upstreams.usable:
            upstream.woken.set()
        self._see()

    async def _watch(self) -> None:
        """Choose the head again every `WATCH_SECONDS`, since a lower head counts only after a while."""
        while True:
            await trio.sleep(WATCH_SECONDS)
            await self._storage_retry.until_stored(self._head_tracker.choose)
            self._see()

    async def _watch_l1(self) -> None:
        """Request the last block accepted on L1 every `L1_SECONDS`; branches below it are refused.

        While no block is known, request it again once the stage has changed: at the upstreams' head a
        reported block may be stored.
        """
        while True:
            # The event is read before the request, so that a change of the stage during the request counts.
            changed = self._stage_changed
            if (accepted := await self._ask_l1()) is None:
                with trio.move_on_after(L1_UNKNOWN_SECONDS):
                    await changed.wait()
                continue
            self._head_tracker.floor = accepted
            self._state.l1_accepted = (accepted.number, accepted.hash)
            self._state.publish()
            await trio.sleep(L1_SECONDS)

    async def _ask_l1(self) -> StarknetHead | None:
        """Return the highest block here that `agree` upstreams report as accepted on L1, None without one."""
        told: list[StarknetHead] = []
        for upstream in self.upstreams.usable:
            try:
                accepted = await block_at(upstream, "l1_accepted")
            except UpstreamError:
                continue
            if accepted is not None:
                told.append(accepted)
        with self._chain.snapshot() as view:
            ours = [each for each in told if view.number_of(each.hash) == each.number]
        ours.sort(key=lambda each: each.number, reverse=True)
        return ours[self.agree - 1] if len(ours) >= self.agree else None

    def _see(self) -> None:
        """Update the stage; log a new one and call the listeners."""
        before, self.stage = self.stage, self._stage()
        if before is self.stage:
            return
        self._stage_changed.set()
        self._stage_changed = trio.Event()
        if self.stage is not SyncStage.UNSTORED:
            level = logging.INFO if self._stages.says(self.stage, trio.current_time()) else logging.DEBUG
            logger.log(level, "%s, the head is %d", self.stage.value, self.writer.head)
        for listener in self.on_stage:
            listener()

    def _stage(self) -> SyncStage:
        if self._storage_retry.is_on:
            return SyncStage.UNSTORED
        lag = self.lag
        if lag is None:
            forked = sum(upstream.is_forked for upstream in self.upstreams)
            if forked >= self.agree:
                return SyncStage.STOPPED
            # A short loss of all upstreams keeps the stage LIVE, since clients lose nothing by it.
            return self.stage if self.stage is SyncStage.LIVE else SyncStage.CONNECTING
        if lag == 0 or (self.stage is SyncStage.LIVE and lag <= self._max_lag):
            return SyncStage.LIVE
        return SyncStage.CATCHING_UP

    def not_ready_reason(self) -> str | None:
        """Return the reason why this chain is not ready for requests, or None if it is."""
        if self.stage is SyncStage.STOPPED:
            return "following stopped: the upstreams' chain leaves ours below what is final here"
        if self.stage is SyncStage.UNSTORED:
            return "blocks cannot be stored"
        if self.stage is SyncStage.CATCHING_UP:
            return f"{self.lag} blocks behind"
        is_alone = self.lag is None and trio.current_time() - self._news > ALONE_SECONDS
        if self.stage is SyncStage.CONNECTING or is_alone:
            return "too few upstreams can be followed"
        return None

    def status(self) -> dict[str, Any]:
        """Return the members of `wsnode_status`: the state of following, and of each upstream."""
        with self._chain.snapshot() as view:
            row = None if view.head is None else view.block(view.head)
            head = None if row is None or view.head is None else head_at(view.head, row.hash)
        lag, now = self.lag, trio.current_time()
        seconds = self._announcements.seconds_behind(self.writer.head, now) if lag else 0.0
        return {
            "mode": "light" if self.writer.is_light else "full",
            "state": self.stage.value,
            "chain": self.chain_id,
            "trust": f"{self._trust()}; {self.agree} of {len(self.upstreams.all)} upstreams choose",
            **self._kept(),
            "head": None if head is None else head.members(),
            "highest": None if self.highest is None else hex(self.highest),
            "lag": lag,
            "behind": None if lag is None else {"blocks": lag, "seconds": round(seconds, 3)},
            "reorganisations": self.reorganisations,
            "upstreams": [described(upstream) for upstream in self.upstreams],
        }

    def _trust(self) -> str:
        checks_roots = self.writer.checks_roots
        members = describe_trusted_members(
            checks_roots=checks_roots, has_first_block=checks_roots or not self.writer.first_block
        )
        text = f"{COVERED}{members}; {TRUST}"
        return f"{text}; state roots are recomputed" if checks_roots else text

    def _kept(self) -> dict[str, Any]:
        """Return the members of `wsnode_status` about the window, none without a window."""
        window = self.writer.window
        if window is None:
            return {}
        return {
            "lowestBlock": hex(self.writer.first_block),
            "wanted": hex(self.writer.wanted_first),
            "window": window,
        }
