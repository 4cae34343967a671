"""eth_subscribe and eth_unsubscribe: events over a connection, from a position that the client chooses."""

from collections.abc import Callable
from typing import Final

from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import UnknownBlockError, is_canonical, known_rows
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.notices import named
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.live.receipts import Hashes
from wsnode.ethereum.live.subjects import HeaderSubject, LogSubject, ReceiptSubject, StoredSubject
from wsnode.ethereum.live.subscription import PendingSubscription, StoreSubscription, SyncSubscription
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.form.errors import PRUNED
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.form.lookup import numbered, require_kept
from wsnode.ethereum.rpc.form.named_contracts import numbers
from wsnode.ethereum.rpc.form.parameters import FINALIZED, LATEST, PENDING, SAFE
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.ethereum.rpc.logs.methods import wanted_logs
from wsnode.ethereum.rpc.logs.schemas import IDENTITY
from wsnode.ethereum.rpc.logs.subscription_options import (
    IdParameters,
    Options,
    SubscribeDecoder,
    SubscribeParameters,
)
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import (
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RpcError,
    invalid_params,
    limit_exceeded,
    notifications_not_supported,
    server_error,
)
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN
from wsnode.pubsub.subscription import Channel, Subscription

_SUBSCRIBE_ERRORS: Final = (
    PRUNED,
    RpcError(METHOD_NOT_FOUND, 'no "x" subscription in eth namespace'),
    notifications_not_supported(),
    RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
    limit_exceeded("subscription limit exceeded"),
)


class Subscriptions:
    """The subscription methods of one hub."""

    def __init__(self, hub: Hub, limits: CallLimits) -> None:
        self._hub = hub
        self._limits = limits
        self._makers: dict[str, Callable[[Channel, SubscribeParameters], Subscription]] = {
            "logs": self._logs,
            "newHeads": self._headers,
            "newPendingTransactions": self._pending,
            "syncing": lambda channel, _params: SyncSubscription(channel, hub.syncing),
            "transactionReceipts": self._receipts,
        }

    def subscribe(self, channel: Channel, params: SubscribeParameters) -> bytes:
        """Return the id of a new subscription; its events follow as notifications on this connection."""
        subscription = self._makers[params.kind](channel, params)
        self._require_room(channel, subscription.weight)
        channel.subscriptions.add(subscription)
        # Subtracted again when the subscription ends.
        self._hub.parameters += subscription.weight
        return b'"%b"' % subscription.identity

    def _require_room(self, channel: Channel, weight: int) -> None:
        limits = self._limits
        for limit, used in (
            (limits.subscriptions_parameters_per_connection, channel.subscriptions.weight),
            (limits.subscriptions_parameters, self._hub.parameters),
        ):
            if used + weight > limit and weight:
                message = "subscriptions name too many addresses, topics and transactions"
                raise limit_exceeded(message, {"parameters": limit})

    def unsubscribe(self, channel: Channel, params: IdParameters) -> bytes:
        """Return true once the subscription has ended; no notification with this id follows."""
        if not channel.subscriptions.remove(params.id.encode(errors="replace")):
            raise server_error("subscription not found")
        return b"true"

    def _logs(self, channel: Channel, params: SubscribeParameters) -> StoreSubscription:
        filter_object: FilterObject
        options: Options
        filter_object, options = params.argument
        wanted = wanted_logs(filter_object, self._limits)
        with self._hub.snapshot() as view:
            resumes, replays = options.cursor is not None, options.from_block is not None
            first, last = live_range(filter_object, resumes=resumes, replays=replays)
            position = _position(view, options)
            if first <= view.number + 1:
                # It has nothing to hold back, so it shares the group of all that want these logs.
                first = 0
        subject = LogSubject(wanted.between(first, last).canonical(), options.form)
        return StoreSubscription("logs", channel, self._hub, subject, position)

    def _headers(self, channel: Channel, params: SubscribeParameters) -> StoreSubscription:
        options: Options = params.argument
        return self._begun_by("newHeads", channel, HeaderSubject(options.form), options)

    def _receipts(self, channel: Channel, params: SubscribeParameters) -> StoreSubscription:
        hashes: Hashes
        options: Options
        hashes, options = params.argument
        return self._begun_by("transactionReceipts", channel, ReceiptSubject(hashes, options.form), options)

    def _begun_by(
        self, kind: str, channel: Channel, subject: StoredSubject, options: Options
    ) -> StoreSubscription:
        with self._hub.snapshot() as view:
            position = _position(view, options)
        return StoreSubscription(kind, channel, self._hub, subject, position)

    def _pending(self, channel: Channel, params: SubscribeParameters) -> PendingSubscription:
        feed = self._hub.pending
        group = feed.full if params.argument else feed.hashes
        return PendingSubscription(params.kind, channel, feed, group, has_notices=params.options)


def live_range(
    filter_object: FilterObject, *, resumes: bool = False, replays: bool = False
) -> tuple[int, int | None]:
    """Return the first and the last block whose logs a client receives; None means no last block.

    A subscription that `resumes` from a cursor needs no first block; one that `replays` may begin at any tag.

    Raises:
        RpcError: They are in the wrong order or do not exist yet (geth, eth/filters: SubscribeLogs).
    """
    first, last = filter_object.from_block, filter_object.to_block
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


def _position(view: Snapshot, options: Options) -> Position | None:
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
    # Below the first block of a window there is no other, but it names its parent.
    before = view.hash_of(first - 1) if header is None else view.parent_hash(header)
    assert before is not None, "at most the block after the head is not stored"
    return Position.after(Head(BlockNumber(first - 1), before))


def _require_known(view: Snapshot, cursor: Position) -> None:
    try:
        # Blocks below it are read one by one as they are taken back.
        if not is_canonical(view, cursor):
            known_rows(view, cursor)
    except UnknownBlockError as error:
        require_kept(view, error.position.number)
        raise unknown_block(error) from None


def unknown_block(error: UnknownBlockError) -> RpcError:
    """Return the error for a position whose block the node lacks."""
    return RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown", named(error.position.head))


def _contracts_of(params: SubscribeParameters) -> list[int] | None:
    # Only logs belong to contracts; other kinds of subscription name none.
    return numbers(params.argument[0].wanted.addresses) or None if params.kind == "logs" else []


def add_methods(registry: Registry, hub: Hub, limits: CallLimits) -> None:
    """Register this module's methods."""
    methods = Subscriptions(hub, limits)
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
