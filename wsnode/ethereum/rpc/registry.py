"""All methods of an Ethereum network."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.building.next_block import NextBlock, block_now
from wsnode.ethereum.building.pending_block import ALWAYS, SHARE
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.live.arrivals import Announced, Arrivals, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.polled import Keeper as FilterKeeper
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.accounts import methods as state
from wsnode.ethereum.rpc.accounts import modified_accounts, proofs, storage_ranges, storage_values
from wsnode.ethereum.rpc.blocks import headers
from wsnode.ethereum.rpc.blocks import methods as blocks
from wsnode.ethereum.rpc.blocks import schemas as block_schemas
from wsnode.ethereum.rpc.calls import access_lists, simulate
from wsnode.ethereum.rpc.calls import methods as calls
from wsnode.ethereum.rpc.calls import schemas as call_schemas
from wsnode.ethereum.rpc.development import methods as development_methods
from wsnode.ethereum.rpc.development import schemas as development_schemas
from wsnode.ethereum.rpc.development.methods import Development
from wsnode.ethereum.rpc.engine import schemas as engine_schemas
from wsnode.ethereum.rpc.engine import testing
from wsnode.ethereum.rpc.fees import history as fee_history
from wsnode.ethereum.rpc.fees import methods as fees
from wsnode.ethereum.rpc.form import named_blocks
from wsnode.ethereum.rpc.form import schemas as form_schemas
from wsnode.ethereum.rpc.form.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.form.parameters import LATEST_BLOCK, PENDING, BlockParameter
from wsnode.ethereum.rpc.form.pending_state import PendingState
from wsnode.ethereum.rpc.logs import filters, kept_filters, subscriptions
from wsnode.ethereum.rpc.logs import methods as logs
from wsnode.ethereum.rpc.logs import pages as log_pages
from wsnode.ethereum.rpc.logs import schemas as log_schemas
from wsnode.ethereum.rpc.logs.filter_table import FilterTable
from wsnode.ethereum.rpc.node import following as node_following
from wsnode.ethereum.rpc.node import fork_configuration, min_block
from wsnode.ethereum.rpc.node import methods as node
from wsnode.ethereum.rpc.node.following import Following, TellStatus
from wsnode.ethereum.rpc.otterscan import methods as otterscan_methods
from wsnode.ethereum.rpc.parity import methods as parity_methods
from wsnode.ethereum.rpc.parity import schemas as parity_schemas
from wsnode.ethereum.rpc.traces import methods as traces
from wsnode.ethereum.rpc.traces import schemas as trace_schemas
from wsnode.ethereum.rpc.traces import witnesses
from wsnode.ethereum.rpc.transactions import filling, inclusion, pool_methods, raw, sending
from wsnode.ethereum.rpc.transactions import methods as transactions
from wsnode.ethereum.rpc.transactions import schemas as transaction_schemas
from wsnode.jsonrpc.openrpc.document import add_discovery
from wsnode.jsonrpc.registry import Registry

NEXT_BLOCK: Final = BlockParameter(PENDING)
COMPONENTS: Final = (
    form_schemas.COMPONENTS,
    block_schemas.COMPONENTS,
    log_schemas.COMPONENTS,
    call_schemas.COMPONENTS,
    transaction_schemas.COMPONENTS,
    trace_schemas.COMPONENTS,
    parity_schemas.COMPONENTS,
    development_schemas.COMPONENTS,
    engine_schemas.COMPONENTS,
)


def build_registry(
    chain: Chain,
    *,
    limits: CallLimits = DEFAULT_LIMITS,
    unavailable: Mapping[str, Any] | None = None,
    hub: Hub | None = None,
    pool: TransactionPool | None = None,
    with_test_methods: bool = False,
    development: Development | None = None,
    following: Following | None = None,
    gas_limit: int = GAS_LIMIT_TARGET,
    timer: Callable[[], float] = time.perf_counter,
    filter_table: FilterTable | None = None,
    filter_keeper: FilterKeeper | None = None,
    relay: sending.Relay | None = None,
    announced: Announced = nothing_known,
    journal: TellStatus | None = None,
) -> Registry:
    """Return the methods of a network, which answer from snapshots of `chain`.

    Subscriptions and filters need a `hub`, sending transactions a `pool`, and the methods that make blocks
    and sign for accounts a `development`. Without one, the gas limit of built blocks moves towards
    `gas_limit`. `timer` measures how long building takes; `unavailable` goes to the registry.
    `filter_keeper` keeps the filters that are polled, for all nodes of the chain; without one `filter_table`
    does, or this process's memory if that is None.
    `relay` has the node's other processes take a transaction. `announced` says how high blocks elsewhere are.
    `journal` returns what `wsnode_status` says of the journal that the chain is published to.
    """
    registry = Registry({**(unavailable or {}), **sending.NO_POOL})
    next_block: Callable[[Header], NextBlock] = partial(block_now, gas_limit_target=gas_limit)
    share = SHARE
    if development is not None:
        next_block, share = development.control.next_block, ALWAYS
    pending = PendingState(
        pool, next_block=next_block, makes_blocks=development is not None, share=share, timer=timer
    )
    block_methods = blocks.Blocks(pending)
    version = node.client_version if development is None else node.development_version
    node.add_methods(registry, version)
    node_following.add_methods(registry, following, journal)
    blocks.add_methods(registry, block_methods)
    headers.add_methods(registry)
    transactions.add_methods(registry, block_methods, pool)
    state.add_methods(registry, pending, pool)
    calls.add_methods(registry, limits, pending)
    logs.add_methods(registry, limits)
    log_pages.add_methods(registry, limits)
    fees.add_methods(registry, pending)
    fee_history.add_methods(registry, pending)
    storage_values.add_methods(registry, pending)
    proofs.add_methods(registry, limits, pending)
    access_lists.add_methods(registry, limits, pending)
    simulate.add_methods(registry, limits, pending)
    traces.add_methods(registry, limits, pending)
    witnesses.add_methods(registry, limits, pending)
    storage_ranges.add_methods(registry, limits, pending)
    modified_accounts.add_methods(registry, limits)
    parity_methods.add_methods(registry, limits, pending)
    otterscan_methods.add_methods(registry, limits, pending)
    raw.add_methods(registry, block_methods, pool)
    fork_configuration.add_methods(registry, lambda: chain.folder.read_genesis())
    pool_methods.add_methods(registry, pool, () if development is None else development.addresses)
    if pool is not None:
        relay = relay if following is None else following.send
        _add_sending(registry, chain, pool, pending, hub, development, relay, limits)
    elif following is not None and chain.is_light:
        sending.add_methods(registry, sending.Relaying(chain.spec, following.send, PoolLimits()))
    if with_test_methods or development is not None:
        testing.add_methods(registry, pool, next_block)
    if hub is not None:
        subscriptions.add_methods(registry, hub, limits)
        seconds, most = limits.behind_seconds, limits.behind_waiting
        arrivals = Arrivals(hub, announced, seconds=seconds, most=most)
        if filter_keeper is None:
            filters.add_methods(registry, hub.pending, limits, filter_table)
        else:
            kept_filters.add_methods(registry, hub, arrivals, limits, filter_keeper)
        min_block.add_methods(registry, arrivals)
        named_blocks.add_waiting(registry, arrivals)
    for components in COMPONENTS:
        registry.define(components)
    add_discovery(registry, title="wsnode", version=node.release)
    return registry


def _add_sending(
    registry: Registry,
    chain: Chain,
    pool: TransactionPool,
    pending: PendingState,
    hub: Hub | None,
    development: Development | None,
    relay: sending.Relay | None,
    limits: CallLimits,
) -> None:
    control = None if development is None else development.control
    estimating = calls.Calls(limits, pending)
    sender = sending.Sending(pool, None if control is None else control.settle, relay)
    filler = filling.Completion(
        chain,
        pool,
        estimating,
        pending,
        estimates_on=LATEST_BLOCK if control is None else NEXT_BLOCK,
        changing=control,
    )
    sending.add_methods(registry, sender)
    filling.add_methods(registry, filler)
    if hub is None:
        return
    waiting = inclusion.Inclusion(sender, hub)
    inclusion.add_methods(registry, waiting)
    if development is not None:
        means = development_methods.Means(
            chain,
            pool,
            filler,
            waiting,
            estimating,
            access_lists.AccessLists(limits, pending),
            traces.Traces(limits, pending),
            limits,
        )
        development_methods.add_methods(registry, development, means)
