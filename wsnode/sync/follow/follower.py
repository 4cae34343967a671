"""A chain that is live because other nodes' are: all upstreams together, and how following goes."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.live import LiveTree
from wsnode.ethereum.tree.pruning import Pruning
from wsnode.sync.follow.advance import Advance
from wsnode.sync.follow.ancestors import Ancestors
from wsnode.sync.follow.attending import Attendant
from wsnode.sync.follow.blocks.fetching import head_at
from wsnode.sync.follow.catching_up import CatchingUp
from wsnode.sync.follow.heard import HeardTransactions
from wsnode.sync.follow.light.folder import LightFolder
from wsnode.sync.follow.light.window import REST_SECONDS
from wsnode.sync.follow.marks import Marking
from wsnode.sync.follow.outage import Outage
from wsnode.sync.follow.pace import Pace, block_seconds
from wsnode.sync.follow.report import Stage, described
from wsnode.sync.follow.sending import send_to_all
from wsnode.sync.follow.upstream import Upstream, Upstreams, named
from wsnode.sync.progress import ImportProgress
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import NotSentError, UpstreamError
from wsnode.upstream.link import Link
from wsnode.upstream.streams import Connect

MAX_LAG: Final = 2
SILENT_BLOCKS: Final = 3
"""Block times without a new head after which all upstreams are asked."""
LEAST_SILENCE_SECONDS: Final = 3.0
ALONE_SECONDS: Final = 15.0
"""How long a head counts as the newest while nobody can be asked."""
KEPT_FIRSTS: Final = 256

logger = logging.getLogger("wsnode.follow")


class Follower:
    """Follows `clients`, of which `agree` must have a block before it is the head."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        addresses: Sequence[UpstreamAddress],
        progress: ImportProgress,
        heard: HeardTransactions,
        *,
        agree: int = 1,
        accept_reorg: bool = False,
        max_lag: int = MAX_LAG,
        is_driven: bool = False,
        connect: Connect | None = None,
        pace: Pace = block_seconds,
        checkpoint: Hash32 | None = None,
    ) -> None:
        """A driven chain's head is chosen elsewhere; `connect` opens connections, by TCP unless given.

        A light folder begins at a `checkpoint`, at what is final by now unless given.
        """
        self._chain = chain
        self._connect = connect
        self._pace = pace
        self.upstreams = Upstreams(named([Client(each, connect=connect) for each in addresses]))
        self._max_lag = max_lag
        self._scopes: dict[Upstream, trio.CancelScope] = {}
        self.heard = heard
        self._nursery: trio.Nursery | None = None
        self._is_driven = is_driven
        self._outage = outage = Outage(self._see)
        light = LightFolder(chain, live, self.upstreams, outage, checkpoint) if chain.is_light else None
        self._pruning = None if chain.window is None or chain.is_light else Pruning(chain, live)
        receipts = None if light is None else light.receipts
        beginning = None if light is None else light.beginning
        self.light = light
        """What a light folder needs besides."""
        catching_up = CatchingUp(chain, live, self.upstreams, progress, self._floor, receipts)
        self._advance = Advance(chain, live, self.upstreams, catching_up, pace, agree, beginning, receipts)
        self._ancestors = Ancestors(chain, live, self.upstreams, catching_up, self._floor, outage)
        self._marking = Marking(chain, self.upstreams, self._advance.mark)
        self._advance.accepts_any = accept_reorg
        self.stage = Stage.CONNECTING
        self._starting = chain.head.number
        self._firsts: dict[Head, float] = {}
        """When each of the last heads was announced first."""
        self._height: int | None = None
        self._news = 0.0
        """When the last head was announced."""
        self.on_stage: list[Callable[[], None]] = []
        """Called when following has come to another stage."""
        self.on_height: list[Callable[[], None]] = []
        """Called when `announced_height` is another one."""

    @property
    def accepts_any(self) -> bool:
        """Return whether even what is final may be replaced."""
        return self._advance.accepts_any

    @property
    def agree(self) -> int:
        """Return how many upstreams must have a block before it is the head."""
        return self._advance.agree

    @property
    def reorganisations(self) -> int:
        """Return how often blocks have left the chain."""
        return self._advance.reorganisations

    @property
    def highest(self) -> int | None:
        """Return the height that enough upstreams say they have reached, None if too few can be asked."""
        return self.upstreams.highest(self.agree)

    def announced_height(self) -> int | None:
        """Return `highest` as it was at the last announcement: it is asked for at many calls."""
        return self._height

    @property
    def lag(self) -> int | None:
        """Return how many blocks the head is behind, None if it is not known."""
        highest = self.highest
        return None if highest is None else max(0, highest - self._chain.head.number)

    @property
    def progress(self) -> SyncProgress | None:
        """Return how far the way to the upstreams' head is gone, None at its end."""
        highest, head = self.highest, self._chain.head.number
        if self.stage in (Stage.LIVE, Stage.STOPPED) or highest is None or highest <= head:
            return None
        return SyncProgress(self._starting, head, highest)

    @property
    def peers(self) -> int:
        """Return how many upstreams are followed now."""
        return len(self.upstreams.fit)

    async def send(self, encoded: bytes) -> None:
        """Return once an upstream has taken a signed transaction.

        Raises:
            NotSentError: None has.
        """
        assert self._nursery is not None, "run is running"
        if self._is_driven:
            # Payloads are built here, so that it is enough to have it in the pool.
            self._nursery.start_soon(self._relay, encoded, self._nursery)
        else:
            await send_to_all(self.upstreams.fit, encoded, self._nursery)

    async def _relay(self, encoded: bytes, nursery: trio.Nursery) -> None:
        with suppress(NotSentError):
            await send_to_all(self.upstreams.fit, encoded, nursery)

    async def run(self) -> None:
        """Follow, for ever."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self.heard.run)
            for upstream in self.upstreams:
                nursery.start_soon(self._keep, upstream)
            nursery.start_soon(self._watch)
            nursery.start_soon(self._ancestors.run if self._is_driven else self._mark)
            if self.light is not None:
                nursery.start_soon(self.light.window.run)
            if self._pruning is not None:
                nursery.start_soon(self._prune, self._pruning)

    async def _prune(self, pruning: Pruning) -> None:
        while True:
            has_more = await self._outage.outlast(pruning.step)
            await trio.sleep(0 if has_more else REST_SECONDS)

    def want(self, block_hash: Hash32) -> trio.Event:
        """Have a block that a consensus client builds on fetched, and what is unknown below it.

        The event says when that is over.
        """
        return self._ancestors.want(block_hash)

    def _floor(self) -> int:
        return self._advance.floor

    async def _keep(self, upstream: Upstream) -> None:
        with trio.CancelScope() as self._scopes[upstream]:
            async with trio.open_nursery() as nursery:
                await nursery.start(upstream.client.run)
                await Attendant(self._chain, upstream, self, self._pace).run()

    def follow(self, addresses: Sequence[UpstreamAddress], agree: int) -> None:
        """Follow these upstreams from now on; what was quarantined is asked again."""
        assert self._nursery is not None, "run is running"
        for upstream, scope in list(self._scopes.items()):
            if upstream.client.address not in addresses or not upstream.is_fit:
                scope.cancel()
                del self._scopes[upstream]
        kept = {upstream.client.address: upstream for upstream in self._scopes}
        clients = {
            address: kept[address].client if address in kept else Client(address, connect=self._connect)
            for address in addresses
        }
        made = {upstream.client.address: upstream for upstream in named(list(clients.values()))}
        self.upstreams.all = [kept.get(address, made[address]) for address in addresses]
        self._advance.agree = agree
        for upstream in self.upstreams:
            if upstream.client.address not in kept:
                self._nursery.start_soon(self._keep, upstream)
        self.changed()

    def announced(self, upstream: Upstream, head: Head) -> None:
        """Take note that an upstream has another head."""
        now = self._news = trio.current_time()
        upstream.client.score.announced(now - self._firsts.setdefault(head, now))
        while len(self._firsts) > KEPT_FIRSTS:
            del self._firsts[next(iter(self._firsts))]
        self._see()

    async def take(self, upstream: Upstream, link: Link) -> None:
        """Fetch and judge what an upstream has announced last, and move the head.

        Raises:
            Unfit: Something about its blocks is wrong.
            UpstreamError: They cannot be had.
        """
        if not self._is_driven:
            await self._outage.outlast(partial(self._advance.take, upstream, link))
        self._see()

    async def greeted(self, upstream: Upstream, link: Link) -> None:
        """Take note that an upstream can be listened to."""
        await self.heard.listen(upstream, link)

    def changed(self) -> None:
        """Take note that an upstream came or went: others may wait for one that agrees with them."""
        for upstream in self.upstreams.fit:
            upstream.woken.set()
        self._see()

    def _see(self) -> None:
        """Say where following stands by now."""
        self._take_height(self.highest)
        before, self.stage = self.stage, self._stage()
        if before is self.stage:
            return
        if self.stage is Stage.STOPPED:
            logger.error(
                "following stopped: the upstreams' chain leaves ours below what is final here; "
                "start with --accept-reorg to follow it all the same"
            )
        elif self.stage is not Stage.UNSTORED:
            logger.info("%s, the head is %s", self.stage.value, self._chain.head)
        if self.stage is Stage.LIVE:
            self._advance.accepts_any = False
        for listener in self.on_stage:
            listener()

    def _take_height(self, height: int | None) -> None:
        if height != self._height:
            self._height = height
            for listener in self.on_height:
                listener()

    def _stage(self) -> Stage:
        if self._outage.is_on:
            return Stage.UNSTORED
        lag = self.lag
        if lag is None:
            forked = sum(upstream.is_forked for upstream in self.upstreams)
            if forked >= self.agree and not self._is_driven:
                return Stage.STOPPED
            # Clients lose nothing when the upstreams are gone for a moment.
            return self.stage if self.stage is Stage.LIVE else Stage.CONNECTING
        if lag == 0 or (self.stage is Stage.LIVE and lag <= self._max_lag):
            return Stage.LIVE
        if self.stage is not Stage.CATCHING_UP:
            self._starting = self._chain.head.number
        return Stage.CATCHING_UP

    def hindrance(self) -> str | None:
        """Return why this node should not be asked now, None if it is at the upstreams' head."""
        if self.stage is Stage.STOPPED:
            return "following stopped: what is final here was replaced elsewhere"
        if self.stage is Stage.UNSTORED:
            return "blocks cannot be stored"
        if self.stage is Stage.CATCHING_UP:
            return f"{self.lag} blocks behind"
        # What is driven does without upstreams, as long as it is not known to be behind.
        if not self._is_driven and (self.stage is Stage.CONNECTING or self._is_alone):
            return "too few upstreams can be followed"
        return None

    @property
    def _is_alone(self) -> bool:
        """Return whether nobody can be followed, and that for long."""
        return self.lag is None and trio.current_time() - self._news > ALONE_SECONDS

    async def _watch(self) -> None:
        """Ask all upstreams once no head has come for long, and look again at a lower head that stays."""
        while True:
            seconds = self._pace(self._chain)
            await trio.sleep(seconds)
            if not self._is_driven:
                await self._outage.outlast(self._advance.choose)
            self._see()
            if trio.current_time() - self._news > max(SILENT_BLOCKS * seconds, LEAST_SILENCE_SECONDS):
                self._news = trio.current_time()
                async with trio.open_nursery() as nursery:
                    for upstream in self.upstreams.fit:
                        nursery.start_soon(self._probe, upstream)

    async def _probe(self, upstream: Upstream) -> None:
        """Ask an upstream for its head; connect anew to one that should have announced it."""
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
            if upstream.is_told:
                logger.warning("%s did not tell of its head %s", upstream, head)

    async def _mark(self) -> None:
        """Mark what is safe and what is final, as the head moves on."""
        while True:
            await trio.sleep(1)
            # Behind a chain of many blocks a second it is hardly ever live, and never far.
            is_near = self.stage is Stage.CATCHING_UP and not self._advance.is_going_far
            if self.stage is Stage.LIVE or is_near:
                await self._outage.outlast(lambda: self._marking.follow(self._chain.head, self.agree))

    async def tell_status(self) -> dict[str, Any]:
        """Return what `wsnode_status` tells."""
        return self.status()

    def _kept(self) -> dict[str, Any]:
        """Return what is kept, for a folder that has a window."""
        with self._chain.snapshot() as view:
            return {} if view.window is None else {"earliest": hex(view.earliest), "window": view.window}

    def status(self) -> dict[str, Any]:
        """Return the state of following, and of each upstream."""
        lag = self.lag
        choose = f"{self.agree} of {len(self.upstreams.all)} upstreams choose"
        chooses = "a consensus client chooses" if self._is_driven else choose
        return {
            "mode": "full" if self.light is None else "light",
            "state": self.stage.value,
            "trust": f"{'every block is executed' if self.light is None else self.light.trust}; {chooses}",
            **self._kept(),
            "head": self._chain.head.members(),
            "highest": None if self.highest is None else hex(self.highest),
            "lag": lag,
            "reorganisations": self.reorganisations,
            "upstreams": [described(upstream) for upstream in self.upstreams],
        }
