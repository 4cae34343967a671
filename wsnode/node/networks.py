"""Networks made of a folder's chains: their methods, figures and background tasks."""

import os
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.chain import Chain as EthereumChain
from wsnode.ethereum.codec.transactions import render_pooled_transaction
from wsnode.ethereum.live.block_barrier import nothing_known
from wsnode.ethereum.live.filter_store import FilterStore
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter
from wsnode.ethereum.pool.limits import DEFAULT_POOL_LIMITS, DEFAULT_POOL_RULES, PoolLimits, PoolRules
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.filter_table import FilterTable
from wsnode.ethereum.rpc.node.sync_status import STARKNET_STATUS
from wsnode.ethereum.rpc.registry import build_registry as ethereum_registry
from wsnode.ethereum.rpc.transactions.partner_fallback import StaleHeadDetector, add_forwarding
from wsnode.ethereum.state import ChainSpec
from wsnode.jsonrpc.fast_path import VersionedCache
from wsnode.jsonrpc.openrpc.document import add_discovery
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Step
from wsnode.node.chains import ETHEREUM_FOLDER, STARKNET_FOLDER
from wsnode.node.config import PartnerConfig
from wsnode.node.process_group import SyncService
from wsnode.node.views import figures_of, joined, live_of, opening, refusing, versions_of, waits_of
from wsnode.release import release
from wsnode.server.access.router import KeyStore, Network

if TYPE_CHECKING:
    # Few networks use these modules, so each is imported when a network needs it: a node starts much sooner
    # without them.
    from wsnode.ethereum.rpc.development.methods import DevelopmentSetup
    from wsnode.node.services.fork import UpstreamForkBackend
    from wsnode.starknet.chain import StarknetChain
    from wsnode.starknet.live.hub import StarknetHub
    from wsnode.starknet.snapshot import StarknetSnapshot


OUTAGE_FILE = "outage"
"""File in a network's folder; while it exists, an operator declares an outage of the head."""


class OpenChains(msgspec.Struct, frozen=True):
    """Chains of a network that this process serves and writes, with the transaction pool, and with the hubs:
    publishers of chain events to subscribers.
    """

    ethereum: EthereumChain
    starknet: "StarknetChain | None"
    hub: Hub
    pool: TransactionPool
    starknet_hub: "StarknetHub | None" = None
    gas_limit: int = GAS_LIMIT_TARGET
    """Target of the gas limit of built blocks, in gas."""
    forking: "UpstreamForkBackend | None" = None
    """Access to nodes of the chain on which this one began; None if it is no fork."""


class ChainService(msgspec.Struct, frozen=True):
    """Block maker of a development network: the methods that control it, its background tasks, and its data
    for the page at `/`.
    """

    development: "DevelopmentSetup"
    background: Sequence[Callable[[], Awaitable[None]]]
    watch: Callable[[Registry], None] | None = None
    """Called with the network's registry once all methods are registered."""
    page: Mapping[str, Any] = {}
    """Settings of accounts and contracts for the page at `/`."""


Grow = Callable[[OpenChains], AbstractContextManager[ChainService]]
BothChains = tuple[EthereumChain, "StarknetChain | None"]


def network_of(
    name: str,
    hosts: tuple[str, ...],
    families: BothChains,
    limits: CallLimits,
    keys: KeyStore | None,
    *,
    hub: Hub,
    pool: TransactionPool | None,
    pool_limits: PoolLimits = DEFAULT_POOL_LIMITS,
    pool_rules: PoolRules = DEFAULT_POOL_RULES,
    starknet_hub: "StarknetHub | None" = None,
    growth: ChainService | None = None,
    followed: SyncService | None = None,
    gas_limit: int = GAS_LIMIT_TARGET,
    with_test_methods: bool = False,
    filter_table: FilterTable | None = None,
    filter_keeper: FilterStore | None = None,
    relay: Relay | None = None,
    journal: StatusReporter | None = None,
    starknet_sync: SyncService | None = None,
) -> Network:
    """Return a network with the methods of each family that it has a chain of."""
    ethereum, starknet = families
    lacking = {"network": name, "family": STARKNET_FOLDER}
    unavailable = {"alt_": lacking, "starknet_": lacking} if starknet is None else None
    registry = ethereum_registry(
        ethereum,
        limits=limits,
        unavailable=unavailable,
        hub=hub,
        pool=pool,
        pool_limits=pool_limits,
        pool_rules=pool_rules,
        development=None if growth is None else growth.development,
        following=None if followed is None else followed.following,
        gas_limit=gas_limit,
        with_test_methods=with_test_methods,
        filter_table=filter_table,
        filter_keeper=filter_keeper,
        relay=relay,
        announced=nothing_known if followed is None else followed.announced_height,
        journal=journal,
        starknet_following=None if starknet_sync is None else starknet_sync.following,
    )
    rpc_versions: Sequence[str] = ()
    starknet_limits: Mapping[str, int] = {}
    if starknet is not None:
        from wsnode.starknet.proofs.prover import StateProver
        from wsnode.starknet.rpc.methods import STARKNET_LIMITS, add_methods
        from wsnode.starknet.snapshot import SPEC_VERSIONS

        rpc_versions, starknet_limits = tuple(SPEC_VERSIONS), STARKNET_LIMITS
        add_methods(registry, lambda view: view.starknet, starknet_hub, StateProver(starknet))
    watches = [hub.watch, *hub.background, *([] if starknet_hub is None else [starknet_hub.watch])]
    grows = [each for each in (growth, followed) if each is not None]
    made = Network(
        name,
        registry,
        opening(ethereum, starknet, is_proved=followed is not None),
        hosts,
        limits={
            **msgspec.to_builtins(limits),
            **({} if pool is None else msgspec.to_builtins(pool.limits)),
            **starknet_limits,
        },
        keys=keys,
        fan_out=hub.fan_out,
        versions=versions_of(ethereum, starknet),
        versioned_cache=VersionedCache(ethereum),
        background=[*watches, *(work for each in grows for work in each.background)],
        figures=joined(
            figures_of(ethereum.folder.path, ethereum, starknet), waits_of(registry.barrier), live_of(hub)
        ),
        page={} if growth is None else growth.page,
        barrier=registry.barrier,
        rpc_versions=rpc_versions,
    )
    made = made if followed is None else _grown(made, followed)
    return made if starknet_sync is None else _starknet_followed(made, starknet_sync)


