"""eth_subscribe and eth_unsubscribe: events over a connection, from a position that the client chooses."""

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownPositionError, is_canonical, known_rows
from wsnode.ethereum.live.contents import BlockContentOptions, Hashes, TransactionFilter
from wsnode.ethereum.live.history import history_of, position_before, require_on_chain
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.notices import named
from wsnode.ethereum.live.pending_feed import PendingSpec
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.live.subscription import PendingSubscription, StoreSubscription, SyncSubscription
from wsnode.ethereum.live.subscription_spec import (
    BlockSpec,
    HeaderSpec,
    LogSpec,
    MinedSpec,
    ReceiptSpec,
    StoredSubject,
)
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.common.below_fork import await_below
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import numbered, require_kept, tagged
from wsnode.ethereum.rpc.common.parameters import (
    EARLIEST,
    FINALIZED,
    LATEST,
    PENDING,
    SAFE,
    NumberOrTag,
    numbers,
)
from wsnode.ethereum.rpc.common.results import PRUNED
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.live_values import (
    CallOptions,
    CallSubscriptionFactory,
    LiveQuota,
    StateOptions,
    StateSubscriptionFactory,
)
from wsnode.ethereum.rpc.logs.methods import wanted_logs
from wsnode.ethereum.rpc.logs.schemas import IDENTITY
from wsnode.ethereum.rpc.logs.subscription_options import (
    IdParameters,
    PendingOptions,
    SubscribeDecoder,
    SubscribeOptions,
    SubscribeParameters,
)
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.ethereum.snapshot import ForkBackend, Snapshot
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.jsonrpc.errors import (
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RpcError,
    invalid_params,
    limit_exceeded,
    notifications_not_supported,
    server_error,
)
from wsnode.jsonrpc.schema import BOOLEAN
from wsnode.jsonrpc.work import JsonText, Step, Steps
from wsnode.pubsub.subscription import EventChannel, Subscription

_SUBSCRIBE_ERRORS: Final = (
    PRUNED,
    RpcError(METHOD_NOT_FOUND, 'no "x" subscription in eth namespace'),
    notifications_not_supported(),
    RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
    limit_exceeded("subscription limit exceeded"),
)


