"""A network whose keys have one rate on all nodes of its journal."""

from collections.abc import Callable, Mapping

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.sharing import SharedRates
from wsnode.ethereum.chain import Chain
from wsnode.node.config import NetworkConfig
from wsnode.node.growth.journals import opener
from wsnode.server.access.directory import Network
from wsnode.server.access.uses import Account


def counted_together(
    network: Network, chain: Chain, accounts: Callable[[], Mapping[str, Account]], address: JournalAddress
) -> Network:
    """Return a network whose `accounts` are one with those of all nodes of the journal at an address."""
    rates = SharedRates(accounts, opener(chain, address))

    def reload(told: NetworkConfig) -> None:
        if network.reload is not None:
            network.reload(told)
        if told.rates_at is not None:
            rates.open = opener(chain, told.rates_at)

    return msgspec.structs.replace(network, background=[*network.background, rates.run], reload=reload)
