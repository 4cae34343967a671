"""A network from its configuration: its chains are opened, and what it is made of is put together."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.logs.filter_table import FilterTable
from wsnode.ethereum.rpc.transactions.sending import Relay
from wsnode.ethereum.tree.live import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.node.chains import open_chains
from wsnode.node.config import Config, ConfigurationError, NetworkConfig, advertised
from wsnode.node.networks import (
    BothChains,
    Grow,
    Growth,
    Opened,
    alt_network,
    network_of,
    pool_beside,
    with_partner,
)
from wsnode.node.processes import Alone, Followed, FollowedHere, Processes
from wsnode.server.access.directory import Network
from wsnode.server.access.keys import FILE_NAME, KeyFile, KeyFileRing

if TYPE_CHECKING:
    # What few networks have is imported when one does: a node starts much sooner without it.
    from wsnode.cluster.polling import KeptFilters
    from wsnode.cluster.pool.mirroring import Mirroring
    from wsnode.cluster.publisher import Publisher
    from wsnode.node.growth.following import FollowedNetwork
    from wsnode.node.growth.forking import Forking
    from wsnode.node.growth.publishing import AltPublishing
    from wsnode.node.growth.replicating_alt import ReplicatedAlt
    from wsnode.starknet.chain import Chain as StarknetChain
    from wsnode.starknet.live.hub import Hub as StarknetHub


ALONE: Final = Alone()
FILTERS_FOLDER: Final = "filters"


@contextmanager
def open_network(
    name: str,
    network: NetworkConfig,
    config: Config,
    *,
    grow: Grow | None = None,
    durable: bool = True,
    processes: Processes = ALONE,
) -> Iterator[Network]:
    """Open the chains of a network: for reading, or for writing as well if they `grow`.

    `processes` are those that serve the same network.

    Raises:
        ConfigurationError: Its folder holds no chain.
        ChainError, StarknetError, StoreError, StateError: A chain cannot be opened.
    """
    folder = Path(network.data)
    is_live = network.is_live and processes.writes
    with ExitStack() as stack:
        chains = open_chains(network, stack, writer=grow is not None or is_live, durable=durable)
        uses_of = partial(processes.uses_of, name, is_metered=network.rates_at is not None)
        keys = None if config.open else KeyFileRing(KeyFile(folder / FILE_NAME), uses_of=uses_of)
        ethereum, starknet = chains
        if ethereum is None:
            assert starknet is not None, "a network has a chain"
            yield _alt_alone(name, network, starknet, keys, processes)
            return
        if grow is not None or network.engine is not None:
            ethereum.require_full()
        assembly = _Assembly(name, network, config, (ethereum, starknet), processes, is_live=is_live)
        yield assembly.network(grow, keys, stack)


def _alt_alone(
    name: str,
    network: NetworkConfig,
    chain: "StarknetChain",
    keys: KeyFileRing | None,
    processes: Processes,
) -> Network:
    """Return a network with an alt chain and nothing else.

    Raises:
        ConfigurationError: It is to repeat a journal, and its first block is not known.
    """
    from wsnode.starknet.live.hub import Hub as StarknetHub

    hub = StarknetHub(chain)
    followed: Followed | None = None
    if network.replica is not None and processes.writes:
        if (here := _replicated_alt(network, chain, hub)) is None:
            raise ConfigurationError(
                f"{network.data} holds no alt block, which would name its journal: "
                "say `alt` (--alt), the hash of the first one"
            )
        processes.follows(name, here, None)
        followed = here
    elif network.replica is not None:
        followed = processes.followed(name, None, None, None, "replica")
    folder = Path(network.data)
    return alt_network(name, network.hosts, chain, keys, folder, hub=hub, followed=followed)


def _replicated_alt(
    network: NetworkConfig, chain: "StarknetChain", hub: "StarknetHub"
) -> "ReplicatedAlt | None":
    """Return what repeats the journal of an alt chain, None if its first block is not known."""
    if network.replica is None:
        return None
    from wsnode.node.growth.replicating_alt import ReplicatedAlt, named_first_hash

    first = named_first_hash(chain, network.replica)
    return None if first is None else ReplicatedAlt(chain, hub, network.replica, first)


class _Assembly:
    """The parts of a network with an Ethereum chain, each of which is made of those before it."""

    def __init__(
        self,
        name: str,
        told: NetworkConfig,
        config: Config,
        chains: BothChains,
        processes: Processes,
        *,
        is_live: bool,
    ) -> None:
        """`is_live`: whether this process follows others, or is driven, and writes the chain."""
        self._name, self._told, self._config, self._processes = name, told, config, processes
        self._is_live = is_live
        self._ethereum, self._starknet = chains
        self._hub = Hub(self._ethereum)
        self._starknet_hub = None if self._starknet is None else _starknet_hub(self._starknet, self._hub)
        has_pool = told.pool and not self._ethereum.is_light
        self._pool = pool_beside(self._hub, self._ethereum, config.pool_limits) if has_pool else None
        self._forking = self._make_forking()

    def network(self, grow: Grow | None, keys: KeyFileRing | None, stack: ExitStack) -> Network:
        """Return the network, with all that runs beside it."""
        growth = self._begin_growth(grow, stack)
        # One tree, for the blocks of upstreams and the payloads of a consensus client alike.
        live = LiveTree(BlockTree(self._ethereum), self._hub) if self._is_live else None
        relay = None if self._pool is None else self._processes.join(self._name, self._pool)
        follower = self._make_follower(live)
        followed_here = follower or self._make_replica(live)
        publisher = self._make_publisher(is_development=grow is not None)
        beside = None if publisher is None else self._make_alt_publishing()
        journal = None if publisher is None else publisher.status
        if journal is not None and beside is not None:
            journal = beside.joined(journal)
        standby = self._make_standby(publisher, is_development=grow is not None)
        if follower is not None:
            follower.mirrored = standby
        kept = self._make_kept_filters()
        if followed_here is not None:
            self._processes.follows(self._name, followed_here, journal)
        made = network_of(
            self._name,
            self._told.hosts,
            (self._ethereum, self._starknet),
            self._config.call_limits,
            keys,
            hub=self._hub,
            pool=self._pool,
            starknet_hub=self._starknet_hub,
            growth=growth,
            followed=followed_here or self._followed_elsewhere(live, relay),
            gas_limit=self._told.gas_limit,
            with_test_methods=self._config.open,
            filter_table=None if kept is not None else self._filter_table(stack),
            filter_keeper=kept,
            relay=relay,
            journal=journal,
        )
        made = self._with_publisher(made, publisher)
        made = self._with_shared_pool(made, publisher, standby)
        made = made if beside is None else beside.published(made)
        made = self._with_shared_rates(made, keys)
        made = self._with_kept_filters(made, kept)
        made = self._with_proofs(made, follower)
        if growth is not None and growth.watch is not None:
            growth.watch(made.registry)
        return self._with_partner(self._with_engine(made, live, follower))

    def _make_forking(self) -> "Forking | None":
        if self._told.fork is None:
            return None
        from wsnode.node.growth.forking import Forking, client_of

        return Forking(self._ethereum, [client_of(url) for url in self._told.fork.upstreams])

    def _begin_growth(self, grow: Grow | None, stack: ExitStack) -> Growth | None:
        if grow is None or self._pool is None:
            return None
        opened = Opened(
            self._ethereum,
            self._starknet,
            self._hub,
            self._pool,
            self._starknet_hub,
            gas_limit=self._told.gas_limit,
            forking=self._forking,
        )
        return stack.enter_context(grow(opened))

    def _make_follower(self, live: LiveTree | None) -> "FollowedNetwork | None":
        if self._told.follow is None or live is None:
            return None
        from wsnode.node.growth.following import FollowedNetwork

        is_driven = self._told.engine is not None
        return FollowedNetwork(
            self._ethereum, live, self._hub, self._pool, self._told.follow, is_driven=is_driven
        )

    def _make_replica(self, live: LiveTree | None) -> FollowedHere | None:
        if self._told.replica is None or live is None:
            return None
        from wsnode.node.growth.replicating import ReplicatedNetwork

        url = advertised(self._told.replica.advertise, self._config)
        alt = None
        if self._starknet is not None and self._starknet_hub is not None:
            alt = _replicated_alt(self._told, self._starknet, self._starknet_hub)
        return ReplicatedNetwork(self._ethereum, live, self._hub, self._pool, self._told.replica, url, alt)

    def _followed_elsewhere(self, live: LiveTree | None, relay: Relay | None) -> Followed | None:
        if live is not None or (self._told.follow is None and self._told.replica is None):
            return None
        mode = "full" if self._told.replica is None else "replica"
        return self._processes.followed(self._name, self._ethereum.spec, self._hub, relay, mode)

    def _make_publisher(self, *, is_development: bool) -> "Publisher | None":
        if self._told.journal is None or not (is_development or self._is_live):
            return None
        from wsnode.node.growth.publishing import publisher_of

        return publisher_of(self._ethereum, self._hub, self._told.journal, is_development=is_development)

    def _make_alt_publishing(self) -> "AltPublishing | None":
        if self._told.journal is None or self._starknet is None:
            return None
        from wsnode.node.growth.publishing import AltPublishing

        return AltPublishing(self._starknet, self._told.journal)

    def _with_publisher(self, network: Network, publisher: "Publisher | None") -> Network:
        if self._told.journal is None or publisher is None:
            return network
        from wsnode.node.growth.publishing import published

        url = advertised(self._told.journal.advertise, self._config)
        return published(network, publisher, self._ethereum, self._told.journal, url)

    def _make_standby(self, publisher: "Publisher | None", *, is_development: bool) -> "Mirroring | None":
        told, pool = self._told.journal, self._pool
        # What is pending on another development chain has no place in the blocks of this one.
        if told is None or publisher is None or pool is None or not told.shared_pool or is_development:
            return None
        from wsnode.node.growth.pooling import standby

        return standby(self._ethereum, pool, told, publisher)

    def _with_shared_pool(
        self, network: Network, publisher: "Publisher | None", standby: "Mirroring | None"
    ) -> Network:
        told, pool = self._told.journal, self._pool
        if told is None or publisher is None or pool is None or not told.shared_pool:
            return network
        from wsnode.node.growth.pooling import pooled_together

        return pooled_together(network, self._ethereum, pool, told, publisher, standby)

    def _with_shared_rates(self, network: Network, keys: KeyFileRing | None) -> Network:
        if self._told.rates_at is None or keys is None or not self._processes.writes:
            return network
        from wsnode.node.growth.counting import counted_together

        return counted_together(network, self._ethereum, keys.accounts, self._told.rates_at)

    def _make_kept_filters(self) -> "KeptFilters | None":
        if self._told.filters_at is None:
            return None
        from wsnode.node.growth.polling import filters_at

        return filters_at(self._ethereum, self._told.filters_at, self._config.call_limits)

    def _with_kept_filters(self, network: Network, kept: "KeptFilters | None") -> Network:
        if kept is None:
            return network
        from wsnode.node.growth.polling import polled_together

        return polled_together(network, self._ethereum, kept)

    def _filter_table(self, stack: ExitStack) -> FilterTable | None:
        """Return the filters of all workers, None for those of this process alone."""
        if self._config.workers == 1:
            return None
        from wsnode.ethereum.rpc.logs.shared_filters import SharedFilters, open_filters

        store = open_filters(Path(self._told.data) / FILTERS_FOLDER)
        stack.callback(store.close)
        return SharedFilters(store, self._config.call_limits)

    def _with_proofs(self, network: Network, follower: "FollowedNetwork | None") -> Network:
        if self._forking is not None:
            from wsnode.node.growth.forking import forked

            network = forked(network, self._ethereum, self._forking)
        if follower is not None and self._ethereum.is_light:
            from wsnode.node.growth.proving import proved, proving

            network = proved(network, proving(self._ethereum, follower.follower.upstreams))
        return network

    def _with_engine(
        self, network: Network, live: LiveTree | None, follower: "FollowedNetwork | None"
    ) -> Network:
        if self._told.engine is None or live is None or self._pool is None:
            return network
        from wsnode.node.growth.driving import driven

        want = None if follower is None else follower.follower.want
        return driven(network, self._ethereum, live, self._pool, self._told, want)

    def _with_partner(self, network: Network) -> Network:
        if self._told.partner is None:
            return network
        return with_partner(network, self._told.partner, self._ethereum.spec, Path(self._told.data))


def _starknet_hub(chain: "StarknetChain", hub: Hub) -> "StarknetHub":
    from wsnode.starknet.live.hub import Hub as StarknetHub

    return StarknetHub(chain, hub.fan_out)
