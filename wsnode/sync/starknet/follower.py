"""A Starknet chain that is live because other nodes' are: all upstreams together, and how following goes."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import trio

from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import StarknetError
from wsnode.sync.follow.session import UpstreamSession
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.sync_report import HeadAnnouncements, SyncStage, SyncStageLog, described
from wsnode.sync.follow.upstream import Upstream, Upstreams, named
from wsnode.sync.starknet.client import block_at
from wsnode.sync.starknet.dialect import StarknetDialect
from wsnode.sync.starknet.head_tracker import StarknetHeadTracker
from wsnode.sync.starknet.replies import StarknetHead, head_at
from wsnode.sync.starknet.store import ChainWriter
from wsnode.sync.starknet.verifying import BlockVerifier
from wsnode.sync.starknet.window import StarknetWindow
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import Link
from wsnode.upstream.streams import Connect

L1_SECONDS: Final = 30.0
"""How often upstreams are asked for the last block that L1 has accepted."""
WATCH_SECONDS: Final = 2.0
ALONE_SECONDS: Final = 15.0
"""How long a head counts as the newest while nobody can be asked."""
TRUST: Final = (
    "blocks, transactions, receipts, events and state differences are proved by the block hash, but for "
    "status, l2_gas and old_root of the first block; classes by their hashes, deprecated ones are the "
    "upstreams' word"
)

logger = logging.getLogger("wsnode.follow")


class StarknetFollower:
    """Follows nodes of one chain, of which `agree` must have a block before it is the head."""

    def __init__(
        self,
        chain: StarknetChain,
        chain_id: str,
        addresses: Sequence[UpstreamAddress],
        publish: Callable[[], None],
        *,
        agree: int = 1,
        window: int | None = None,
        checkpoint: bytes | None = None,
        max_lag: int = 2,
        connect: Connect | None = None,
    ) -> None:
        """A new folder with a `window` is light; `publish` is called when the store has another head.

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
        self.writer = ChainWriter(chain, chain_id, window, publish)
        verifier = BlockVerifier(chain, chain_id)
        self._head_tracker = StarknetHeadTracker(
            chain, self.writer, verifier, self.upstreams, agree, checkpoint
        )
        self._window = StarknetWindow(chain, self.writer, verifier, self.upstreams, self._storage_retry)
        self._dialect = StarknetDialect(chain_id, self.upstreams, lambda: self._head_tracker.floor)
        self._announcements = HeadAnnouncements()
        self._news = 0.0
        """When the last head was announced."""
        self.stage = SyncStage.CONNECTING
        self._stages = SyncStageLog()
        self.on_stage: list[Callable[[], None]] = []
        """Called when following has come to another stage."""

    @property
    def agree(self) -> int:
        """Return how many upstreams must have a block before it is the head."""
        return self._head_tracker.agree

    @property
    def reorganisations(self) -> int:
        """Return how often blocks have left the chain."""
        return self._head_tracker.reorganisations

    @property
    def highest(self) -> int | None:
        """Return the height that enough upstreams say they have reached, None if too few can be asked."""
        return self.upstreams.highest(self.agree)

    @property
    def lag(self) -> int | None:
        """Return how many blocks the head is behind, None if it is not known."""
        highest = self.highest
        return None if highest is None else max(0, highest - self.writer.head)

    @property
    def l1_accepted(self) -> StarknetHead | None:
        """Return the last block that L1 has accepted, by the upstreams' word, None before that is known."""
        return self._head_tracker.floor

    async def run(self) -> None:
        """Follow, for ever."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for upstream in self.upstreams:
                nursery.start_soon(self._keep, upstream)
            nursery.start_soon(self._watch)
            nursery.start_soon(self._watch_l1)
            if self.writer.is_light:
                nursery.start_soon(self._window.run)

    async def _keep(self, upstream: Upstream) -> None:
        with trio.CancelScope() as self._scopes[upstream]:
            async with trio.open_nursery() as nursery:
                await nursery.start(upstream.client.run)
                await UpstreamSession(self._dialect, upstream, self).run()

    def follow(self, addresses: Sequence[UpstreamAddress], agree: int) -> None:
        """Follow these upstreams from now on, those too that were quarantined."""
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
        """Take note that an upstream has another head."""
        self._news = trio.current_time()
        self._announcements.add(upstream, head, self._news)
        self._see()

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and prove what an upstream has announced last, and move the head.

        Raises:
            PeerError: Something about its blocks is wrong.
            UpstreamError: They cannot be had.
        """
        await self._storage_retry.until_stored(partial(self._head_tracker.take, upstream, link))
        self._see()

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Do nothing: what waits for a block is not listened to."""

    def changed(self) -> None:
        """Take note that an upstream came or went: others may wait for one that agrees with them."""
        for upstream in self.upstreams.usable:
            upstream.woken.set()
        self._see()

    async def _watch(self) -> None:
        """Look again at a lower head that stays."""
        while True:
            await trio.sleep(WATCH_SECONDS)
            await self._storage_retry.until_stored(self._head_tracker.choose)
            self._see()

    async def _watch_l1(self) -> None:
        """Ask what L1 has accepted, below which no branch may leave the chain."""
        while True:
            if (accepted := await self._ask_l1()) is not None:
                self._head_tracker.floor = accepted
            await trio.sleep(L1_SECONDS)

    async def _ask_l1(self) -> StarknetHead | None:
        """Return the highest block of ours of which enough upstreams say that L1 has accepted it."""
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
        """Say where following stands by now."""
        before, self.stage = self.stage, self._stage()
        if before is self.stage:
            return
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
            # Clients lose nothing when the upstreams are gone for a moment.
            return self.stage if self.stage is SyncStage.LIVE else SyncStage.CONNECTING
        if lag == 0 or (self.stage is SyncStage.LIVE and lag <= self._max_lag):
            return SyncStage.LIVE
        return SyncStage.CATCHING_UP

    def not_ready_reason(self) -> str | None:
        """Return why this chain should not be asked for now, None if it is at the upstreams' head."""
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
        """Return the state of following, and of each upstream."""
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
        return f"{TRUST}; state roots are recomputed" if self.writer.checks_roots else TRUST

    def _kept(self) -> dict[str, Any]:
        """Return what is kept, for a folder that has a window, and where that begins by now."""
        window = self.writer.window
        if window is None:
            return {}
        return {
            "lowestBlock": hex(self.writer.first_block),
            "wanted": hex(self.writer.wanted_first),
            "window": window,
        }