def _starknet_followed(network: Network, followed: SyncService) -> Network:
    """Return a network with two chains whose Starknet chain follows other nodes."""

    def not_ready_reason() -> str | None:
        return network.not_ready_reason() or followed.not_ready_reason()

    def reload(config: Any) -> None:
        if network.reload is not None:
            network.reload(config)
        followed.reload(config)

    return msgspec.structs.replace(
        network,
        background=[*network.background, *followed.background],
        not_ready_reason=not_ready_reason,
        figures=joined(network.figures, followed.figures),
        reload=reload,
    )


def starknet_network(
    name: str,
    hosts: tuple[str, ...],
    chain: "StarknetChain",
    keys: KeyStore | None,
    folder: Path,
    *,
    hub: "StarknetHub",
    followed: SyncService | None = None,
) -> Network:
    """Return a network with a Starknet chain and no other."""
    from wsnode.starknet.proofs.prover import StateProver
    from wsnode.starknet.rpc.methods import STARKNET_LIMITS, build_registry
    from wsnode.starknet.snapshot import SPEC_VERSIONS

    unavailable = {"eth_": {"network": name, "family": ETHEREUM_FOLDER}}
    registry = build_registry(unavailable, hub=hub, prover=StateProver(chain))
    _add_starknet_status(registry, followed)
    add_discovery(registry, title="wsnode", version=release)
    made = Network(
        name,
        registry,
        refusing(chain.snapshot),
        hosts,
        limits=STARKNET_LIMITS,
        rpc_versions=tuple(SPEC_VERSIONS),
        keys=keys,
        fan_out=hub.fan_out,
        versions=versions_of(chain),
        background=[hub.watch, *(() if followed is None else followed.background)],
        figures=figures_of(folder, None, chain),
    )
    return made if followed is None else _grown(made, followed)


def _add_starknet_status(registry: Registry, followed: SyncService | None) -> None:
    from wsnode.starknet.felt import felt_text

    @registry.method("wsnode_status", result=STARKNET_STATUS)
    def status(view: "StarknetSnapshot") -> Generator[Step, Any, dict[str, Any]]:
        """Return the mode in which the chain grows, its head, and the state of its upstreams or journal."""
        if followed is None:
            row = None if view.head is None else view.block(view.head)
            head = None if row is None else {"number": hex(view.head or 0), "hash": felt_text(row.hash)}
            return {"mode": "stored", "head": head, "upstreams": []}
        reported: dict[str, Any] = yield Await(followed.following.tell_status)
        return reported


def _grown(network: Network, followed: SyncService) -> Network:
    """Return a network with readiness, figures and reload of the service that extends its chain."""
    return msgspec.structs.replace(
        network,
        not_ready_reason=followed.not_ready_reason,
        figures=joined(network.figures, followed.figures),
        reload=followed.reload,
    )


def pool_beside(
    hub: Hub, chain: EthereumChain, limits: PoolLimits, rules: PoolRules = DEFAULT_POOL_RULES
) -> TransactionPool:
    """Return a pool that follows the hub's head and announces new transactions to the hub."""
    pool = TransactionPool(chain, limits, rules=rules)
    pool.catch_up = hub.advance
    pool.on_added.append(hub.pending.announce)
    hub.on_change.append(pool.advance)
    hub.on_same_head.append(pool.look)
    hub.pending.render = render_pooled_transaction
    return pool


def with_partner(network: Network, config: PartnerConfig, spec: ChainSpec, folder: Path) -> Network:
    """Return `network` with a partner, which answers for missing transactions in an outage."""
    from wsnode.upstream.address import UpstreamAddress
    from wsnode.upstream.client import Client

    partner = Client(UpstreamAddress.parse(config.url))
    outage = StaleHeadDetector(config.stale_after, partial(os.path.exists, folder / OUTAGE_FILE))
    add_forwarding(network.registry, spec, partner.ask, outage, lambda caller: caller.forwarding)
    return msgspec.structs.replace(network, background=[*network.background, partner.run])
