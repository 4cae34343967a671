"""States and executions below the first block: by proofs of the other chain's states, not by its word."""

from collections.abc import Generator, Iterator, Sequence
from types import GeneratorType
from typing import Any, Final

from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.rpc.common.below_fork import below_of, number_elsewhere
from wsnode.ethereum.rpc.common.errors import PRUNED
from wsnode.ethereum.rpc.historical.executions import answered_by, block_name, executed
from wsnode.ethereum.rpc.historical.first_blocks import (
    BY_NONCE,
    OF_CREATOR,
    CreatorFallback,
    SenderNonceFallback,
)
from wsnode.ethereum.rpc.middlewares.upstream_fallback import (
    OF_BLOCKS,
    OF_TRANSACTIONS,
    TRACES,
    BlockFallback,
    FeeHistoryFallback,
    RangeFallback,
    TransactionFallback,
    UpstreamFallback,
    closed,
    is_traced,
    kept,
    named,
)
from wsnode.ethereum.snapshot import BlockName, CallerContext, HistoricalChain, Snapshot
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.method import Method
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Step

STATES: Final = (
    *("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt", "eth_getProof"),
    *("eth_getAccount", "eth_getAccountInfo", "eth_getStorageValues", "eth_call", "eth_estimateGas"),
    *("eth_createAccessList", "eth_simulateV1", "debug_traceCall", "debug_storageRangeAt", "trace_call"),
    *("trace_callMany", "trace_rawTransaction", "ots_hasCode"),
    *("debug_getModifiedAccountsByHash", "debug_getModifiedAccountsByNumber", "debug_executionWitness"),
)
"""Methods that read the state after a block given in their parameters."""
LISTING: Final = frozenset(
    {
        *("debug_storageRangeAt", "debug_getModifiedAccountsByHash", "debug_getModifiedAccountsByNumber"),
        "debug_executionWitness",
    }
)
"""Methods for which the values of a state must be listed; proofs are of values that are named."""


class HistoricalStateFallback(UpstreamFallback):
    """Calls a handler, and for the state after a block below the first one on that block's chain."""

    __slots__ = ()

    def _elsewhere(
        self, view: Snapshot, params: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any] | None:
        if failure is None and not isinstance(result, GeneratorType):
            return None
        for number, block_hash in named(view, self._read(params)):
            if number is not None and number < view.earliest:
                closed(result)
                return self._after(view, params, number)
            if block_hash is not None and view.block_rows(block_hash) is None:
                return self._of_hash(view, params, block_hash, result, failure)
        return None

    def _of_hash(
        self, view: Snapshot, params: bytes, block_hash: bytes, result: Any, failure: RpcError | None
    ) -> Generator[Step, Any, Any]:
        number = yield from number_elsewhere(view, "eth_getBlockByHash", block_hash)
        if number is None or number >= view.earliest:
            return (yield from kept(result, failure))
        closed(result)
        return (yield from self._after(view, params, block_hash))

    def _after(self, view: Snapshot, params: bytes, block: BlockName) -> Generator[Step, Any, Any]:
        if self._name in LISTING:
            raise history_unavailable("proofs do not list the values of a state below the fork")
        below = below_of(view)
        past = yield Await(lambda: below.begun_at(block))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


class BlockTraceFallback(BlockFallback):
    """Middleware that traces blocks below the first one by executing them, or else asks the other node."""

    __slots__ = ()

    def _of_number(
        self, view: Snapshot, params: bytes, number: int, block: str = ""
    ) -> Generator[Step, Any, Any]:
        name = bytes.fromhex(block[2:]) if block else block_name(view, number)
        past = (yield from executed(view, name)) if number else None
        if past is None:
            return (yield from super()._of_number(view, params, number, block))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


class TransactionTraceFallback(TransactionFallback):
    """Traces transactions below the first block by executing their blocks, as `BlockTraceFallback`."""

    __slots__ = ()

    def _of_number(self, view: Snapshot, params: bytes, key: bytes, number: int) -> Generator[Step, Any, Any]:
        past = yield from executed(view, block_name(view, number))
        if past is None or not _has(past, view.caller, key):
            return (yield from super()._of_number(view, params, key, number))
        return (yield from answered_by(past, view.caller, (self._name, self._inner), params))


def _has(past: HistoricalChain, caller: CallerContext, key: bytes) -> bool:
    with past.snapshot(caller) as view:
        return view.transaction(key) is not None


def add_elsewhere(registry: Registry) -> None:
    """Make methods answer for blocks below the first one, with results of another node."""
    for kind, names in _kinds():
        for name in names:
            if (method := registry.methods.get(name)) is not None:
                registry.methods[name] = _changed(method, kind)


def _kinds() -> Iterator[tuple[type[UpstreamFallback], Sequence[str]]]:
    yield BlockFallback, [name for name in OF_BLOCKS if not is_traced(name)]
    yield BlockTraceFallback, [name for name in OF_BLOCKS if is_traced(name)]
    yield TransactionFallback, [name for name in OF_TRANSACTIONS if not is_traced(name)]
    yield TransactionTraceFallback, [name for name in OF_TRANSACTIONS if is_traced(name)]
    yield RangeFallback, (TRACES,)
    yield FeeHistoryFallback, ("eth_feeHistory",)
    yield HistoricalStateFallback, STATES
    yield SenderNonceFallback, BY_NONCE
    yield CreatorFallback, (OF_CREATOR,)


def _changed(method: Method, kind: type[UpstreamFallback]) -> Method:
    is_named = any(error.code == PRUNED.code for error in method.errors)
    changed = method.failing([] if is_named else [PRUNED]).of_kind(
        kind(method.name, method.kind), kind(method.name, method.quick_kind)
    )
    if kind is HistoricalStateFallback:
        # The engine leaves to the handler what it does not find.
        return changed
    # What the engine does not find may be elsewhere.
    return changed.handled_alone()
