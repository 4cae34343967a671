"""Network that repeats a journal: its replica, its status and its metrics."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import trio

from wsnode.cluster.membership import ClusterMembership, process_name
from wsnode.cluster.replica.apply import EthereumReplicaChain
from wsnode.cluster.replica.following import Replica
from wsnode.cluster.replica.peer_nodes import PeerNodes
from wsnode.cluster.replica.tx_resender import TxResender, UnsentTransactions
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.pool.queries import PoolView
from wsnode.ethereum.storage.folder import MAKERS
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.node.config import ConfigurationError, NetworkConfig, ReplicaConfig
from wsnode.node.services.journal_client import opener, pool_opener
from wsnode.node.services.shared_state import figures_of as figures_of_pool
from wsnode.node.services.shared_state import mirroring
from wsnode.node.services.sync_events import SyncEvents
from wsnode.server.shared import MetricValue
from wsnode.sync.follow.sync_report import SyncStage


def status_of(replica: Replica, place: str, presence: ClusterMembership) -> dict[str, Any]:
    """Return the members of `wsnode_status` about the journal at `place`."""
    return {
        "journal": place,
        "reachable": replica.is_reachable,
        "writer": presence.has_writer,
        "behind": round(replica.replica_lag.late, 3),
        "position": None if replica.position is None else str(replica.position),
        "records": replica.repeated,
        "refused": replica.refused,
        **({} if replica.error is None else {"error": replica.error}),
    }


def figures_of(replica: Replica, presence: ClusterMembership) -> list[MetricValue]:
    """Return the metrics of a chain's replica."""
    replica_lag, stage = replica.replica_lag, replica.stage

    def valued(name: str, value: float) -> MetricValue:
        return MetricValue(f"wsnode_replica_{name}", value)

    figures = [
        valued("live", stage is SyncStage.LIVE),
        valued("stopped", stage is SyncStage.STOPPED),
        valued("unstored", stage is SyncStage.UNSTORED),
        valued("journal_reachable", replica.is_reachable),
        valued("behind_seconds", replica_lag.late),
        valued("records_total", replica.repeated),
        valued("refused_total", replica.refused),
        valued("reorganisations_total", replica.reorganisations),
    ]
    if (has_writer := presence.has_writer) is not None:
        figures.append(valued("writer", has_writer))
    if replica_lag.tip is not None and replica_lag.lag is not None:
        figures.append(valued("tip", replica_lag.tip))
        figures.append(valued("lag_blocks", replica_lag.lag))
    return figures


class ReplicaService:
    """Sync service of a network whose chain copies a journal: its background tasks, readiness, status and
    metrics.
    """

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        hub: Hub,
        pool: TransactionPool | None,
        config: ReplicaConfig,
        url: str | None,
    ) -> None:
        """Prepare to repeat the configured journal; other nodes find this one at `url`.

        Raises:
            ConfigurationError: The folder is light, forked or has a window, so no replica can hold its chain.
        """
        if chain.window is not None and not chain.is_light:
            raise ConfigurationError(
                f"{chain.folder.path}: {chain.kind} is no replica: replicas keep all blocks for one another"
            )
        if chain.spec.first_number or chain.is_light:
            raise ConfigurationError(
                f"{chain.folder.path}: a light or a forked chain has no replicas: its state is not executed"
            )
        open_journal = opener(chain, config.address)
        self.presence = ClusterMembership(chain, open_journal, process_name(), url)
        outbox = UnsentTransactions(pool or PoolView(), trio.current_time, hears=config.shared_pool)
        self.mirrored = None
        if pool is not None:
            pool.on_returned.append(outbox.doubted)
        if pool is not None and config.shared_pool:
            self.mirrored = mirroring(chain, pool, config, outbox)
        self.delivery = TxResender(chain.spec, outbox, self.presence, has_heard=self._has_heard)
        is_development = chain.folder.maker() in MAKERS
        self.replica = Replica(
            EthereumReplicaChain(chain, live, is_development=is_development),
            open_journal,
            max_lag=config.max_lag,
            bridge=PeerNodes(chain, live, self.presence).bridge,
        )
        self._chain = chain
        self._hub = hub
        self._place = str(config.address)
        self.replica.on_stage.append(self._tell)

    @property
    def following(self) -> "ReplicaService":
        return self

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        mirrored = [] if self.mirrored is None else [self.mirrored.run]
        return (self.replica.run, self.presence.run, self.delivery.run, *mirrored)

    @property
    def progress(self) -> SyncProgress | None:
        """Return first, present and highest block of the way to the journal's head, None at its end."""
        return self.replica.progress

    @property
    def peers(self) -> int:
        """Return the number of this chain's present nodes that advertise an address."""
        return len(self.presence.present.nodes)

    async def send(self, encoded: bytes) -> None:
        """Send a signed transaction to the node that writes the chain.

        Raises:
            SendFailedError: The node has not taken it, or is not known.
        """
        await self.delivery.send(encoded)

    def tell(self, news: SyncEvents) -> None:
        # Calls of other processes may wait for a block as soon as the journal has it, so each new height is
        # sent to these processes.
        self.replica.on_height.append(news.stands_anew)
        if self.mirrored is not None:
            self.mirrored.on_change.append(news.pooled)

    def not_ready_reason(self) -> str | None:
        return self.replica.not_ready_reason()

    def announced_height(self) -> int | None:
        return self.replica.replica_lag.tip

    def reload(self, network: NetworkConfig) -> None:
        """Repeat the journal that a new configuration names, even after a record was refused."""
        if network.replica is not None:
            self._place = str(network.replica.address)
            self.presence.open = open_journal = opener(self._chain, network.replica.address)
            if self.mirrored is not None:
                self.mirrored.open = pool_opener(self._chain, network.replica.address)
            self.replica.begin_again(open_journal)

    def _has_heard(self, epoch: int) -> bool:
        return self.mirrored is None or self.mirrored.has_heard(epoch)

    def _tell(self) -> None:
        if self.replica.stage in (SyncStage.CATCHING_UP, SyncStage.LIVE):
            self._hub.syncing.announce(self.replica.progress)

    async def tell_status(self) -> dict[str, Any]:
        replica = self.replica
        tip = replica.replica_lag.tip
        return {
            "mode": "replica",
            "state": replica.stage.value,
            "trust": "every block is executed; the journal's writer chooses",
            "head": self._chain.head.members(),
            "highest": None if tip is None else hex(tip),
            "lag": replica.replica_lag.lag,
            "reorganisations": replica.reorganisations,
            "upstreams": [],
            "replica": status_of(replica, self._place, self.presence),
        }

    def figures(self) -> list[MetricValue]:
        counts = msgspec.structs.asdict(self.delivery.counts)
        return [
            *figures_of(self.replica, self.presence),
            *(() if self.mirrored is None else figures_of_pool(self.mirrored)),
            *(
                MetricValue("wsnode_replica_sent_again_total", count, {"result": result})
                for result, count in counts.items()
            ),
        ]
