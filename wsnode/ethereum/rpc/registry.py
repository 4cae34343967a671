"""All methods of an Ethereum network."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.building.next_block import NextBlockAttributes, block_now
from wsnode.ethereum.building.pending_block import ALWAYS, TIME_FRACTION
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.live.block_barrier import Announced, BlockBarrier, nothing_known
from wsnode.ethereum.live.filter_store import FilterStore
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter, SyncReporter
from wsnode.ethereum.pool.limits import (
    DEFAULT_POOL_LIMITS,
    DEFAULT_POOL_RULES,
    PoolLimits,
    PoolRules,
)
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.rpc.accounts import methods as state
from wsnode.ethereum.rpc.accounts import modified_accounts, proofs, storage
from wsnode.ethereum.rpc.blocks import methods as blocks
from wsnode.ethereum.rpc.calls import access_lists, simulate
from wsnode.ethereum.rpc.calls import methods as calls
from wsnode.ethereum.rpc.calls import schemas as call_schemas
from wsnode.ethereum.rpc.common import schemas as form_schemas
from wsnode.ethereum.rpc.common.limits import DEFAULT_LIMITS, CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, PENDING, BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.debug_traces import methods as traces
from wsnode.ethereum.rpc.debug_traces import schemas as trace_schemas
from wsnode.ethereum.rpc.debug_traces import witnesses
from wsnode.ethereum.rpc.development import schemas as development_schemas
from wsnode.ethereum.rpc.engine import schemas as engine_schemas
from wsnode.ethereum.rpc.fees import history as fee_history
from wsnode.ethereum.rpc.fees import methods as fees
from wsnode.ethereum.rpc.logs import filters, stored_filters, subscriptions
from wsnode.ethereum.rpc.logs import methods as logs
from wsnode.ethereum.rpc.logs import pages as log_pages
from wsnode.ethereum.rpc.logs import schemas as log_schemas
from wsnode.ethereum.rpc.logs.filter_table import FilterTable
from wsnode.ethereum.rpc.middlewares import min_block_wait
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.ethereum.rpc.node import fork_configuration, min_block
from wsnode.ethereum.rpc.node import methods as node
from wsnode.ethereum.rpc.node import sync_status as node_following
from wsnode.ethereum.rpc.otterscan import methods as otterscan_methods
from wsnode.ethereum.rpc.parity_traces import methods as parity_methods
from wsnode.ethereum.rpc.parity_traces import schemas as parity_schemas
from wsnode.ethereum.rpc.transactions import inclusion, pool_methods, raw, sending, transaction_filler
from wsnode.ethereum.rpc.transactions import methods as transactions
from wsnode.ethereum.rpc.transactions.sending import ExecutionCheck
from wsnode.jsonrpc.openrpc.document import add_discovery
from wsnode.jsonrpc.registry import Registry
from wsnode.release import release

if TYPE_CHECKING:
    from wsnode.ethereum.rpc.development.methods import DevelopmentSetup

NEXT_BLOCK: Final = BlockParameter(PENDING)
COMPONENTS: Final = (
    form_schemas.COMPONENTS,
    log_schemas.COMPONENTS,
    call_schemas.COMPONENTS,
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
    pool_limits: PoolLimits = DEFAULT_POOL_LIMITS,
    pool_rules: PoolRules = DEFAULT_POOL_RULES,
    with_test_methods: bool = False,
    development: "DevelopmentSetup | None" = None,
    following: SyncReporter | None = None,
    gas_limit: int = GAS_LIMIT_TARGET,
    timer: Callable[[], float] = time.perf_counter,
    filter_table: FilterTable | None = None,
    filter_keeper: FilterStore | None = None,
    relay: Relay | None = None,
    announced: Announced = nothing_known,
    journal: StatusReporter | None = None,
    starknet_following: SyncReporter | None = None,
) -> ChainRegistry:
    """Return the methods of a network; they answer from snapshots of `chain`.

    Subscriptions and filters need a `hub`, sending transactions a `pool`, and the methods that make blocks
    and sign for accounts a `development`. Without one, the gas limit of built blocks moves towards
    `gas_limit`. `pool_limits` and `pool_rules` are for a light chain, which passes transactions on. `timer`
    measures the time of building; `unavailable` goes to the registry. `filter_keeper` keeps polled filters
    for all nodes of the chain; without one `filter_table` does, or this process's memory if that is None.
    `relay` has the node's other processes take a transaction. `announced` returns the height of the chain at
    other nodes. `journal` returns the status of the journal to which the chain is published.
    `starknet_following` reports on a Starknet chain that is followed beside this one.
    """
    registry = ChainRegistry({**(unavailable or {}), **sending.NO_POOL})
    next_block: Callable[[Header], NextBlockAttributes] = partial(block_now, gas_limit_target=gas_limit)
    share = TIME_FRACTION
    if development is not None:
        next_block, share = development.control.next_block, ALWAYS
    pending = PendingState(
        pool, next_block=next_block, makes_blocks=development is not None, share=share, timer=timer
    )
    block_methods = blocks.BlockMethods(pending)
    version = node.client_version if development is None else node.development_version
    node.add_methods(registry, version)
    node_following.add_methods(registry, following, journal, starknet_following)
    blocks.add_methods(registry, block_methods)
    transactions.add_methods(registry, block_methods, pool)
    state.add_methods(registry, pending, pool)
    calls.add_methods(registry, limits, pending)
    logs.add_methods(registry, limits)
    log_pages.add_methods(registry, limits)
    oracle = fees.PriceOracle(None if development is None else development.gas_price)
    fees.add_methods(registry, pending, oracle)
    fee_history.add_methods(registry, pending)
    proofs.add_methods(registry, limits, pending)
    lists = access_lists.AccessListMethods(limits, pending, oracle, allows_zero_fees=development is not None)
    access_lists.add_methods(registry, limits, lists)
    simulate.add_methods(registry, limits, pending)
    traces.add_methods(registry, limits, pending)
    witnesses.add_methods(registry, limits, pending)
    storage.add_methods(registry, limits, pending)
    modified_accounts.add_methods(registry, limits)
    parity_methods.add_methods(registry, limits, pending)
    otterscan_methods.add_methods(registry, limits, pending)
    raw.add_methods(registry, block_methods, pool)
    fork_configuration.add_methods(registry, lambda: chain.folder.read_genesis())
    pool_methods.add_methods(registry, pool, () if development is None else development.addresses)
    if pool is not None:
        relay = relay if following is None else following.send
        _add_sending(registry, chain, pool, pending, oracle, lists, hub, development, relay, limits)
    elif following is not None and chain.is_light:
        relaying = sending.TransactionRelay(chain.spec, following.send, pool_limits, pool_rules)
        sending.add_methods(registry, relaying)
    if with_test_methods or development is not None:
        from wsnode.ethereum.rpc.engine import testing

        testing.add_methods(registry, pool, next_block)
    if hub is not None:
        subscriptions.add_methods(registry, hub, limits)
        seconds, most = limits.min_block_seconds, limits.behind_waiting
        registry.barrier = barrier = BlockBarrier(hub, announced, seconds=seconds, most=most)
        if filter_keeper is None:
            filters.add_methods(registry, hub.pending, limits, filter_table)
        else:
            stored_filters.add_methods(registry, hub, barrier, limits, filter_keeper)
        min_block.add_methods(registry, barrier)
        min_block_wait.add_waiting(registry, barrier)
    for components in COMPONENTS:
        registry.define(components)
    add_discovery(registry, title="wsnode", version=release)
    return registry


def _add_sending(
    registry: Registry,
    chain: Chain,
    pool: TransactionPool,
    pending: PendingState,
    oracle: fees.PriceOracle,
    lists: access_lists.AccessListMethods,
    hub: Hub | None,
    development: "DevelopmentSetup | None",
    relay: Relay | None,
    limits: CallLimits,
) -> None:
    control = None if development is None else development.control
    estimating = calls.CallMethods(limits, pending)
    estimates_on = LATEST_BLOCK if control is None else NEXT_BLOCK
    execution = ExecutionCheck(chain, pending, estimates_on)
    sender = sending.TransactionSender(pool, None if control is None else control.settle, relay, execution)
    filler = transaction_filler.TransactionFiller(
        chain,
        pool,
        estimating,
        pending,
        oracle=oracle,
        estimates_on=estimates_on,
        changing=control,
        allows_zero_fees=control is not None,
    )
    sending.add_methods(registry, sender)
    transaction_filler.add_methods(registry, filler)
    if hub is None:
        return
    waiting = inclusion.InclusionWaiter(sender, hub)
    inclusion.add_methods(registry, waiting)
    if development is not None:
        # Nodes that make no blocks start sooner without this module.
        from wsnode.ethereum.rpc.development import methods as development_methods

        means = development_methods.DevelopmentParts(
            chain,
            pool,
            oracle,
            filler,
            waiting,
            execution,
            estimating,
            lists,
            traces.DebugTraceMethods(limits, pending),
            limits,
        )
        development_methods.add_methods(registry, development, means)
