"""Filter methods of a chain with several nodes, of which any answers a poll.

A filter is a wish and a position. A poll reads both, finds the results in this node's store, and moves the
position; the results are returned only if the position had not moved since the poll began. Filters of pending
transactions stay in the memory of a process, since each has its own pending transactions.
"""

import re
from collections.abc import Generator
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

import msgspec

from wsnode.ethereum.live.block_barrier import BlockBarrier, SeenHead
from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.live.filter_store import (
    FilterQuota,
    FilterQuotaError,
    FilterStore,
    FilterStoreUnavailableError,
    StoredFilter,
    UnreadableFilterError,
)
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept
from wsnode.ethereum.rpc.common.parameters import TAG_NAMES, NumberOrTag
from wsnode.ethereum.rpc.logs.filter_changes import NOTHING, PendingFilter, results_since, starting_position
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.filter_table import IDENTITY_LENGTH, InMemoryFilters, new_identity
from wsnode.ethereum.rpc.logs.filters import CHANGES_ERRORS, PendingParameters, not_found
from wsnode.ethereum.rpc.logs.methods import PARAMETERS, LogMethods, LogParameters, contracts_of, wanted_logs
from wsnode.ethereum.rpc.logs.schemas import CHANGES, IDENTITY, LOGS
from wsnode.ethereum.rpc.logs.subscription_options import IdParameters
from wsnode.ethereum.rpc.logs.subscriptions import live_range, unknown_block
from wsnode.ethereum.snapshot import CallerContext, Snapshot
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError, limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN
from wsnode.jsonrpc.work import Await, JsonText, Step, Steps

OF_BLOCKS: Final = b"[]"
"""Wish of a filter of blocks; that of a filter of logs is the parameters of eth_newFilter."""
AWAY: Final = RpcError(RESOURCE_UNAVAILABLE, "the journal with the filters does not answer, try again")
_IDENTITY: Final = re.compile(rf"0x[0-9a-f]{{{IDENTITY_LENGTH - 2}}}", re.ASCII)


class PolledFilter(msgspec.Struct, frozen=True):
    """Polled filter from the store shared by all nodes, decoded for one poll; `logs` is None for a filter of
    block hashes.
    """

    parameters: LogParameters | None
    """Filter of logs as the client sent it; None for hashes of blocks."""
    logs: LogFilter | None
    position: Position


