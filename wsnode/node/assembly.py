"""Assembly of a network from its configuration: its chains, pool, hub, follower and methods."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.limits import DEVELOPMENT_POOL_RULES, PoolRules
from wsnode.ethereum.pool.pool import Relay
from wsnode.ethereum.rpc.logs.filter_table import FilterTable
from wsnode.ethereum.state import LiveBytes
from wsnode.ethereum.storage.folder import MAKERS
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.node.chains import log_opened, open_chains
from wsnode.node.config import Config, NetworkConfig, advertised
from wsnode.node.networks import (
    BothChains,
    ChainService,
    Grow,
    OpenChains,
    network_of,
    pool_beside,
    starknet_network,
    with_partner,
)
from wsnode.node.process_group import LocalSyncService, SiblingProcesses, SingleProcess, SyncService
from wsnode.node.services.store_check import StoreCheck, checked
from wsnode.server.access.keys import FILE_NAME, KeyFile, KeyFileStore
from wsnode.server.access.router import Network

if TYPE_CHECKING:
    # Few networks use these modules, so each is imported when a network needs it: a node starts much sooner
    # without them.
    from wsnode.cluster.filter_store import RedisFilterStore
    from wsnode.cluster.pool.mirror_task import MirrorTask
    from wsnode.cluster.publisher import JournalPublisher
    from wsnode.node.services.fork import UpstreamForkBackend
    from wsnode.node.services.starknet.sync import StarknetSync
    from wsnode.node.services.sync import LocalSync
    from wsnode.starknet.chain import StarknetChain
    from wsnode.starknet.live.hub import StarknetHub


ALONE: Final = SingleProcess()
FILTERS_FOLDER: Final = "filters"


@contextmanager
def open_network(
    name: str,
    network: NetworkConfig,
    config: Config,
    *,
    grow: Grow | None = None,
    durable: bool = True,
    processes: SiblingProcesses = ALONE,
    live_bytes: LiveBytes | None = None,
) -> Iterator[Network]:
    """Open the chains of a network: for reading, or for writing as well if they `grow`.

    `processes` are those that serve the same network; `live_bytes` counts for all networks of this process.

    Raises:
        ConfigurationError: The network's folder holds no chain.
        ChainError, StarknetError, StoreError, StateError: A chain cannot be opened.
        StoreFailedError: At the end, if a store could not be used any more.
    """
    folder = Path(network.data)
    is_live = network.is_live and processes.writes
    with ExitStack() as stack:
        chains = open_chains(network, stack, writer=grow is not None or is_live, durable=durable)
        rate_limiter_of = partial(processes.rate_limiter_of, name, is_metered=network.rates_at is not None)
        keys = (
            None
            if config.open
            else KeyFileStore(KeyFile(folder / FILE_NAME), rate_limiter_of=rate_limiter_of)
        )
        if grow is None and processes.is_first:
            log_opened(name, network, chains, has_keys=keys is None or not keys.is_empty)
        ethereum, starknet = chains
        check = StoreCheck(
            [chain for chain in chains if chain is not None],
            partial(processes.tell_damage, name),
            partial(processes.told_damage, name),
        )
        stack.callback(check.raise_failure)
        if ethereum is None:
            assert starknet is not None, "a network has a chain"
            yield checked(_starknet_alone(name, network, starknet, keys, processes), check)
            return
        if grow is not None or network.engine is not None:
            ethereum.require_full()
        assembly = _Assembly(
            name,
            network,
            config,
            (ethereum, starknet),
            processes,
            live_bytes or LiveBytes(),
            is_live=is_live,
            is_development=grow is not None,
        )
        yield checked(assembly.network(grow, keys, stack), check)


def _starknet_alone(
    name: str,
    network: NetworkConfig,
    chain: "StarknetChain",
    keys: KeyFileStore | None,
    processes: SiblingProcesses,
) -> Network:
    """Return a network with a Starknet chain and no other."""
    from wsnode.starknet.live.hub import StarknetHub

    hub = StarknetHub(chain)
    followed = _starknet_sync(network, chain, hub)
    folder = Path(network.data)
    return starknet_network(name, network.hosts, chain, keys, folder, hub=hub, followed=followed)


def _starknet_sync(
    network: NetworkConfig, chain: "StarknetChain", hub: "StarknetHub"
) -> "StarknetSync | None":
    """Return the service that follows other nodes of a Starknet chain, None if none are named."""
    if network.follow_starknet is None:
        return None
    from wsnode.node.services.starknet.sync import StarknetSync

    return StarknetSync(chain, hub, network.follow_starknet)


class _Assembly:
    """Parts of a network with an Ethereum chain, while the network is put together: each part is made of
    those before it.
    """

    def __init__(
        self,
        name: str,
        network_config: NetworkConfig,
        config: Config,
        chains: BothChains,
        processes: SiblingProcesses,
        live_bytes: LiveBytes,
        *,
        is_live: bool,
        is_development: bool,
    ) -> None:
        """Prepare the parts for a network of a node.

        `is_live` is True if this process writes the chain as upstreams, a journal or a consensus client
        extend it, `is_development` if it makes the chain's blocks itself.
        """
        self._name, self._network_config, self._config, self._processes = (
            name,
            network_config,
            config,
            processes,
        )
        self._is_live = is_live
        self._ethereum, self._starknet = chains
        self._hub = Hub(self._ethereum)
        self._hub.live_bytes = live_bytes
        self._starknet_hub = None if self._starknet is None else _starknet_hub(self._starknet, self._hub)
        has_pool = network_config.pool and not self._ethereum.is_light
        self._rules = self._pool_rules(is_development=is_development)
        self._pool = (
            pool_beside(self._hub, self._ethereum, config.pool_limits, self._rules) if has_pool else None
        )
        self._forking = self._make_forking()

    def network(self, grow: Grow | None, keys: KeyFileStore | None, stack: ExitStack) -> Network:
        """Return the network, with its background tasks."""
        growth = self._begin_growth(grow, stack)
        # The blocks of upstreams and the payloads of a consensus client use one and the same tree.
        live = LiveTree(BlockTree(self._ethereum), self._hub) if self._is_live else None
        relay = None if self._pool is None else self._processes.join(self._name, self._pool)
        follower = self._make_follower(live)
        followed_here = follower or self._make_replica(live)
        publisher = self._make_publisher(is_development=grow is not None)
        journal = None if publisher is None else publisher.status
        standby = self._make_standby(publisher, is_development=grow is not None)
        if follower is not None:
            follower.mirrored = standby
        kept = self._make_kept_filters()
        if followed_here is not None:
            self._processes.follows(self._name, followed_here, journal)
        made = network_of(
            self._name,
            self._network_config.hosts,
            (self._ethereum, self._starknet),
            self._config.call_limits,
            keys,
            hub=self._hub,
            pool=self._pool,
            pool_limits=self._config.pool_limits,
            pool_rules=self._rules,
            starknet_hub=self._starknet_hub,
            growth=growth,
            followed=followed_here or self._followed_elsewhere(live, relay),
            gas_limit=self._network_config.gas_limit,
            with_test_methods=self._config.open,
            filter_table=None if kept is not None else self._filter_table(stack),
            filter_keeper=kept,
            relay=relay,
            journal=journal,
            starknet_sync=self._make_starknet_sync(),
        )
        made = self._with_publisher(made, publisher)
        made = self._with_shared_pool(made, publisher, standby)
        made = self._with_shared_rates(made, keys)
        made = self._with_kept_filters(made, kept)
        made = self._with_proofs(made, follower)
        if growth is not None and growth.watch is not None:
            growth.watch(made.registry)
        return self._with_partner(self._with_engine(made, live, follower))

    def _pool_rules(self, *, is_development: bool) -> PoolRules:
        # A replica sends the transactions that it takes to the chain's writer, so the writer's rules apply.
        is_replica = self._network_config.replica is not None and self._ethereum.folder.maker() in MAKERS
        if is_development or is_replica:
            return DEVELOPMENT_POOL_RULES
        return PoolRules(allows_unprotected=self._network_config.allow_unprotected)

    def _make_forking(self) -> "UpstreamForkBackend | None":
        if self._network_config.fork is None:
            return None
        from wsnode.node.services.fork import UpstreamForkBackend
        from wsnode.node.services.fork_point import client_of

        return UpstreamForkBackend(
            self._ethereum, [client_of(url) for url in self._network_config.fork.upstreams]
        )

    def _begin_growth(self, grow: Grow | None, stack: ExitStack) -> ChainService | None:
        if grow is None or self._pool is None:
            return None
        opened = OpenChains(
            self._ethereum,
            self._starknet,
            self._hub,
            self._pool,
            self._starknet_hub,
            gas_limit=self._network_config.gas_limit,
            forking=self._forking,
        )
        return stack.enter_context(grow(opened))

    def _make_follower(self, live: LiveTree | None) -> "LocalSync | None":
        if self._network_config.follow is None or live is None:
            return None
        from wsnode.node.services.sync import LocalSync

        is_driven = self._network_config.engine is not None
        return LocalSync(
            self._ethereum, live, self._hub, self._pool, self._network_config.follow, is_driven=is_driven
        )

    def _make_replica(self, live: LiveTree | None) -> LocalSyncService | None:
        if self._network_config.replica is None or live is None:
            return None
        from wsnode.node.services.replica import ReplicaService

        url = advertised(self._network_config.replica.advertise, self._config)
        return ReplicaService(self._ethereum, live, self._hub, self._pool, self._network_config.replica, url)

    def _make_starknet_sync(self) -> "StarknetSync | None":
        if self._starknet is None or self._starknet_hub is None:
            return None
        return _starknet_sync(self._network_config, self._starknet, self._starknet_hub)

    def _followed_elsewhere(self, live: LiveTree | None, relay: Relay | None) -> SyncService | None:
        if live is not None or (self._network_config.follow is None and self._network_config.replica is None):
            return None
        mode = "full" if self._network_config.replica is None else "replica"
        return self._processes.followed(self._name, self._ethereum.spec, self._hub, relay, mode)

    def _make_publisher(self, *, is_development: bool) -> "JournalPublisher | None":
        if self._network_config.journal is None or not (is_development or self._is_live):
            return None
        from wsnode.node.services.journal import publisher_of

        return publisher_of(
            self._ethereum, self._hub, self._network_config.journal, is_development=is_development
        )

    def _with_publisher(self, network: Network, publisher: "JournalPublisher | None") -> Network:
        if self._network_config.journal is None or publisher is None:
            return network
        from wsnode.node.services.journal import published

        url = advertised(self._network_config.journal.advertise, self._config)
        return published(network, publisher, self._ethereum, self._network_config.journal, url)

    def _make_standby(
        self, publisher: "JournalPublisher | None", *, is_development: bool
    ) -> "MirrorTask | None":
        network_config, pool = self._network_config.journal, self._pool
        # Transactions that are pending on another development chain must not get into the blocks of this one.
        if (
            network_config is None
            or publisher is None
            or pool is None
            or not network_config.shared_pool
            or is_development
        ):
            return None
        from wsnode.node.services.shared_state import standby

        return standby(self._ethereum, pool, network_config, publisher)

    def _with_shared_pool(
        self, network: Network, publisher: "JournalPublisher | None", standby: "MirrorTask | None"
    ) -> Network:
        network_config, pool = self._network_config.journal, self._pool
        if network_config is None or publisher is None or pool is None or not network_config.shared_pool:
            return network
        from wsnode.node.services.shared_state import pooled_together

        return pooled_together(network, self._ethereum, pool, network_config, publisher, standby)

    def _with_shared_rates(self, network: Network, keys: KeyFileStore | None) -> Network:
        if self._network_config.rates_at is None or keys is None or not self._processes.writes:
            return network
        from wsnode.node.services.shared_state import counted_together

        return counted_together(network, self._ethereum, keys.accounts, self._network_config.rates_at)

    def _make_kept_filters(self) -> "RedisFilterStore | None":
        if self._network_config.filters_at is None:
            return None
        from wsnode.node.services.shared_state import filters_at

        return filters_at(self._ethereum, self._network_config.filters_at, self._config.call_limits)

    def _with_kept_filters(self, network: Network, kept: "RedisFilterStore | None") -> Network:
        if kept is None:
            return network
        from wsnode.node.services.shared_state import polled_together

        return polled_together(network, self._ethereum, kept)

    def _filter_table(self, stack: ExitStack) -> FilterTable | None:
        """Return the table of filters that all workers share, None if this process serves alone."""
        if self._config.workers == 1:
            return None
        from wsnode.ethereum.rpc.logs.shared_filters import SharedFilters, open_filters

        store = open_filters(Path(self._network_config.data) / FILTERS_FOLDER)
        stack.callback(store.close)
        return SharedFilters(store, self._config.call_limits)

    def _with_proofs(self, network: Network, follower: "LocalSync | None") -> Network:
        if self._forking is not None:
            from wsnode.node.services.fork import forked

            network = forked(network, self._ethereum, self._forking)
        if follower is not None and self._ethereum.is_light:
            from wsnode.node.services.proofs import proved, proving

            supply = self._hub.proof_source = proving(self._ethereum, follower.follower.upstreams)
            network = proved(network, supply)
        return network

    def _with_engine(self, network: Network, live: LiveTree | None, follower: "LocalSync | None") -> Network:
        if self._network_config.engine is None or live is None or self._pool is None:
            return network
        from wsnode.node.services.engine import driven

        want = None if follower is None else follower.follower.want
        return driven(network, self._ethereum, live, self._pool, self._network_config, want)

    def _with_partner(self, network: Network) -> Network:
        if self._network_config.partner is None:
            return network
        return with_partner(
            network, self._network_config.partner, self._ethereum.spec, Path(self._network_config.data)
        )


def _starknet_hub(chain: "StarknetChain", hub: Hub) -> "StarknetHub":
    from wsnode.starknet.live.hub import StarknetHub

    return StarknetHub(chain, hub.fan_out)
