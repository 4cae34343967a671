"""Subscriptions over a connection, each from a chosen position, and their end."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, invalid_params, limit_exceeded
from wsnode.pubsub.subscription import EventChannel
from wsnode.starknet.block_id import ByHash, ByNumber
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.live.messages import Family, NotificationForm
from wsnode.starknet.live.position import (
    StarknetPosition,
    UnknownStarknetBlockError,
    dropped_from,
    position_at,
)
from wsnode.starknet.live.streams import (
    HEADS,
    EventSpec,
    ReceiptStream,
    StatusStream,
    Stream,
    TransactionStream,
)
from wsnode.starknet.live.subscription import BlockSubscription
from wsnode.starknet.rpc.errors import (
    block_not_found,
    history_unavailable,
    invalid_subscription_id,
    needs_newer_version,
    too_many_blocks_back,
    transactions_unavailable,
)
from wsnode.starknet.rpc.params import EmitterList
from wsnode.starknet.rpc.subscription_params import (
    ACCEPTED,
    PRE_CONFIRMED,
    HeadsParams,
    IdParams,
    SenderList,
    SubscribeEventsParams,
    SubscribeReceiptsParams,
    SubscribeStatusParams,
    SubscribeTransactionsParams,
    SubscriptionStart,
)
from wsnode.starknet.snapshot import BEFORE_0_10, StarknetSnapshot

MAX_BLOCKS_BACK: Final = 1024
MAX_PARAMETERS: Final = 500_000
"""Maximum number of addresses, keys and hashes in all subscriptions of a chain, of about 100 bytes each."""
MAX_PARAMETERS_A_CONNECTION: Final = 16_384
"""Maximum number of addresses, keys and hashes in the subscriptions of one connection."""

Handler = Callable[[EventChannel, Any], bytes]


class _Cursors(Protocol):
    @property
    def cursor(self) -> str | None: ...

    @property
    def cursors(self) -> bool: ...


class StarknetSubscriptionMethods:
    """Subscription methods for the Starknet chain of one hub, under the names of a family: `alt_` or
    `starknet_`.
    """

    def __init__(self, hub: StarknetHub, family: Family) -> None:
        self._hub = hub
        self._family = family

    def subscribe_new_heads(self, channel: EventChannel, params: HeadsParams) -> bytes:
        """Return the id of a new subscription; new headers follow as notifications on this connection."""
        return self._open(channel, HEADS, params, params.block_id)

    def subscribe_events(self, channel: EventChannel, params: SubscribeEventsParams) -> bytes:
        """Return the id of a new subscription; events that match follow as notifications.

        With the finality PRE_CONFIRMED those of a block under way come too.
        """
        if _is_before_0_10(channel) and isinstance(params.from_address, EmitterList):
            raise needs_newer_version("a list of addresses")
        stream = EventSpec(
            tuple(sorted(map(felt_text, params.from_address or ()))),
            tuple(tuple(sorted(map(felt_text, among))) for among in params.keys or ()),
            pre_confirmed=params.finality_status == PRE_CONFIRMED,
        )
        return self._open(channel, stream, params, params.block_id)

    def subscribe_new_transactions(self, channel: EventChannel, params: SubscribeTransactionsParams) -> bytes:
        """Return the id of a new subscription; transactions of the senders, or of all, follow.

        With the finality PRE_CONFIRMED those of a block under way come too, with RECEIVED those that are sent
        through this node.
        """
        if params.tags and _is_before_0_10(channel):
            raise needs_newer_version("tags")
        accepted, unstored = _finalities(params.finality_status)
        stream = TransactionStream(
            _senders(params.sender_address), accepted, unstored, with_proof_facts=bool(params.tags)
        )
        return self._open(channel, stream, params, params.block_id)

    def subscribe_new_transaction_receipts(
        self, channel: EventChannel, params: SubscribeReceiptsParams
    ) -> bytes:
        """Return the id of a new subscription; receipts of the senders' transactions, or of all, follow.

        With the finality PRE_CONFIRMED those of a block under way come too.
        """
        stream = ReceiptStream(_senders(params.sender_address), *_finalities(params.finality_status))
        return self._open(channel, stream, params, params.block_id)

    def subscribe_transaction_status(self, channel: EventChannel, params: SubscribeStatusParams) -> bytes:
        """Return the id of a new subscription; the status of the transaction follows, and each change."""
        return self._open(channel, StatusStream(params.transaction_hash), params, None)

    def unsubscribe(self, channel: EventChannel, params: IdParams) -> bytes:
        """Return true once the subscription has ended; no notification with this id follows."""
        if not channel.subscriptions.remove(params.subscription_id.encode(errors="replace")):
            raise invalid_subscription_id()
        return b"true"

    def _open(
        self, channel: EventChannel, stream: Stream, params: _Cursors, block_id: SubscriptionStart | None
    ) -> bytes:
        has_cursors = params.cursors or params.cursor is not None
        if block_id is not None and not has_cursors and not isinstance(stream, type(HEADS) | EventSpec):
            raise invalid_params("Invalid params", {"reason": "block_id needs cursors here"})
        form = NotificationForm(self._family, stream, has_cursors, _is_before_0_10(channel))
        with self._hub.snapshot() as view:
            _require_transactions(view, stream)
            position = _position(view, stream, params.cursor, block_id)
        self._require_room(channel, stream.weight)
        subscription = BlockSubscription(channel, self._hub, form, position)
        channel.subscriptions.add(subscription)
        # The end of the subscription subtracts this weight again.
        self._hub.parameters += stream.weight
        return b'"%b"' % subscription.identity

    def _require_room(self, channel: EventChannel, weight: int) -> None:
        for limit, used in (
            (MAX_PARAMETERS_A_CONNECTION, channel.subscriptions.weight),
            (MAX_PARAMETERS, self._hub.parameters),
        ):
            if weight and used + weight > limit:
                message = "subscriptions name too many addresses, keys and transactions"
                raise limit_exceeded(message, {"parameters": limit})


def _is_before_0_10(channel: EventChannel) -> bool:
    return channel.rpc_version == BEFORE_0_10


def _finalities(wanted: frozenset[str] | None) -> tuple[bool, frozenset[str]]:
    """Return True if transactions of stored blocks are wanted, and the other wanted finalities."""
    if wanted is None:
        return True, frozenset()
    return ACCEPTED in wanted, frozenset(wanted - {ACCEPTED})


def _senders(named: SenderList | None) -> frozenset[str]:
    return frozenset(map(felt_text, named or ()))


def _require_transactions(view: StarknetSnapshot, stream: Stream) -> None:
    """Check that the newest block has its transactions if the stream needs them: later blocks would lack them
    too.

    Raises:
        RpcError: The newest block was imported without its transactions.
    """
    head = view.head
    if stream is not HEADS and head is not None and view.event_bloom(head) is None:
        raise transactions_unavailable(head)


def _position(
    view: StarknetSnapshot, stream: Stream, cursor: str | None, block_id: SubscriptionStart | None
) -> StarknetPosition | None:
    """Return the position where a subscription begins, None for the head.

    Raises:
        RpcError: The block does not exist or is too far back, or the cursor's block is unknown.
    """
    if cursor is not None:
        if block_id is not None:
            raise invalid_params("Invalid params", {"reason": "block_id and cursor exclude each other"})
        return _cursor(view, cursor)
    if isinstance(stream, StatusStream):
        place = view.transaction(stream.transaction_hash)
        return None if place is None else position_at(view, place[0] - 1)
    if block_id is None or (number := _first_block(view, block_id)) is None:
        return None
    return position_at(view, number - 1)


def _cursor(view: StarknetSnapshot, text: str) -> StarknetPosition:
    try:
        position = StarknetPosition.parse(text)
    except ValueError as error:
        raise invalid_params("Invalid params", {"reason": str(error)}) from None
    try:
        dropped_from(view, position)
    except UnknownStarknetBlockError as error:
        raise RpcError(RESOURCE_NOT_FOUND, "the cursor's block is unknown", error.position.named) from None
    return position


def _first_block(view: StarknetSnapshot, block_id: SubscriptionStart) -> int | None:
    choice, head = block_id.choice, view.head
    if isinstance(choice, ByNumber):
        number: int | None = choice.number
    elif isinstance(choice, ByHash):
        number = view.number_of(choice.hash)
    else:
        return None
    if number is None or head is None or number > head:
        raise block_not_found()
    if head - number > MAX_BLOCKS_BACK:
        raise too_many_blocks_back()
    if number < view.first_block:
        raise history_unavailable(view.first_block)
    return number
