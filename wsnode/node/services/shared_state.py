"""Rates of keys, filters and pool of a network, shared with all nodes of its journal."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.filter_store import RedisFilterStore
from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.mirror import Mirror, NullObserver, WriterPoolObserver
from wsnode.cluster.pool.mirror_task import MirrorTask
from wsnode.cluster.pool.publisher import PoolPublisher
from wsnode.cluster.publisher import JournalPublisher
from wsnode.cluster.shared_rates import SharedRates
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.node.config import JournalConfig, NetworkConfig, ReplicaConfig
from wsnode.node.services.journal_client import opener, pool_opener
from wsnode.server.access.rate_limit import KeyAccount
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue


def filters_at(chain: Chain, address: JournalAddress, limits: CallLimits) -> RedisFilterStore:
    """Return the store of filters at the journal of a chain."""
    return RedisFilterStore(opener(chain, address), limits.filter_seconds)


def polled_together(network: Network, chain: Chain, kept: RedisFilterStore) -> Network:
    """Return `network` with the task that keeps the connection to the store of its filters."""

    def reconnect(config: NetworkConfig) -> None:
        if config.filters_at is not None:
            kept.open = opener(chain, config.filters_at)

    return _with_task(network, kept.run, reconnect)


def counted_together(
    network: Network, chain: Chain, accounts: Callable[[], Mapping[str, KeyAccount]], address: JournalAddress
) -> Network:
    """Return `network` with `accounts` counted over all nodes of the journal at an address."""
    rates = SharedRates(accounts, opener(chain, address))

    def reconnect(config: NetworkConfig) -> None:
        if config.rates_at is not None:
            rates.open = opener(chain, config.rates_at)

    return _with_task(network, rates.run, reconnect)


def _with_task(
    network: Network, run: Callable[[], Awaitable[None]], reconnect: Callable[[NetworkConfig], None]
) -> Network:
    """Return `network` with a background task; `reconnect` takes its address from settings read again."""

    def reload(config: NetworkConfig) -> None:
        if network.reload is not None:
            network.reload(config)
        reconnect(config)

    return msgspec.structs.replace(network, background=[*network.background, run], reload=reload)


def mirroring(
    chain: Chain,
    pool: TransactionPool,
    config: ReplicaConfig,
    hearer: WriterPoolObserver,
) -> MirrorTask:
    """Return the task that copies the contents of the writer's pool into `pool`."""
    return MirrorTask(Mirror(pool, hearer), lambda: chain.head, pool_opener(chain, config.address))


def standby(
    chain: Chain, pool: TransactionPool, config: JournalConfig, publisher: JournalPublisher
) -> MirrorTask:
    """Return a task that copies the writer's pool while another process writes the journal."""
    report = publisher.report
    return MirrorTask(
        Mirror(pool, NullObserver()),
        lambda: chain.head,
        pool_opener(chain, config.address),
        is_reader=lambda: not report.is_leading,
        is_own=lambda epoch: epoch == report.epoch,
    )


def pooled_together(
    network: Network,
    chain: Chain,
    pool: TransactionPool,
    config: JournalConfig,
    publisher: JournalPublisher,
    mirrored: MirrorTask | None,
) -> Network:
    """Return `network` with a task that publishes its pool while this process writes the journal.

    `mirrored` copies the pool of another writer at other times.
    """

    def lease() -> Lease | None:
        report = publisher.report
        return Lease(publisher.name, report.epoch) if report.is_leading else None

    said = PoolPublisher(pool, lease, pool_opener(chain, config.address))
    runs = [said.run] if mirrored is None else [said.run, mirrored.run]
    return msgspec.structs.replace(
        network,
        background=[*network.background, *runs],
        figures=lambda: [*network.figures(), *_figures(publisher, said, mirrored)],
    )


def _figures(
    publisher: JournalPublisher, said: PoolPublisher, mirrored: MirrorTask | None
) -> list[MetricValue]:
    if publisher.report.is_leading:
        return _standing(said.listed, said.left_out)
    return [] if mirrored is None else figures_of(mirrored)


def figures_of(mirrored: MirrorTask) -> list[MetricValue]:
    """Return the metrics of a pool that copies the writer's."""
    mirror, counts = mirrored.mirror, msgspec.structs.asdict(mirrored.mirror.counts)
    return [
        *_standing(mirror.listed, mirror.lacking),
        MetricValue("wsnode_shared_pool_reachable", mirrored.is_reachable),
        *(
            MetricValue("wsnode_shared_pool_total", count, {"result": result})
            for result, count in counts.items()
        ),
    ]


def _standing(listed: int, lacking: int) -> list[MetricValue]:
    return [
        MetricValue("wsnode_shared_pool_listed", listed),
        MetricValue("wsnode_shared_pool_lacking", lacking),
    ]
