"""Network that follows other nodes: its follower, its status and its metrics."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.node.config import ConfigurationError, FollowConfig, NetworkConfig
from wsnode.node.services.sync_events import SyncEvents
from wsnode.server.shared import MetricValue
from wsnode.sync.follow.beacon.anchor import AnchorSettings, HeadAnchor
from wsnode.sync.follow.beacon.identity import GENESIS_ROOT, GENESIS_TIME, Config, chain_of, decode_config
from wsnode.sync.follow.beacon.networks import CHAINS, BeaconChain
from wsnode.sync.follow.follower import Follower
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.follow.upstream import PeerState, Upstream
from wsnode.sync.follow.upstream_txs import UpstreamTransactions
from wsnode.sync.progress import ProgressStep, rates
from wsnode.untrusted.decoding import MalformedError
from wsnode.untrusted.files import read_file
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import SendFailedError

if TYPE_CHECKING:
    # Only a node with a journal needs it.
    from wsnode.cluster.pool.mirror_task import MirrorTask

LINE_SECONDS: Final = 5.0
MAX_CONFIG_BYTES: Final = 1 << 20
ETHEREUM_FAMILY: Final = "ethereum"

logger = logging.getLogger("wsnode.follow")


class LoggedProgress:
    """Progress of range sync, which fetches blocks by number over a long distance, as lines of the log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._last = clock()

    def advanced(self, step: ProgressStep) -> None:
        """Log a line unless the last one is less than `LINE_SECONDS` old."""
        now = self._clock()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            logger.info("block %d: %s", step.number, rates(step, now - self._start))


class LocalSync:
    """Sync service of a network that follows upstream nodes: its background task, readiness, status and
    metrics.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        hub: Hub,
        pool: TransactionPool | None,
        follow_config: FollowConfig,
        *,
        is_driven: bool = False,
    ) -> None:
        heard = UpstreamTransactions(chain.spec, hub.pending.hear)
        if pool is not None:
            pool.on_added.append(heard.note)
        self.follower = Follower(
            chain,
            live,
            addresses(follow_config),
            LoggedProgress(),
            heard,
            agree=agreeing(follow_config),
            accept_finalized_reorg=follow_config.accept_finalized_reorg,
            max_lag=follow_config.max_lag,
            is_driven=is_driven,
            checkpoint=None if follow_config.beacon else checkpoint_of(follow_config),
            beacon=anchor_settings(follow_config, chain.spec),
        )
        self._chain = chain
        self._hub = hub
        self.mirrored: MirrorTask | None = None
        """Task that copies the writer's pool while another process writes the journal, or None."""
        self.follower.on_stage.append(self._tell)

    @property
    def following(self) -> Follower:
        return self.follower

    def not_ready_reason(self) -> str | None:
        return self.follower.not_ready_reason()

    def announced_height(self) -> int | None:
        """Return the number of the upstreams' highest head, None if too few can be asked."""
        return self.follower.announced_height()

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self.follower.run,)

    async def send(self, encoded: bytes) -> None:
        """Send a signed transaction of another process of this node to the upstreams.

        Raises:
            SendFailedError: No upstream has taken it, or it is invalid.
        """
        try:
            transaction = PooledTransaction(self._chain.spec, encoded)
        except InvalidTransactionError as error:
            raise SendFailedError(str(error)) from None
        # The transaction must not be announced as new to the other processes when the upstreams announce it.
        self.follower.heard.note([transaction])
        await self.follower.send(encoded)

    def tell(self, news: SyncEvents) -> None:
        def tell_heard(heard: Sequence[PooledTransaction]) -> None:
            news.heard([transaction.encoded for transaction in heard])

        self.follower.heard.on_heard.append(tell_heard)
        # Calls of other processes may wait for a block as soon as it is announced, so each new height is sent
        # to these processes.
        self.follower.on_height.append(news.stands_anew)
        if self.mirrored is not None:
            self.mirrored.on_change.append(news.pooled)

    def _tell(self) -> None:
        if self.follower.stage in (SyncStage.CATCHING_UP, SyncStage.LIVE):
            self._hub.syncing.announce(self.follower.progress)

    def reload(self, network: NetworkConfig) -> None:
        """Follow the upstreams of a new configuration; quarantined ones are asked again."""
        if network.follow is not None:
            beacons = [UpstreamAddress.parse(url) for url in network.follow.beacon]
            self.follower.follow(addresses(network.follow), agreeing(network.follow), beacons)

    def figures(self) -> list[MetricValue]:
        follower = self.follower
        stopped = follower.stage is SyncStage.STOPPED
        unstored = follower.stage is SyncStage.UNSTORED
        figures = [
            MetricValue("wsnode_upstreams_followed", follower.peers),
            MetricValue("wsnode_sync_live", follower.stage is SyncStage.LIVE),
            MetricValue("wsnode_follow_stopped", stopped),
            MetricValue("wsnode_storage_failing", unstored),
            MetricValue("wsnode_follow_unknown_fork", follower.unknown_fork is not None),
            MetricValue("wsnode_reorganisations_total", follower.reorganisations),
            MetricValue("wsnode_upstream_transactions_total", follower.heard.announced),
            MetricValue("wsnode_heard_dropped_total", follower.heard.dropped),
        ]
        if self._chain.window is not None:
            with self._chain.snapshot() as view:
                kept = view.number - view.earliest + 1
            figures.append(MetricValue("wsnode_window_blocks", kept))
        if (lag := follower.lag) is not None:
            figures.append(MetricValue("wsnode_lag_blocks", lag))
        if follower.anchor is not None:
            figures += anchor_figures(follower.anchor)
        return figures + [figure for upstream in follower.upstreams for figure in upstream_figures(upstream)]