class SubscriptionMethods:
    """Handlers of eth_subscribe and eth_unsubscribe, with a maker of each kind of subscription."""

    def __init__(self, hub: Hub, limits: CallLimits, fetchers: Callable[[], StateFetchers | None]) -> None:
        """Make the methods; `fetchers` returns the source of unknown state, None if there is none."""
        self._hub = hub
        self._limits = limits
        self._quota = LiveQuota(hub, limits)
        self._values = StateSubscriptionFactory(hub, limits, self._quota)
        self._outcomes = CallSubscriptionFactory(hub, limits, self._quota, fetchers)
        self._makers: dict[str, Callable[[EventChannel, SubscribeParameters], Subscription]] = {
            "alchemy_minedTransactions": self._mined,
            "alchemy_pendingTransactions": self._selected,
            "calls": lambda channel, params: self._outcomes.subscribe(channel, params.argument),
            "logs": self._logs,
            "newBlocks": self._blocks,
            "newHeads": self._headers,
            "newPendingTransactions": self._pending,
            "state": self._state,
            "syncing": lambda channel, _params: SyncSubscription(channel, hub.syncing),
            "transactionReceipts": self._receipts,
        }

    def subscribe(self, channel: EventChannel, params: SubscribeParameters) -> JsonText | Steps:
        """Return the id of a new subscription; its events follow as notifications on this connection."""
        if (options := params.start) is not None:
            with self._hub.snapshot() as view:
                below, start = view.below, _start_below(view, options)
            if below is not None and start is not None:
                return self._subscribe_below(channel, params, _position_below(below, start))
        return self._subscribe(channel, params)

    def _subscribe_below(
        self, channel: EventChannel, params: SubscribeParameters, start: Generator[Step, Any, Position]
    ) -> Steps:
        return self._subscribe(channel, params.starting_at((yield from start)))

    def _subscribe(self, channel: EventChannel, params: SubscribeParameters) -> JsonText:
        subscription = self._makers[params.kind](channel, params)
        self._require_room(channel, subscription.weight)
        channel.subscriptions.add(subscription)
        # The subscription subtracts its weight when it ends.
        self._hub.parameters += subscription.weight
        if subscription.values:
            self._quota.take(channel, subscription.values)
        return b'"%b"' % subscription.identity

    def _require_room(self, channel: EventChannel, weight: int) -> None:
        limits = self._limits
        for limit, used in (
            (limits.subscriptions_parameters_per_connection, channel.subscriptions.weight),
            (limits.subscriptions_parameters, self._hub.parameters),
        ):
            if used + weight > limit and weight:
                message = "subscriptions name too many addresses, topics and transactions"
                raise limit_exceeded(message, {"parameters": limit})

    def unsubscribe(self, channel: EventChannel, params: IdParameters) -> JsonText:
        """Return true once the subscription has ended; no notification with this id follows."""
        if not channel.subscriptions.remove(params.id.encode(errors="replace")):
            raise server_error("subscription not found")
        return b"true"

    def _logs(self, channel: EventChannel, params: SubscribeParameters) -> StoreSubscription:
        filter_object: FilterObject
        options: SubscribeOptions
        filter_object, options = params.argument
        wanted = wanted_logs(filter_object, self._limits)
        with self._hub.snapshot() as view:
            resumes, replays = options.cursor is not None, options.from_block is not None
            first, last = live_range(filter_object, resumes=resumes, replays=replays)
            position = _position(view, options)
            if first <= view.number + 1:
                # The next block is not below `first`, so the subscription holds no block back and shares the
                # group of all subscriptions to these logs.
                first = 0
        subject = LogSpec(wanted.between(first, last).canonical(), options.form)
        return StoreSubscription("logs", channel, self._hub, subject, position)

    def _headers(self, channel: EventChannel, params: SubscribeParameters) -> StoreSubscription:
        options: SubscribeOptions = params.argument
        return self._begun_by("newHeads", channel, HeaderSpec(options.form), options)

    def _blocks(self, channel: EventChannel, params: SubscribeParameters) -> StoreSubscription:
        contents: BlockContentOptions
        options: SubscribeOptions
        contents, options = params.argument
        return self._begun_by(params.kind, channel, BlockSpec(contents, options.form), options)

    def _state(self, channel: EventChannel, params: SubscribeParameters) -> Subscription:
        return self._values.subscribe(channel, params.argument)

    def _mined(self, channel: EventChannel, params: SubscribeParameters) -> StoreSubscription:
        subject: MinedSpec = params.argument
        return StoreSubscription(params.kind, channel, self._hub, subject)

    def _receipts(self, channel: EventChannel, params: SubscribeParameters) -> StoreSubscription:
        hashes: Hashes
        options: SubscribeOptions
        hashes, options = params.argument
        return self._begun_by("transactionReceipts", channel, ReceiptSpec(hashes, options.form), options)

    def _begun_by(
        self, kind: str, channel: EventChannel, subject: StoredSubject, options: SubscribeOptions
    ) -> StoreSubscription:
        with self._hub.snapshot() as view:
            position = _position(view, options)
        return StoreSubscription(kind, channel, self._hub, subject, position)

    def _pending(self, channel: EventChannel, params: SubscribeParameters) -> PendingSubscription:
        options: PendingOptions = params.options
        subject = PendingSpec(params.argument, options.wanted)
        return PendingSubscription(params.kind, channel, self._hub, subject, has_notices=options.has_notices)

    def _selected(self, channel: EventChannel, params: SubscribeParameters) -> PendingSubscription:
        subject: PendingSpec = params.argument
        return PendingSubscription(params.kind, channel, self._hub, subject)


def live_range(
    filter_object: FilterObject, *, resumes: bool = False, replays: bool = False
) -> tuple[int, int | None]:
    """Return the first and the last block whose logs a client receives; None means no last block.

    A subscription that `resumes` from a cursor needs no first block; one that `replays` may begin at any tag.

    Raises:
        RpcError: They are in the wrong order or do not exist yet (geth, eth/filters: SubscribeLogs).
    """
    first, last = filter_object.from_block, filter_object.to_block
    if last == EARLIEST:
        last = NumberOrTag(0)
    if PENDING in (first, last):
        raise invalid_params("pending logs are not supported")
    if first in (SAFE, FINALIZED) and not replays:
        raise invalid_params("invalid block range params")
    begin = max(first or 0, 0)
    if last is None or last == LATEST:
        return begin, None
    if (first in (None, LATEST) and not resumes) or last < begin:
        raise invalid_params("invalid block range params")
    return begin, last


