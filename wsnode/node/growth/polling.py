"""A network whose filters are polled at any node of its journal."""

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.polling import KeptFilters
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.node.config import NetworkConfig
from wsnode.node.growth.journals import opener
from wsnode.server.access.directory import Network


def filters_at(chain: Chain, address: JournalAddress, limits: CallLimits) -> KeptFilters:
    """Return what keeps filters at the journal of a chain."""
    return KeptFilters(opener(chain, address), limits.filter_seconds)


def polled_together(network: Network, chain: Chain, kept: KeptFilters) -> Network:
    """Return a network that keeps the connection to where its filters are."""

    def reload(told: NetworkConfig) -> None:
        if network.reload is not None:
            network.reload(told)
        if told.filters_at is not None:
            kept.open = opener(chain, told.filters_at)

    return msgspec.structs.replace(network, background=[*network.background, kept.run], reload=reload)
