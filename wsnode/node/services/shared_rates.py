"""Network whose keys have one rate over all nodes of its journal."""

from collections.abc import Callable, Mapping

import msgspec

from wsnode.cluster.address import JournalAddress
from wsnode.cluster.shared_rates import SharedRates
from wsnode.ethereum.chain import Chain
from wsnode.node.config import NetworkConfig
from wsnode.node.services.journal_client import opener
from wsnode.server.access.rate_limit import KeyAccount
from wsnode.server.access.router import Network


def counted_together(
    network: Network, chain: Chain, accounts: Callable[[], Mapping[str, KeyAccount]], address: JournalAddress
) -> Network:
    """Return `network` with `accounts` counted over all nodes of the journal at an address."""
    rates = SharedRates(accounts, opener(chain, address))

    def reload(config: NetworkConfig) -> None:
        if network.reload is not None:
            network.reload(config)
        if config.rates_at is not None:
            rates.open = opener(chain, config.rates_at)

    return msgspec.structs.replace(network, background=[*network.background, rates.run], reload=reload)
