"""eth_newFilter, eth_getFilterChanges …: the polled filters of a network, which expire when not polled."""

from functools import partial
from operator import attrgetter
from typing import Final

import msgspec

from wsnode.ethereum.live.branches import UnknownPositionError
from wsnode.ethereum.live.contents import TransactionFilter
from wsnode.ethereum.live.pending_feed import PendingFeed, PendingSpec
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept
from wsnode.ethereum.rpc.common.parameters import Flag
from wsnode.ethereum.rpc.logs.filter_changes import ChainFilter, Filter, PendingFilter, Slices
from wsnode.ethereum.rpc.logs.filter_table import FILTERS_UNAVAILABLE, FilterTable, InMemoryFilters
from wsnode.ethereum.rpc.logs.methods import LOG_ERRORS, LogMethods, LogParameters, contracts_of, wanted_logs
from wsnode.ethereum.rpc.logs.schemas import CHANGES, IDENTITY, LOGS
from wsnode.ethereum.rpc.logs.subscription_options import IdParameters
from wsnode.ethereum.rpc.logs.subscriptions import live_range, receivers_of, unknown_block
from wsnode.ethereum.rpc.logs.transaction_filters import Selection
from wsnode.ethereum.snapshot import CallerContext, Snapshot
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN
from wsnode.jsonrpc.work import JsonText


class PendingParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[full, filter]`: true for transactions as objects instead of hashes, and an object that selects
    transactions by sender or receiver.
    """

    full: Flag | None = None
    selection: Selection | None = None

    @property
    def subject(self) -> PendingSpec:
        full = self.full is not None and self.full.is_set
        wanted = TransactionFilter() if self.selection is None else self.selection.wanted
        return PendingSpec(full, wanted)

    @property
    def receivers(self) -> list[int]:
        return receivers_of(self.subject.wanted)


class FilterMethods:
    """Handlers of eth_newFilter, eth_getFilterChanges and the other methods of polled filters, with filters
    in a `FilterTable` of this machine.
    """

    def __init__(self, feed: PendingFeed, limits: CallLimits, table: FilterTable | None = None) -> None:
        """Make the methods; `table` keeps the filters, by default in this process's memory."""
        self._feed = feed
        self._limits = limits
        self._logs = LogMethods(limits)
        self._table = table or InMemoryFilters(limits)

    def new_filter(self, view: Snapshot, params: LogParameters) -> JsonText:
        """Return the id of a new filter of logs, to poll with eth_getFilterChanges."""
        first, last = live_range(params.filter)
        wanted = wanted_logs(params.filter, self._limits).between(first, last).canonical()
        return self._add(view, ChainFilter(view, wanted, params.filter))

    def new_block_filter(self, view: Snapshot) -> JsonText:
        """Return the id of a new filter of block hashes, to poll with eth_getFilterChanges."""
        return self._add(view, ChainFilter(view))

    def new_pending_filter(self, view: Snapshot, params: PendingParameters) -> JsonText:
        """Return the id of a new filter of pending transactions, to poll with eth_getFilterChanges."""
        return self._add(view, PendingFilter(self._feed, params.subject))

    def changes(self, view: Snapshot, params: IdParameters) -> Slices:
        """Return the list of results since the filter's last poll; those beyond the limit come with the
        next.
        """
        found = self._find(view, params.id)
        try:
            return (yield from found.changes(view, self._limits.logs_results))
        except UnknownPositionError as error:
            assert isinstance(found, ChainFilter)
            found.move(Position.after(view.head))
            require_kept(view, error.position.number)
            raise unknown_block(error) from None

    def logs(self, view: Snapshot, params: IdParameters) -> Slices:
        """Return all logs that match a filter of logs, in chain order, as eth_getLogs does."""
        found = self._find(view, params.id)
        if not isinstance(found, ChainFilter) or found.filter_object is None:
            raise not_found()
        return (yield from self._logs.get_logs(view, LogParameters(found.filter_object)))

    def uninstall(self, caller: CallerContext, params: IdParameters) -> JsonText:
        """Return whether a filter with this id existed, and remove it."""
        return b"true" if self._table.remove(params.id, caller) else b"false"

    def _add(self, view: Snapshot, new: Filter) -> JsonText:
        return b'"%b"' % self._table.add(new, view.caller).encode()

    def _find(self, view: Snapshot, identity: str) -> Filter:
        if (found := self._table.find(identity, view.caller)) is None:
            raise not_found()
        return found


def not_found() -> RpcError:
    """Return the error for an id of no filter."""
    return server_error("filter not found")


CHANGES_ERRORS: Final = (
    not_found(),
    FILTERS_UNAVAILABLE,
    limit_exceeded("pending transactions were missed"),
    RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
)


def add_methods(
    registry: Registry, feed: PendingFeed, limits: CallLimits, table: FilterTable | None = None
) -> None:
    """Register this module's methods; `table` keeps the filters, in this process's memory if None."""
    filters = FilterMethods(feed, limits, table)
    making = partial(
        registry.method, result=IDENTITY, errors=(limit_exceeded("too many filters"), FILTERS_UNAVAILABLE)
    )
    making("eth_newFilter", contracts=contracts_of)(filters.new_filter)
    making("eth_newBlockFilter")(filters.new_block_filter)
    making("eth_newPendingTransactionFilter", contracts=attrgetter("receivers"))(filters.new_pending_filter)
    registry.method("eth_uninstallFilter", caller=True, result=BOOLEAN, errors=(FILTERS_UNAVAILABLE,))(
        filters.uninstall
    )
    timed_out = limit_exceeded("query timeout exceeded")
    polling = partial(registry.method, deadline=limits.logs_seconds, timeout_error=timed_out)
    polling("eth_getFilterChanges", result=CHANGES, errors=CHANGES_ERRORS)(filters.changes)
    polling("eth_getFilterLogs", result=LOGS, errors=(not_found(), FILTERS_UNAVAILABLE, *LOG_ERRORS))(
        filters.logs
    )
