"""A network that repeats a journal: its replica, and what the server asks of it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import trio

from wsnode.cluster.presence import Presence, process_name
from wsnode.cluster.replica.delivery import Delivery
from wsnode.cluster.replica.ethereum import EthereumCopy
from wsnode.cluster.replica.following import Replica
from wsnode.cluster.replica.outbox import Outbox
from wsnode.cluster.replica.peers import Peers
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.pool.reading import PoolContents
from wsnode.ethereum.storage.folder import MAKERS
from wsnode.ethereum.tree.live import LiveTree
from wsnode.node.config import ConfigurationError, NetworkConfig, ReplicaConfig
from wsnode.node.growth.journals import opener, pool_opener
from wsnode.node.growth.news import News
from wsnode.node.growth.pooling import figures_of as figures_of_pool
from wsnode.node.growth.pooling import mirroring
from wsnode.node.growth.replica_report import figures_of, status_of
from wsnode.server.shared import Figure
from wsnode.sync.follow.report import Stage

if TYPE_CHECKING:
    # Few networks have an alt chain, and a node starts much sooner without its modules.
    from wsnode.node.growth.replicating_alt import ReplicatedAlt


class ReplicatedNetwork:
    """What runs beside the server, and what it asks."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        hub: Hub,
        pool: TransactionPool | None,
        told: ReplicaConfig,
        url: str | None,
        alt: "ReplicatedAlt | None" = None,
    ) -> None:
        """Other nodes find this one at `url`; `alt` repeats the network's other chain.

        Raises:
            ConfigurationError: Nobody can repeat this chain.
        """
        if chain.window is not None and not chain.is_light:
            raise ConfigurationError(
                f"{chain.folder.path}: {chain.kind} is no replica: replicas keep all blocks for one another"
            )
        if chain.spec.first_number or chain.is_light:
            raise ConfigurationError(
                f"{chain.folder.path}: a light or a forked chain has no replicas: its state is not executed"
            )
        open_journal = opener(chain, told.address)
        self.presence = Presence(chain, open_journal, process_name(), url)
        outbox = Outbox(pool or PoolContents(), trio.current_time, hears=told.shared_pool)
        self.mirrored = None
        if pool is not None:
            pool.on_returned.append(outbox.doubted)
        if pool is not None and told.shared_pool:
            self.mirrored = mirroring(chain, pool, told, outbox)
        self.delivery = Delivery(chain.spec, outbox, self.presence, has_heard=self._has_heard)
        is_development = chain.folder.maker() in MAKERS
        self.replica = Replica(
            EthereumCopy(chain, live, is_development=is_development),
            open_journal,
            max_lag=told.max_lag,
            bridge=Peers(chain, live, self.presence).bridge,
        )
        self._chain = chain
        self._hub = hub
        self._alt = alt
        self._place = str(told.address)
        self.replica.on_stage.append(self._tell)

    @property
    def following(self) -> "ReplicatedNetwork":
        """Return what the network's methods ask."""
        return self

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return what runs as long as the network is served."""
        mirrored = [] if self.mirrored is None else [self.mirrored.run]
        beside = () if self._alt is None else self._alt.background
        return (self.replica.run, self.presence.run, self.delivery.run, *mirrored, *beside)

    @property
    def progress(self) -> SyncProgress | None:
        """Return how far the way to the journal's head is gone, None at its end."""
        return self.replica.progress

    @property
    def peers(self) -> int:
        """Return how many nodes of this chain are there, of those that say where they are."""
        return len(self.presence.present.nodes)

    async def send(self, encoded: bytes) -> None:
        """Return once the node that writes the chain has taken a signed transaction.

        Raises:
            NotSentError: It has not, or is not known.
        """
        await self.delivery.send(encoded)

    def tell(self, news: News) -> None:
        """Give the other processes of the node news from now on."""
        # Calls wait for a block from the moment that the journal has it.
        self.replica.on_height.append(news.stands_anew)
        if self.mirrored is not None:
            self.mirrored.on_change.append(news.pooled)

    def hindrance(self) -> str | None:
        """Return why the network should not be asked now, None if it is at the journal's head."""
        found = self.replica.hindrance()
        return self._alt.hindrance() if found is None and self._alt is not None else found

    def announced_height(self) -> int | None:
        """Return the number of the journal's head, None before that is known."""
        return self.replica.gauge.tip

    def reload(self, network: NetworkConfig) -> None:
        """Follow the journal that a configuration names by now, even after a record was refused."""
        if network.replica is not None:
            self._place = str(network.replica.address)
            self.presence.open = open_journal = opener(self._chain, network.replica.address)
            if self.mirrored is not None:
                self.mirrored.open = pool_opener(self._chain, network.replica.address)
            self.replica.begin_again(open_journal)
        if self._alt is not None:
            self._alt.reload(network)

    def _has_heard(self, epoch: int) -> bool:
        return self.mirrored is None or self.mirrored.has_heard(epoch)

    def _tell(self) -> None:
        if self.replica.stage in (Stage.CATCHING_UP, Stage.LIVE):
            self._hub.syncing.announce(self.replica.progress)

    async def tell_status(self) -> dict[str, Any]:
        """Return what `wsnode_status` tells."""
        replica = self.replica
        tip = replica.gauge.tip
        return {
            "mode": "replica",
            "state": replica.stage.value,
            "trust": "every block is executed; the journal's writer chooses",
            "head": self._chain.head.members(),
            "highest": None if tip is None else hex(tip),
            "lag": replica.gauge.lag,
            "reorganisations": replica.reorganisations,
            "upstreams": [],
            "replica": {
                **status_of(replica, self._place, self.presence),
                **({} if self._alt is None else {"alt": self._alt.status()}),
            },
        }

    def figures(self) -> list[Figure]:
        """Return the numbers of the replica for `/metrics`."""
        counts = msgspec.structs.asdict(self.delivery.counts)
        return [
            *figures_of(self.replica, self.presence, "eth"),
            *(() if self._alt is None else self._alt.figures()),
            *(() if self.mirrored is None else figures_of_pool(self.mirrored)),
            *(
                Figure(
                    "wsnode_replica_sent_again",
                    "Pending transactions sent again to a process that writes",
                    count,
                    {"result": result},
                    is_counter=True,
                )
                for result, count in counts.items()
            ),
        ]
