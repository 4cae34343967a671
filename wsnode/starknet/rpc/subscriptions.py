"""alt_subscribeNewHeads and alt_unsubscribe: new heads over a connection, from a chosen position."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RESOURCE_NOT_FOUND, RpcError, invalid_params
from wsnode.pubsub.subscription import EventChannel
from wsnode.starknet.block_id import BlockId, ByHash, ByNumber, Pending, decode_block_id
from wsnode.starknet.live.branches import UnknownStarknetBlockError, dropped_from, position_at
from wsnode.starknet.live.hub import StarknetHub
from wsnode.starknet.live.messages import Family, NotificationForm
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.live.subscription import HeadSubscription
from wsnode.starknet.rpc.errors import (
    block_not_found,
    history_unavailable,
    invalid_subscription_id,
    too_many_blocks_back,
)
from wsnode.starknet.rpc.schemas import FIRST_BLOCK
from wsnode.starknet.snapshot import BEFORE_0_10, StarknetSnapshot

MOST_BLOCKS_BACK: Final = 1024


class SubscriptionStart(BlockId):
    """A number, a hash or `latest` (starknet-specs SUBSCRIPTION_BLOCK_ID)."""

    __slots__ = ()


class HeadsParams(msgspec.Struct, frozen=True):
    """`block_id`, the first block to receive, or a `cursor`; both cursor members are additions of this
    node.
    """

    block_id: SubscriptionStart | None = None
    cursor: str | None = None
    cursors: bool = False


class IdParams(msgspec.Struct, frozen=True):
    """`subscription_id`."""

    subscription_id: str


Handler = Callable[[EventChannel, Any], bytes]


def handlers(hub: StarknetHub, family: Family) -> tuple[Handler, Handler]:
    """Return the handlers of subscribeNewHeads and unsubscribe."""

    def subscribe(channel: EventChannel, params: HeadsParams) -> bytes:
        """Return the id of a new subscription; new headers follow as notifications on this connection."""
        has_cursors = params.cursors or params.cursor is not None
        form = NotificationForm(family, has_cursors, channel.rpc_version == BEFORE_0_10)
        with hub.snapshot() as view:
            position = _position(view, params)
        subscription = HeadSubscription(channel, hub, form, position)
        channel.subscriptions.add(subscription)
        return b'"%b"' % subscription.identity

    def unsubscribe(channel: EventChannel, params: IdParams) -> bytes:
        """Return true once the subscription has ended; no notification with this id follows."""
        if not channel.subscriptions.remove(params.subscription_id.encode(errors="replace")):
            raise invalid_subscription_id()
        return b"true"

    return subscribe, unsubscribe


def _position(view: StarknetSnapshot, params: HeadsParams) -> StarknetPosition | None:
    """Return the position where a subscription begins, None for the head.

    Raises:
        RpcError: The block does not exist or is too far back, or the cursor's block is unknown.
    """
    if params.cursor is not None:
        if params.block_id is not None:
            raise invalid_params("Invalid params", {"reason": "block_id and cursor exclude each other"})
        return _cursor(view, params.cursor)
    if params.block_id is None or (number := _first_block(view, params.block_id)) is None:
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
    if head - number > MOST_BLOCKS_BACK:
        raise too_many_blocks_back()
    if number < view.first_block:
        raise history_unavailable(view.first_block)
    return number


def _decode_first_block(value: object) -> SubscriptionStart:
    choice = decode_block_id(value).choice
    if isinstance(choice, Pending):
        raise ValueError("the only block tag of a subscription is latest")  # noqa: TRY004
    return SubscriptionStart(choice)


register_type(SubscriptionStart, _decode_first_block, FIRST_BLOCK)
