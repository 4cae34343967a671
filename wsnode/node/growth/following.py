"""A network that follows other nodes: its follower, and what the server asks of it."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.live import LiveTree
from wsnode.node.config import FollowConfig, NetworkConfig
from wsnode.node.growth.news import News
from wsnode.server.shared import Figure
from wsnode.sync.follow.follower import Follower
from wsnode.sync.follow.heard import HeardTransactions
from wsnode.sync.follow.report import Stage
from wsnode.sync.follow.upstream import Standing, Upstream
from wsnode.sync.progress import Step, rates
from wsnode.upstream.address import UpstreamAddress

LINE_SECONDS: Final = 5.0

logger = logging.getLogger("wsnode.follow")


class Pooled(Protocol):
    """What changes a pool as others' change."""

    on_change: list[Callable[[list[bytes], list[bytes]], object]]
    """Called with what the pool has taken, and the hashes of what it has dropped."""


class LoggedProgress:
    """Logs a line now and then while blocks are caught up with."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._last = clock()

    def advanced(self, step: Step) -> None:
        """Log a line unless the last one is recent."""
        now = self._clock()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            logger.info("block %d: %s", step.number, rates(step, now - self._start))


class FollowedNetwork:
    """What runs beside the server, and what it asks."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        hub: Hub,
        pool: TransactionPool | None,
        told: FollowConfig,
        *,
        is_driven: bool = False,
    ) -> None:
        heard = HeardTransactions(chain.spec, hub.pending.hear)
        if pool is not None:
            pool.on_added.append(heard.note)
        self.follower = Follower(
            chain,
            live,
            addresses(told),
            LoggedProgress(),
            heard,
            agree=told.agreeing,
            accept_reorg=told.accept_reorg,
            max_lag=told.max_lag,
            is_driven=is_driven,
            checkpoint=None if told.checkpoint is None else Hash32(bytes.fromhex(told.checkpoint[2:])),
        )
        self._chain = chain
        self._hub = hub
        self.mirrored: Pooled | None = None
        """What brings its pool to the contents of others', while another process writes its journal."""
        self.follower.on_stage.append(self._tell)

    @property
    def following(self) -> Follower:
        """Return what the network's methods ask."""
        return self.follower

    def hindrance(self) -> str | None:
        """Return why the network should not be asked now, None if nothing speaks against it."""
        return self.follower.hindrance()

    def announced_height(self) -> int | None:
        """Return how high the upstreams' heads are, None if too few can be asked."""
        return self.follower.announced_height()

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return what runs as long as the network is served."""
        return (self.follower.run,)

    async def send(self, encoded: bytes) -> None:
        """Return once a node has taken a signed transaction of another process of this node.

        Raises:
            NotSentError: None has.
        """
        # What they tell of it is no news to the other processes.
        self.follower.heard.note([PooledTransaction(self._chain.spec, encoded)])
        await self.follower.send(encoded)

    def tell(self, news: News) -> None:
        """Give the other processes of the node news from now on."""

        def tell_heard(heard: Sequence[PooledTransaction]) -> None:
            news.heard([transaction.encoded for transaction in heard])

        self.follower.heard.on_heard.append(tell_heard)
        # Calls wait for a block from the moment that it is announced.
        self.follower.on_height.append(news.stands_anew)
        if self.mirrored is not None:
            self.mirrored.on_change.append(news.pooled)

    def _tell(self) -> None:
        if self.follower.stage in (Stage.CATCHING_UP, Stage.LIVE):
            self._hub.syncing.announce(self.follower.progress)

    def reload(self, network: NetworkConfig) -> None:
        """Follow what a configuration names by now; whoever was quarantined is asked again."""
        if network.follow is not None:
            self.follower.follow(addresses(network.follow), network.follow.agreeing)

    def figures(self) -> list[Figure]:
        """Return the numbers of following for `/metrics`."""
        follower = self.follower
        stopped = follower.stage is Stage.STOPPED
        unstored = follower.stage is Stage.UNSTORED
        figures = [
            Figure("wsnode_upstreams_followed", "Upstreams that are followed now", follower.peers),
            Figure("wsnode_follow_live", "Whether the head is the upstreams'", follower.stage is Stage.LIVE),
            Figure("wsnode_follow_stopped", "Whether what is final here was replaced elsewhere", stopped),
            Figure("wsnode_follow_unstored", "Whether blocks cannot be stored now", unstored),
            Figure(
                "wsnode_reorganisations",
                "Changes that took blocks off the chain",
                follower.reorganisations,
                is_counter=True,
            ),
            Figure("wsnode_heard", "Pending transactions heard of", follower.heard.told, is_counter=True),
            Figure(
                "wsnode_heard_dropped",
                "Pending transactions that came too fast",
                follower.heard.dropped,
                is_counter=True,
            ),
        ]
        if self._chain.window is not None:
            with self._chain.snapshot() as view:
                kept = view.number - view.earliest + 1
            figures.append(Figure("wsnode_window_blocks", "Blocks that a folder with a window has", kept))
        if (lag := follower.lag) is not None:
            figures.append(Figure("wsnode_lag_blocks", "Blocks that the upstreams are ahead", lag))
        return figures + [figure for upstream in follower.upstreams for figure in _of(upstream)]


def _of(upstream: Upstream) -> list[Figure]:
    named, score = {"upstream": str(upstream)}, upstream.client.score
    figures = [
        Figure("wsnode_upstream_followed", "Whether it is followed now", upstream.is_fit, named),
        Figure(
            "wsnode_upstream_quarantined",
            "Whether it is quarantined",
            upstream.standing is Standing.QUARANTINED,
            named,
        ),
        Figure("wsnode_upstream_delay_seconds", "How late it announces", score.delay, named),
        Figure("wsnode_upstream_read_seconds", "What 19 of 20 answers take", score.p95, named),
        Figure("wsnode_upstream_reads", "Answers", score.reads, named, is_counter=True),
        Figure("wsnode_upstream_failures", "Questions without one", score.failures, named, is_counter=True),
    ]
    if upstream.announced is not None:
        figures.append(Figure("wsnode_upstream_head", "Its head", upstream.announced.number, named))
    return figures


def addresses(told: FollowConfig) -> list[UpstreamAddress]:
    """Return where the upstreams of a configuration are."""
    return [UpstreamAddress.parse(url) for url in told.upstreams]
