"""The pool of a network as one with those of all nodes of its journal."""

import msgspec

from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.mirror import Deaf, Hearer, Mirror
from wsnode.cluster.pool.mirroring import Mirroring
from wsnode.cluster.pool.publishing import PoolPublisher
from wsnode.cluster.publisher import Publisher
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.node.config import JournalConfig, ReplicaConfig
from wsnode.node.growth.journals import pool_opener
from wsnode.server.access.directory import Network
from wsnode.server.shared import Figure


def mirroring(
    chain: Chain,
    pool: TransactionPool,
    told: ReplicaConfig,
    hearer: Hearer,
) -> Mirroring:
    """Return what brings a pool to the contents of the writer's."""
    return Mirroring(Mirror(pool, hearer), lambda: chain.head, pool_opener(chain, told.address))


def standby(chain: Chain, pool: TransactionPool, told: JournalConfig, publisher: Publisher) -> Mirroring:
    """Return what does so while another process writes the journal, and this one stands by."""
    report = publisher.report
    return Mirroring(
        Mirror(pool, Deaf()),
        lambda: chain.head,
        pool_opener(chain, told.address),
        is_reader=lambda: not report.is_leading,
        is_own=lambda epoch: epoch == report.epoch,
    )


def pooled_together(
    network: Network,
    chain: Chain,
    pool: TransactionPool,
    told: JournalConfig,
    publisher: Publisher,
    mirrored: Mirroring | None,
) -> Network:
    """Return a network that says what its pool has while it writes; `mirrored` takes what others have."""

    def lease() -> Lease | None:
        report = publisher.report
        return Lease(publisher.name, report.epoch) if report.is_leading else None

    said = PoolPublisher(pool, lease, pool_opener(chain, told.address))
    runs = [said.run] if mirrored is None else [said.run, mirrored.run]
    return msgspec.structs.replace(
        network,
        background=[*network.background, *runs],
        figures=lambda: [*network.figures(), *_figures(publisher, said, mirrored)],
    )


def _figures(publisher: Publisher, said: PoolPublisher, mirrored: Mirroring | None) -> list[Figure]:
    if publisher.report.is_leading:
        return _standing(said.listed, said.left_out)
    return [] if mirrored is None else figures_of(mirrored)


def figures_of(mirrored: Mirroring) -> list[Figure]:
    """Return the numbers of a pool that takes what the writer's has."""
    mirror, counts = mirrored.mirror, msgspec.structs.asdict(mirrored.mirror.counts)
    return [
        *_standing(mirror.listed, mirror.lacking),
        Figure("wsnode_shared_pool_reachable", "Whether the journal answers", mirrored.is_reachable),
        *(
            Figure(
                "wsnode_shared_pool",
                "Transactions that the writer has, or has dropped",
                count,
                {"result": result},
                is_counter=True,
            )
            for result, count in counts.items()
        ),
    ]


def _standing(listed: int, lacking: int) -> list[Figure]:
    return [
        Figure("wsnode_shared_pool_listed", "Pending transactions that all nodes are to have", listed),
        Figure(
            "wsnode_shared_pool_lacking",
            "Those of the writer's that are not among them, or that another node has not",
            lacking,
        ),
    ]
