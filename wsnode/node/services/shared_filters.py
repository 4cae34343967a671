"""Network whose filters can be polled at any node of its journal."""

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.filter_store import RedisFilterStore
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.node.config import NetworkConfig
from wsnode.node.services.journal_client import opener
from wsnode.server.access.router import Network


def filters_at(chain: Chain, address: JournalAddress, limits: CallLimits) -> RedisFilterStore:
    """Return the store of filters at the journal of a chain."""
    return RedisFilterStore(opener(chain, address), limits.filter_seconds)


def polled_together(network: Network, chain: Chain, kept: RedisFilterStore) -> Network:
    """Return `network` with the task that keeps the connection to the store of its filters."""

    def reload(config: NetworkConfig) -> None:
        if network.reload is not None:
            network.reload(config)
        if config.filters_at is not None:
            kept.open = opener(chain, config.filters_at)

    return msgspec.structs.replace(network, background=[*network.background, kept.run], reload=reload)