def upstream_figures(upstream: Upstream, prefix: str = "wsnode_upstream") -> list[MetricValue]:
    """Return the metrics of an upstream; `prefix` is the beginning of their names."""
    named, score = {"upstream": str(upstream)}, upstream.client.score
    figures = [
        MetricValue(f"{prefix}_followed", upstream.is_usable, named),
        MetricValue(f"{prefix}_quarantined", upstream.standing is PeerState.QUARANTINED, named),
        MetricValue(f"{prefix}_delay_seconds", score.delay, named),
        MetricValue(f"{prefix}_read_seconds", score.p95, named),
        MetricValue(f"{prefix}_reads_total", score.reads, named),
        MetricValue(f"{prefix}_failures_total", score.failures, named),
    ]
    if upstream.announced is not None:
        figures.append(MetricValue(f"{prefix}_head", upstream.announced.number, named))
    return figures


def anchor_figures(anchor: HeadAnchor) -> list[MetricValue]:
    """Return the metrics of the head's proofs."""
    figures: list[MetricValue] = []
    for node in anchor.nodes:
        named = {"beacon": str(node)}
        figures.append(MetricValue("wsnode_beacon_url_followed", node.is_usable, named))
        figures.append(MetricValue("wsnode_beacon_url_failures_total", node.failures, named))
        if node.attested_slot is not None:
            figures.append(MetricValue("wsnode_beacon_url_slot", node.attested_slot, named))
    if (prover := anchor.prover) is None:
        return figures
    figures += [
        MetricValue("wsnode_beacon_clock_slot", prover.clock_slot),
        MetricValue("wsnode_beacon_verify_seconds", prover.verify_seconds),
        MetricValue("wsnode_beacon_equivocations_total", prover.equivocations),
        *(
            MetricValue("wsnode_beacon_refused_total", count, {"rule": rule})
            for rule, count in prover.refused.items()
        ),
    ]
    if (client := prover.client) is not None:
        figures += [
            MetricValue("wsnode_beacon_proved_slot", client.optimistic.slot),
            MetricValue("wsnode_beacon_finalized_slot", client.finalized.slot),
            MetricValue("wsnode_beacon_participation", client.signers),
        ]
    return figures


def addresses(follow_config: FollowConfig) -> list[UpstreamAddress]:
    """Return the addresses of the configured upstreams."""
    return [UpstreamAddress.parse(url) for url in follow_config.upstreams]


def agreeing(follow_config: FollowConfig) -> int:
    """Return the number of upstreams that must have a block; one is enough for a proved block."""
    return 1 if follow_config.beacon and follow_config.head != "announced" else follow_config.agreeing


def checkpoint_of(follow_config: FollowConfig) -> Hash32 | None:
    """Return the configured checkpoint, a block hash or with `beacon` a block root; None if absent."""
    return None if follow_config.checkpoint is None else Hash32(bytes.fromhex(follow_config.checkpoint[2:]))


def anchor_settings(follow_config: FollowConfig, spec: ChainSpec) -> AnchorSettings | None:
    """Return the settings for proofs of the head, None without a beacon node.

    Raises:
        ConfigurationError: The beacon chain's configuration cannot be read, or the chain has no beacon chain.
    """
    if not follow_config.beacon:
        return None
    if spec.family != ETHEREUM_FAMILY:
        raise ConfigurationError(
            f"beacon: the head of a chain of the family {spec.family} is its sequencer's: leave beacon out"
        )
    if follow_config.agree is not None and follow_config.head != "announced":
        logger.warning(
            "agree is ignored, since one upstream is enough for the proved head: remove agree (--agree), or "
            "set head to announced"
        )
    config = _config_of(follow_config.beacon_config)
    return AnchorSettings(
        addresses=[UpstreamAddress.parse(url) for url in follow_config.beacon],
        checkpoint=checkpoint_of(follow_config),
        serves_announced=follow_config.head == "announced",
        beacon_chain=_beacon_chain(config, spec),
        config=config,
        accepts_old=follow_config.old_checkpoint,
    )


def _config_of(config_file: str | None) -> Config:
    """Return the settings in a beacon chain's configuration file, an empty dictionary without a file.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return {} if config_file is None else decode_config(read_file(Path(config_file), MAX_CONFIG_BYTES))
    except (OSError, MalformedError) as error:
        raise ConfigurationError(f"beacon_config: {config_file}: {error}") from None


def _beacon_chain(config: Config, spec: ChainSpec) -> BeaconChain | None:
    """Return the beacon chain of an execution chain; None if beacon nodes report it."""
    if not config:
        return CHAINS.get(spec.chain_id)
    if not {GENESIS_ROOT, GENESIS_TIME} <= config.keys():
        return None
    try:
        return chain_of(config)
    except MalformedError as error:
        raise ConfigurationError(f"beacon_config: {error}") from None