class StoredFilterMethods:
    """Handlers of eth_newFilter, eth_getFilterChanges and the other methods of polled filters, with filters
    in a store shared by all nodes.
    """

    def __init__(self, hub: Hub, barrier: BlockBarrier, limits: CallLimits, store: FilterStore) -> None:
        self._hub = hub
        self._barrier = barrier
        self._limits = limits
        self._keeper = store
        self._logs = LogMethods(limits)
        self._pending = InMemoryFilters(limits)

    def new_filter(self, caller: CallerContext, params: LogParameters) -> Steps:
        """Return the id of a new filter of logs, to poll with eth_getFilterChanges."""
        wanted = live_logs(params, self._limits)
        return (yield from self._add(caller, wish_of(params.filter), wanted.parameter_count))

    def new_block_filter(self, caller: CallerContext) -> Steps:
        """Return the id of a new filter of block hashes, to poll with eth_getFilterChanges."""
        return (yield from self._add(caller, OF_BLOCKS, 0))

    def new_pending_filter(self, caller: CallerContext, params: PendingParameters) -> JsonText:
        """Return the id of a new filter of pending transactions, to poll with eth_getFilterChanges."""
        return b'"%b"' % self._pending.add(PendingFilter(self._hub.pending, params.subject), caller).encode()

    def changes(self, caller: CallerContext, params: IdParameters) -> Steps:
        """Return the list of results since the filter's last poll; those beyond the limit come with the
        next.
        """
        most = self._limits.logs_results
        if (own := self._pending.find(params.id, caller)) is not None:
            with self._hub.snapshot() as view:
                return (yield from own.changes(view, most))
        wanted = yield from self._find(caller, params.id)
        yield from self._reach(caller, wanted.position)
        with self._hub.snapshot() as view:
            results, position = yield from _results(view, wanted, most)
        if not (yield from self._move(params.id, wanted.position, position)):
            # A concurrent poll has returned these results already.
            return NOTHING
        return b"[%b]" % b",".join(results)

    def logs(self, caller: CallerContext, params: IdParameters) -> Steps:
        """Return all logs that match a filter of logs, in chain order, as eth_getLogs does."""
        wanted = yield from self._find(caller, params.id)
        if wanted.parameters is None:
            raise not_found()
        yield from self._move(params.id, wanted.position, wanted.position)
        with self._hub.snapshot() as view:
            return (yield from self._logs.get_logs(view, wanted.parameters))

    def uninstall(self, caller: CallerContext, params: IdParameters) -> Steps:
        """Return whether a filter with this id existed, and remove it."""
        if self._pending.remove(params.id, caller):
            return b"true"
        if _IDENTITY.fullmatch(params.id) is None or not (yield from self._may_remove(caller, params.id)):
            return b"false"
        removed = yield from _asked(partial(self._keeper.remove, params.id))
        return b"true" if removed else b"false"

    def _may_remove(self, caller: CallerContext, identity: str) -> Generator[Step, Any, bool]:
        """Return True if a filter belongs to the caller's key, or cannot be read."""
        try:
            kept: StoredFilter | None = yield from _asked(partial(self._keeper.find, identity))
        except UnreadableFilterError:
            return True
        return kept is not None and kept.owner == owner_of(caller)

    def _add(self, caller: CallerContext, wish: bytes, weight: int) -> Steps:
        identity = new_identity()
        with self._hub.snapshot() as view:
            place = str(starting_position(view)).encode()
        room = room_for(caller, weight, self._limits)
        try:
            yield from _asked(
                partial(self._keeper.add, identity, StoredFilter(wish, place, owner_of(caller)), room)
            )
        except FilterQuotaError:
            raise limit_exceeded("too many filters") from None
        return b'"%b"' % identity.encode()

    def _find(self, caller: CallerContext, identity: str) -> Generator[Step, Any, PolledFilter]:
        """Return the filter of the caller's key with this id, and its position.

        Raises:
            RpcError: There is none, or the store of filters does not answer.
        """
        if _IDENTITY.fullmatch(identity) is None:
            raise not_found()
        try:
            kept: StoredFilter | None = yield from _asked(partial(self._keeper.find, identity))
            if kept is not None and kept.owner == owner_of(caller):
                return read_filter(kept, self._limits)
        except UnreadableFilterError as error:
            self._keeper.report(identity, str(error))
        raise not_found()

    def _reach(self, caller: CallerContext, position: Position) -> Steps:
        """Wait for the block of a position, which another node has already."""
        seen = SeenHead(position.number, position.hash)
        if position != BEGINNING and not self._barrier.has_come(seen):
            yield Await(partial(self._barrier.wait, (seen,), caller.client))

    def _move(self, identity: str, began: Position, position: Position) -> Generator[Step, Any, bool]:
        """Set a filter's position and return True; return False if it is no longer at `began`."""
        places = (str(began).encode(), str(position).encode())
        try:
            moved: bool = yield Await(partial(self._keeper.move, identity, *places))
        except FilterStoreUnavailableError:
            # The position may have moved: no results are returned, and the cursor names their beginning.
            raise RpcError(AWAY.code, AWAY.message, {"cursor": str(began)}) from None
        return moved


def _results(
    view: Snapshot, wanted: PolledFilter, most: int
) -> Generator[None, Any, tuple[list[bytes], Position]]:
    try:
        return (yield from results_since(view, wanted.logs, wanted.position, most))
    except UnknownPositionError as error:
        # The filter's position stays unchanged, because another node may have the block.
        require_kept(view, error.position.number)
        raise unknown_block(error) from None