def _position(view: Snapshot, options: SubscribeOptions) -> Position | None:
    """Return the position where a subscription begins, None for the head.

    Raises:
        RpcError: The cursor's block is unknown or pruned, or no block has the tag.
    """
    if options.cursor is not None:
        _require_known(view, options.cursor)
        return options.cursor
    first = None if options.from_block is None else numbered(view, options.from_block)
    if first is None:
        return None
    if first == 0:
        return BEGINNING
    header = view.header(first)
    # Below the first block of a window no block is stored, so the hash is taken from the header of its child.
    before = view.hash_of(first - 1) if header is None else view.parent_hash(header)
    assert before is not None, "at most the block after the head is not stored"
    return Position.after(Head(BlockNumber(first - 1), before))


def _start_below(view: Snapshot, options: SubscribeOptions) -> Position | int | None:
    """Return the cursor or the first block of a subscription that begins below a fork, None for others."""
    cursor, first = options.cursor, options.from_block
    if cursor is not None:
        return None if history_of(view, cursor) is None else cursor
    if first is None or first == PENDING:
        return None
    number = first if first >= 0 else tagged(view, first)
    return None if number is None or number >= view.earliest else int(number)


def _position_below(below: ForkBackend, start: Position | int) -> Generator[Step, Any, Position]:
    """Return the position at a cursor, or before a block, of the chain below a fork.

    Raises:
        RpcError: The other chain has no such block, or its node does not say.
    """
    if isinstance(start, int):
        return (yield from await_below(lambda: position_before(below, start)))
    try:
        yield from await_below(lambda: require_on_chain(below, start))
    except UnknownPositionError as error:
        raise unknown_block(error) from None
    return start


def _require_known(view: Snapshot, cursor: Position) -> None:
    if history_of(view, cursor) is not None:
        # The other chain's node has already been asked about a position below the fork.
        return
    try:
        # Only the cursor's own block is checked: the blocks below it are read one by one when they are taken
        # back.
        if not is_canonical(view, cursor):
            known_rows(view, cursor)
    except UnknownPositionError as error:
        require_kept(view, max(error.position.number, 0))
        raise unknown_block(error) from None


def unknown_block(error: UnknownPositionError) -> RpcError:
    """Return the error for a position whose block the node lacks."""
    return RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown", named(error.position.head))


def _contracts_of(params: SubscribeParameters) -> Iterable[int] | None:
    match params.kind:
        case "calls":
            calls: CallOptions = params.argument
            return calls.contracts
        case "logs":
            return numbers(params.argument[0].wanted.addresses) or None
        case "state":
            options: StateOptions = params.argument
            return options.contracts
        case "newPendingTransactions":
            return receivers_of(params.options.wanted)
        case "alchemy_pendingTransactions":
            return receivers_of(params.argument.wanted)
        case "alchemy_minedTransactions":
            pairs = params.argument.wanted.pairs or ()
            return numbers(receiver for _sender, receiver in pairs if receiver is not None)
    # Other kinds of subscription name no contracts.
    return []


def receivers_of(wanted: TransactionFilter) -> list[int]:
    """Return the receivers that a filter names, as numbers."""
    return numbers(wanted.receivers or ())


def add_methods(registry: ChainRegistry, hub: Hub, limits: CallLimits) -> None:
    """Register this module's methods."""
    methods = SubscriptionMethods(hub, limits, lambda: registry.state_fetchers)
    subscribe = registry.method(
        "eth_subscribe",
        channel=True,
        decoder=SubscribeDecoder(),
        result=IDENTITY,
        errors=_SUBSCRIBE_ERRORS,
        contracts=_contracts_of,
    )
    subscribe(methods.subscribe)
    unsubscribe = registry.method(
        "eth_unsubscribe", channel=True, result=BOOLEAN, errors=(server_error("subscription not found"),)
    )
    unsubscribe(methods.unsubscribe)
