"""The parameters of subscriptions, under their names in starknet-specs and in their order by position."""

from typing import Any, Final

import msgspec

from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import list_of
from wsnode.starknet.block_id import BlockId, L1Accepted, Pending, decode_block_id
from wsnode.starknet.felt import Felt, decode_felt
from wsnode.starknet.rpc.errors import too_many_senders
from wsnode.starknet.rpc.params import Emitters, EventKeys, TransactionFlags
from wsnode.starknet.rpc.schemas import FIRST_BLOCK, WRITTEN_FELT

MAX_SENDERS: Final = 1024
"""Maximum number of senders of a subscription, as in pathfinder and juno."""
ACCEPTED: Final = "ACCEPTED_ON_L2"
PRE_CONFIRMED: Final = "PRE_CONFIRMED"
_EVENT_FINALITIES: Final = (PRE_CONFIRMED, ACCEPTED)
_RECEIPT_FINALITIES: Final = (PRE_CONFIRMED, ACCEPTED)
_TRANSACTION_FINALITIES: Final = ("RECEIVED", "CANDIDATE", PRE_CONFIRMED, ACCEPTED)


class SubscriptionStart(BlockId):
    """Start of a subscription: a number, a hash or `latest` (starknet-specs SUBSCRIPTION_BLOCK_ID).

    `latest` is the specification's default: the subscription begins with the next block, as without a start.
    """

    __slots__ = ()


class SenderList(frozenset[Felt]):
    """Array of the accounts whose transactions are wanted."""

    __slots__ = ()


class EventFinality(str):
    """Lowest finality of the events that are sent: `PRE_CONFIRMED` or `ACCEPTED_ON_L2`."""

    __slots__ = ()


class ReceiptFinalities(frozenset[str]):
    """Array of the finalities at which receipts are sent: `PRE_CONFIRMED`, `ACCEPTED_ON_L2`."""

    __slots__ = ()


class TransactionFinalities(frozenset[str]):
    """Array of the finalities at which transactions are sent: `RECEIVED`, `CANDIDATE`, `PRE_CONFIRMED`,
    `ACCEPTED_ON_L2`.
    """

    __slots__ = ()


class HeadsParams(msgspec.Struct, frozen=True):
    """`{block_id, cursor, cursors}`: the first block to receive, or the cursor after which to continue; with
    `cursor` or `cursors` notifications carry cursors. Both are additions of this node.
    """

    block_id: SubscriptionStart | None = None
    cursor: str | None = None
    cursors: bool = False


class SubscribeEventsParams(msgspec.Struct, frozen=True):
    """`{from_address, keys, block_id, finality_status, cursor, cursors}`: a filter of events, the first
    block, and the lowest finality. `cursor` and `cursors` are additions of this node, as in `HeadsParams`.
    """

    from_address: Emitters | None = None
    keys: EventKeys | None = None
    block_id: SubscriptionStart | None = None
    finality_status: EventFinality | None = None
    cursor: str | None = None
    cursors: bool = False


class SubscribeTransactionsParams(msgspec.Struct, frozen=True):
    """`{finality_status, sender_address, tags, block_id, cursor, cursors}`: the finalities and senders of the
    transactions wanted; `tags` (from starknet-specs 0.10.1 on) add members. `block_id`, `cursor` and
    `cursors` are additions of this node.
    """

    finality_status: TransactionFinalities | None = None
    sender_address: SenderList | None = None
    tags: TransactionFlags = TransactionFlags()
    block_id: SubscriptionStart | None = None
    cursor: str | None = None
    cursors: bool = False


class SubscribeReceiptsParams(msgspec.Struct, frozen=True):
    """`{finality_status, sender_address, block_id, cursor, cursors}`: the finalities and senders of the
    receipts wanted. `block_id`, `cursor` and `cursors` are additions of this node.
    """

    finality_status: ReceiptFinalities | None = None
    sender_address: SenderList | None = None
    block_id: SubscriptionStart | None = None
    cursor: str | None = None
    cursors: bool = False


class SubscribeStatusParams(msgspec.Struct, frozen=True):
    """`{transaction_hash, cursor, cursors}`: the transaction whose status is wanted. `cursor` and `cursors`
    are additions of this node.
    """

    transaction_hash: Felt
    cursor: str | None = None
    cursors: bool = False


class IdParams(msgspec.Struct, frozen=True):
    """`{subscription_id}`: the id of the subscription to end."""

    subscription_id: str


def _decode_first_block(value: object) -> SubscriptionStart:
    choice = decode_block_id(value).choice
    if isinstance(choice, Pending | L1Accepted):
        raise ValueError("the only block tag of a subscription is latest")  # noqa: TRY004
    return SubscriptionStart(choice)


def _decode_senders(value: Any) -> SenderList:
    if type(value) is not list:
        raise ValueError("sender_address is an array")
    if len(value) > MAX_SENDERS:
        raise too_many_senders()
    return SenderList(map(decode_felt, value))


def _decode_event_finality(value: Any) -> EventFinality:
    return EventFinality(_finality(value, _EVENT_FINALITIES))


def _decode_receipt_finalities(value: Any) -> ReceiptFinalities:
    return ReceiptFinalities(_finalities(value, _RECEIPT_FINALITIES))


def _decode_transaction_finalities(value: Any) -> TransactionFinalities:
    return TransactionFinalities(_finalities(value, _TRANSACTION_FINALITIES))


def _finalities(value: Any, known: tuple[str, ...]) -> list[str]:
    if type(value) is not list:
        raise ValueError(f"finality_status is an array of {', '.join(known)}")
    if len(value) > len(known):
        raise ValueError(f"too many finalities: at most {len(known)}")
    return [_finality(item, known) for item in value]


def _finality(value: Any, known: tuple[str, ...]) -> str:
    if type(value) is not str or value not in known:
        raise ValueError(f"a finality is one of {', '.join(known)}")
    return value


def _some_of(known: tuple[str, ...]) -> dict[str, Any]:
    return list_of({"enum": list(known)}, most=len(known))


register_type(SubscriptionStart, _decode_first_block, FIRST_BLOCK)
register_type(SenderList, _decode_senders, list_of(WRITTEN_FELT, most=MAX_SENDERS))
register_type(EventFinality, _decode_event_finality, {"enum": list(_EVENT_FINALITIES)})
register_type(ReceiptFinalities, _decode_receipt_finalities, _some_of(_RECEIPT_FINALITIES))
register_type(TransactionFinalities, _decode_transaction_finalities, _some_of(_TRANSACTION_FINALITIES))