def _asked(question: Any) -> Steps:
    try:
        return (yield Await(question))
    except FilterStoreUnavailableError:
        raise AWAY from None


def live_logs(params: LogParameters, limits: CallLimits) -> LogFilter:
    """Return the filter of the logs that polls return.

    Raises:
        RpcError: Its blocks are in the wrong order, or it names too much.
    """
    first, last = live_range(params.filter)
    return wanted_logs(params.filter, limits).between(first, last).canonical()


def read_filter(kept: StoredFilter, limits: CallLimits) -> PolledFilter:
    """Return the decoded filter; its stored bytes are untrusted.

    Raises:
        UnreadableFilterError: The bytes are no filter.
    """
    try:
        position = Position.parse(kept.place.decode())
        if kept.wish == OF_BLOCKS:
            return PolledFilter(None, None, position)
        params = PARAMETERS.read(kept.wish)
        return PolledFilter(params, live_logs(params, limits), position)
    except (RpcError, ValueError, *UNREADABLE) as error:
        raise UnreadableFilterError(str(error)) from None


def wish_of(wanted: FilterObject) -> bytes:
    """Return the parameters of eth_newFilter as compact JSON: an array of one object without null members."""
    members: dict[str, Any] = {
        "fromBlock": _written(wanted.from_block),
        "toBlock": _written(wanted.to_block),
        "blockHash": None if wanted.block_hash is None else hexadecimal(wanted.block_hash),
        "address": [hexadecimal(address) for address in wanted.wanted.addresses] or None,
        "topics": [[hexadecimal(topic) for topic in each] or None for each in wanted.wanted.topics] or None,
    }
    return msgspec.json.encode([{name: value for name, value in members.items() if value is not None}])


def _written(bound: NumberOrTag | None) -> str | None:
    if bound is None:
        return None
    return hex(bound) if bound >= 0 else TAG_NAMES[bound]


def owner_of(caller: CallerContext) -> bytes:
    """Return the hash of the caller's key name, the owner of a shared filter; empty without a key."""
    return b"" if caller.key_name is None else sha256(caller.key_name.encode()).hexdigest().encode()


def room_for(caller: CallerContext, weight: int, limits: CallLimits) -> FilterQuota:
    """Return the quota for a new filter of the caller.

    The holder is the caller's key, else its network address. The other members are the filter's weight, and
    the maximum numbers and weight of filters.
    """
    key, client = caller.key_name, caller.client
    peer = None if client is None else client.peer
    holder = f"k{key}" if key is not None else "" if peer is None else f"c{peer}"
    half = max(1, limits.filters // 2)
    held = half if key is None else min(half, limits.filters_per_key)
    return FilterQuota(holder, weight, limits.filters, held, limits.filters_parameters)


def add_methods(
    registry: Registry, hub: Hub, barrier: BlockBarrier, limits: CallLimits, store: FilterStore
) -> None:
    """Register the filter methods, with filters that `store` keeps for all nodes."""
    filters = StoredFilterMethods(hub, barrier, limits, store)
    errors = (limit_exceeded("too many filters"), AWAY)
    making = partial(registry.method, caller=True, result=IDENTITY, errors=errors)
    making("eth_newFilter", contracts=contracts_of)(filters.new_filter)
    making("eth_newBlockFilter")(filters.new_block_filter)
    making("eth_newPendingTransactionFilter", contracts=attrgetter("receivers"))(filters.new_pending_filter)
    asking = partial(registry.method, caller=True)
    asking("eth_uninstallFilter", result=BOOLEAN, errors=(AWAY,))(filters.uninstall)
    timed_out = limit_exceeded("query timeout exceeded")
    polling = partial(asking, deadline=limits.logs_seconds, timeout_error=timed_out)
    polling("eth_getFilterChanges", result=CHANGES, errors=(*CHANGES_ERRORS, AWAY))(filters.changes)
    polling("eth_getFilterLogs", result=LOGS, errors=(not_found(), AWAY))(filters.logs)
