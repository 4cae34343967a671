"""Following of all upstreams together, and its status."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.networks.table import network_of, unknown_chain
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.pruning import Pruning
from wsnode.sync.follow.ancestors import AncestorSync
from wsnode.sync.follow.beacon.anchor import AnchorSettings, HeadAnchor
from wsnode.sync.follow.block_time import BlockTime, block_seconds
from wsnode.sync.follow.blocks.block_client import head_at
from wsnode.sync.follow.finality import FinalityTracker, ProvedFinality
from wsnode.sync.follow.head_policy import AnnouncedHead, HeadPolicy, ProvedHead
from wsnode.sync.follow.head_tracker import HeadTracker
from wsnode.sync.follow.identity_check import EthereumDialect
from wsnode.sync.follow.light.folder import REST_SECONDS, LightFolderParts
from wsnode.sync.follow.proved_head import ProvedHeadSync
from wsnode.sync.follow.range_sync import RangeSync
from wsnode.sync.follow.session import UpstreamSession
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.sync_report import HeadAnnouncements, SyncStage, SyncStageLog, described
from wsnode.sync.follow.upstream import Upstream, Upstreams, named
from wsnode.sync.follow.upstream_txs import UpstreamTransactions, send_to_all
from wsnode.sync.progress import ImportProgress
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import SendFailedError, UpstreamError
from wsnode.upstream.link import Connect, Link

MAX_LAG: Final = 2
SILENT_BLOCKS: Final = 3
"""Block times without a new head after which all upstreams are asked."""
MIN_SILENCE_SECONDS: Final = 3.0
ALONE_SECONDS: Final = 15.0
"""Seconds for which a head counts as the newest while no upstream can be asked."""

logger = logging.getLogger("wsnode.follow")


class Follower:
    """Follower of an Ethereum chain's upstreams: it fetches and judges their blocks. A block becomes the head
    once `agree` upstreams have it or, with beacon nodes, once it is proved.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        addresses: Sequence[UpstreamAddress],
        progress: ImportProgress,
        heard: UpstreamTransactions,
        *,
        agree: int = 1,
        accept_finalized_reorg: bool = False,
        max_lag: int = MAX_LAG,
        is_driven: bool = False,
        connect: Connect | None = None,
        block_time: BlockTime = block_seconds,
        checkpoint: Hash32 | None = None,
        beacon: AnchorSettings | None = None,
    ) -> None:
        """Prepare to follow the nodes at `addresses`; `connect` opens connections, by TCP unless given.

        The head of a driven chain is chosen elsewhere. A light folder begins at `checkpoint`, or without it
        at the finalized block. With `beacon` the head is proved.
        """
        self._chain = chain
        self._connect = connect
        self._block_time = block_time
        self._dialect = EthereumDialect(chain, block_time, lambda: self.accepts_any)
        self.upstreams = Upstreams(named([Client(each, connect=connect) for each in addresses]))
        self._max_lag = max_lag
        self._scopes: dict[Upstream, trio.CancelScope] = {}
        self.heard = heard
        self._nursery: trio.Nursery | None = None
        self._is_driven = is_driven
        self._storage_retry = storage_retry = StorageRetry(self._see)
        anchor = None if beacon is None else HeadAnchor(chain, live, beacon, storage_retry, connect)
        self.anchor = anchor
        """Anchor that proves the head, or None if the upstreams' announcements decide."""
        self._policy: HeadPolicy = AnnouncedHead(agree) if anchor is None else ProvedHead(anchor, agree)
        proved = None if anchor is None else lambda: anchor.first
        light = (
            LightFolderParts(chain, live, self.upstreams, storage_retry, checkpoint, proved)
            if chain.is_light
            else None
        )
        self._pruning = None if chain.window is None or chain.is_light else Pruning(chain, live)
        receipts = None if light is None else light.receipts
        beginning = None if light is None else light.beginning
        self.light = light
        """Parts that only a light folder has, None for a full one."""
        range_sync = RangeSync(chain, live, self.upstreams, progress, self._floor, receipts)
        self._head_tracker = HeadTracker(
            chain, live, self.upstreams, range_sync, block_time, self._policy, beginning, receipts
        )
        self._ancestors = AncestorSync(chain, live, self.upstreams, range_sync, self._floor, storage_retry)
        self._finality = FinalityTracker(chain, self.upstreams, self._head_tracker.mark)
        self._proved_finality = (
            None if anchor is None else ProvedFinality(chain, anchor, self._head_tracker.mark)
        )
        self._head_tracker.accepts_any = accept_finalized_reorg
        self.stage = SyncStage.CONNECTING
        self._stages = SyncStageLog()
        self._starting = chain.head.number
        self._announcements = HeadAnnouncements()
        self._height: int | None = None
        self._news = 0.0
        """Time of the last announcement."""
        self.on_stage: list[Callable[[], None]] = []
        """Called when following has come to another stage."""
        self.on_height: list[Callable[[], None]] = []
        """Called when `announced_height` has changed."""

    @property
    def accepts_any(self) -> bool:
        """Return True if an upstream may have another block in place of our finalized one.

        Where the head is proved, the proof says which of the two is right.
        """
        return self._head_tracker.accepts_any or not self._policy.follows_word

    @property
    def agree(self) -> int:
        return self._policy.agree

    @property
    def reorganisations(self) -> int:
        return self._head_tracker.reorganisations

    @property
    def highest(self) -> int | None:
        """Return the height that enough upstreams say they have reached, None if too few can be asked.

        Where the head is proved, return the proved block's height, or the upstreams' as far above it as is
        served.
        """
        return self._policy.highest(self.upstreams.highest(self.agree))

    def announced_height(self) -> int | None:
        """Return the highest announced block number, None before the first announcement; many calls
        read it.
        """
        return self._height

    @property
    def lag(self) -> int | None:
        """Return the number of blocks by which the head is behind, None if it is not known."""
        highest = self.highest
        return None if highest is None else max(0, highest - self._chain.head.number)

    @property
    def behind(self) -> dict[str, float] | None:
        """Return the blocks and seconds by which the head is behind, None if it is not known.

        The seconds are counted from the first announcement of a block above the head.
        """
        lag = self.lag
        if lag is None:
            return None
        seconds = 0.0
        if lag:
            seconds = self._announcements.seconds_behind(self._chain.head.number, trio.current_time())
        return {"blocks": lag, "seconds": round(seconds, 3)}

    @property
    def progress(self) -> SyncProgress | None:
        """Return the first, present and highest block of the way to the upstreams' head, None at its end."""
        highest, head = self.highest, self._chain.head.number
        if self.stage in (SyncStage.LIVE, SyncStage.STOPPED) or highest is None or highest <= head:
            return None
        return SyncProgress(self._starting, head, highest)

    @property
    def peers(self) -> int:
        return len(self.upstreams.usable)

    async def send(self, encoded: bytes) -> None:
        """Return once an upstream has taken a signed transaction.

        Raises:
            SendFailedError: No upstream has taken it.
        """
        assert self._nursery is not None, "run is running"
        if self._is_driven:
            # A driven node builds payloads itself, so a transaction in its own pool is enough, and no
            # upstream is waited for.
            self._nursery.start_soon(self._relay, encoded, self._nursery)
        else:
            await send_to_all(self.upstreams.usable, encoded, self._nursery)

    async def _relay(self, encoded: bytes, nursery: trio.Nursery) -> None:
        with suppress(SendFailedError):
            await send_to_all(self.upstreams.usable, encoded, nursery)

    async def run(self) -> None:
        """Follow the upstreams, for ever.

        Raises:
            CheckpointError: Proofs of the head cannot begin, or go on.
            UnsupportedChainError: The first block of a light folder cannot be read, or breaks a rule.
        """
        if self.light is not None and (unknown := unknown_chain(self._chain.spec)) is not None:
            logger.warning("%s", unknown)
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self.heard.run)
            for upstream in self.upstreams:
                nursery.start_soon(self._keep, upstream)
            nursery.start_soon(self._watch)
            if self.anchor is not None:
                nursery.start_soon(self.anchor.run)
                proved = ProvedHeadSync(self._chain, self.upstreams, self.anchor, self._head_tracker)
                nursery.start_soon(proved.run, self._storage_retry)
            nursery.start_soon(self._ancestors.run if self._is_driven else self._mark)
            if self.light is not None:
                nursery.start_soon(self.light.window.run)
            if self._pruning is not None:
                nursery.start_soon(self._prune, self._pruning)

    async def _prune(self, pruning: Pruning) -> None:
        while True:
            has_more = await self._storage_retry.until_stored(pruning.step)
            await trio.sleep(0 if has_more else REST_SECONDS)

    def want(self, block_hash: Hash32) -> trio.Event:
        """Have a missing block and its unknown ancestors fetched; return an event for the end of that."""
        return self._ancestors.want(block_hash)

    def _floor(self) -> int:
        return self._head_tracker.floor

    async def _keep(self, upstream: Upstream) -> None:
        with trio.CancelScope() as self._scopes[upstream]:
            async with trio.open_nursery() as nursery:
                await nursery.start(upstream.client.run)
                await UpstreamSession(self._dialect, upstream, self).run()

    def follow(
        self, addresses: Sequence[UpstreamAddress], agree: int, beacons: Sequence[UpstreamAddress] = ()
    ) -> None:
        """Follow these upstreams and ask these beacon nodes from now on, also those that were quarantined."""
        assert self._nursery is not None, "run is running"
        if self.anchor is not None and beacons:
            self.anchor.follow(beacons)
        for upstream, scope in list(self._scopes.items()):
            if upstream.client.address not in addresses or not upstream.is_usable:
                scope.cancel()
                del self._scopes[upstream]
        kept = {upstream.client.address: upstream for upstream in self._scopes}
        clients = {
            address: kept[address].client if address in kept else Client(address, connect=self._connect)
            for address in addresses
        }
        made = {upstream.client.address: upstream for upstream in named(list(clients.values()))}
        self.upstreams.all = [kept.get(address, made[address]) for address in addresses]
        self._policy.agree = agree
        for upstream in self.upstreams:
            if upstream.client.address not in kept:
                self._nursery.start_soon(self._keep, upstream)
        self.changed()

    def announced(self, upstream: Upstream, head: Head) -> None:
        """Take note that an upstream has announced another head."""
        now = self._news = trio.current_time()
        self._announcements.add(upstream, head, now)
        self._see()

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge the last announced block of an upstream, and move the head; errors are those of
        `HeadTracker.take`.
        """
        if not self._is_driven:
            await self._storage_retry.until_stored(partial(self._head_tracker.take, upstream, link))
        self._see()

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Subscribe to the pending transactions of an upstream that announces its heads."""
        await self.heard.listen(upstream, link)

    def changed(self) -> None:
        """Record that an upstream was connected or lost; another one may now find enough that agree."""
        for upstream in self.upstreams.usable:
            upstream.woken.set()
        self._see()

    def _see(self) -> None:
        """Update the stage, log a change of it, and call the listeners."""
        self._take_height(self.highest)
        before, self.stage = self.stage, self._stage()
        if before is self.stage:
            return
        if self.stage is SyncStage.STOPPED and self._policy.follows_word:
            logger.error(
                "following stopped: the upstreams' chain leaves ours below what is final here; "
                "start with --accept-finalized-reorg to follow it all the same"
            )
        elif self.stage is not SyncStage.UNSTORED:
            level = logging.INFO if self._stages.says(self.stage, trio.current_time()) else logging.DEBUG
            logger.log(level, "%s, the head is %s", self.stage.value, self._chain.head)
        if self.stage is SyncStage.LIVE:
            self._head_tracker.accepts_any = False
        for listener in self.on_stage:
            listener()

    def _take_height(self, height: int | None) -> None:
        if height != self._height:
            self._height = height
            for listener in self.on_height:
                listener()

    def _stage(self) -> SyncStage:
        if self._storage_retry.is_on:
            return SyncStage.UNSTORED
        if self._head_tracker.stopped_reason is not None:
            return SyncStage.STOPPED
        lag = self.lag
        if lag is None:
            forked = sum(upstream.is_forked for upstream in self.upstreams)
            if forked >= self.agree and not self._is_driven and self._policy.follows_word:
                return SyncStage.STOPPED
            # A short loss of all upstreams keeps the stage LIVE, since clients lose nothing by it.
            return self.stage if self.stage is SyncStage.LIVE else SyncStage.CONNECTING
        if lag and any(upstream.is_unsupported for upstream in self.upstreams.usable):
            return SyncStage.UNSUPPORTED
        if lag == 0 or (self.stage is SyncStage.LIVE and lag <= self._max_lag):
            return SyncStage.LIVE
        if self.stage is not SyncStage.CATCHING_UP:
            self._starting = self._chain.head.number
        return SyncStage.CATCHING_UP

    @property
    def unknown_fork(self) -> str | None:
        """Return the reason why following cannot pass a fork that is not known here, None if it can."""
        beyond = (upstream.why for upstream in self.upstreams.usable if upstream.is_beyond)
        return next(beyond, None) if self.lag else None

    def not_ready_reason(self) -> str | None:
        """Return the reason why this node should not be asked now, None if it is at the upstreams' head."""
        if self._head_tracker.stopped_reason is not None:
            return f"following stopped: {self._head_tracker.stopped_reason}"
        if self.stage is SyncStage.STOPPED:
            return "following stopped: what is final here was replaced elsewhere"
        if self.stage is SyncStage.UNSTORED:
            return "blocks cannot be stored"
        if (unknown := self.unknown_fork) is not None:
            return unknown
        if (undecided := self._policy.not_ready_reason()) is not None:
            return undecided
        if self.stage is SyncStage.CATCHING_UP:
            return f"{self.lag} blocks behind"
        # A driven node does without upstreams, as long as it is not known to be behind.
        if not self._is_driven and (self.stage is SyncStage.CONNECTING or self._is_alone):
            return "too few upstreams can be followed"
        return None

    @property
    def _is_alone(self) -> bool:
        """Return True if no upstream can be followed, and none could for `ALONE_SECONDS`."""
        return self.lag is None and trio.current_time() - self._news > ALONE_SECONDS

    async def _watch(self) -> None:
        """Choose the head again each block time, and ask all upstreams once no head has come for long."""
        while True:
            seconds = self._block_time(self._chain)
            await trio.sleep(seconds)
            if not self._is_driven:
                await self._storage_retry.until_stored(self._head_tracker.choose)
            self._see()
            if trio.current_time() - self._news > max(SILENT_BLOCKS * seconds, MIN_SILENCE_SECONDS):
                self._news = trio.current_time()
                async with trio.open_nursery() as nursery:
                    for upstream in self.upstreams.usable:
                        nursery.start_soon(self._probe, upstream)

    async def _probe(self, upstream: Upstream) -> None:
        """Ask an upstream for its head; connect anew if it should have announced that head."""
        link = upstream.link
        if link is None:
            return
        try:
            head = await head_at(upstream, "latest", link)
        except UpstreamError:
            upstream.client.drop(link)
            return
        if head is not None and upstream.announce(head):
            self.announced(upstream, head)
            if upstream.announces_heads:
                logger.warning("%s did not announce its head %s", upstream, head)

    async def _mark(self) -> None:
        """Mark the safe and the finalized block each second, as the head moves on."""
        while True:
            await trio.sleep(1)
            if self._proved_finality is not None:
                await self._storage_retry.until_stored(self._proved_finality.follow)
                continue
            # At the head of a chain of many blocks a second the stage is hardly ever LIVE, but the node is
            # never far behind.
            is_near = self.stage is SyncStage.CATCHING_UP and not self._head_tracker.is_going_far
            if self.stage is SyncStage.LIVE or is_near:
                await self._storage_retry.until_stored(
                    lambda: self._finality.follow(self._chain.head, self.agree)
                )

    async def tell_status(self) -> dict[str, Any]:
        return self.status()

    def _kept(self) -> dict[str, Any]:
        """Return the first block and the window of a folder that has one, for `wsnode_status`."""
        with self._chain.snapshot() as view:
            if view.window is None:
                return {}
            seconds = self._chain.kind.window_seconds
            timed = {} if seconds is None else {"windowSeconds": seconds}
            return {"earliest": hex(view.earliest), "window": view.window, **timed}

    def _named(self) -> dict[str, str]:
        """Return the chain's name as a member of `wsnode_status`, none if it has no name."""
        spec = self._chain.spec
        network = network_of(spec.chain_id, spec.genesis_hash)
        return {} if network is None else {"name": network.name}

    def status(self) -> dict[str, Any]:
        """Return the state of following, and of each upstream."""
        trust = self._policy.trust(len(self.upstreams.all))
        chooses = "a consensus client chooses" if self._is_driven else trust
        return {
            "mode": "full" if self.light is None else "light",
            "state": self.stage.value,
            "chain": {"id": self._chain.spec.chain_id, **self._named(), "family": self._chain.spec.family},
            "trust": f"{'every block is executed' if self.light is None else self.light.trust}; {chooses}",
            **self._kept(),
            "head": self._chain.head.members(),
            "highest": None if self.highest is None else hex(self.highest),
            "lag": self.lag,
            "behind": self.behind,
            "reorganisations": self.reorganisations,
            **self._policy.members(),
            "upstreams": [described(upstream) for upstream in self.upstreams],
        }
