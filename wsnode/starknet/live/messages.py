"""Text of notifications and notices: the parts before and after a subscription's id."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RESOURCE_NOT_FOUND, RESTARTING, SERVER_ERROR
from wsnode.pubsub.subscription import INTERNAL_ERROR as CONNECTION_ERROR
from wsnode.pubsub.subscription import FinalNotice
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.live.streams import Stream

CLOSE_UNKNOWN: Final = FinalNotice(CONNECTION_ERROR, "the block sent last is not known any more")
"""Close notice for a connection with a subscription without notices, after the loss of its last block."""
CLOSE_UNAVAILABLE: Final = FinalNotice(CONNECTION_ERROR, "a block is stored without its transactions")
"""Close notice for a connection with a subscription without notices, at a block without transactions."""
_BEFORE: Final = b'{"jsonrpc":"2.0","method":"%b_subscription%b","params":{"subscription_id":"'

Family = Literal["alt", "starknet"]
Message = tuple[bytes, bytes]
"""Text of a notification before and after the subscription's id."""


class NotificationForm(msgspec.Struct, frozen=True):
    """Form of a subscription's notifications: its stream, the family of its methods, and its options."""

    family: Family
    stream: Stream
    cursors: bool = False
    is_before_0_10: bool = False
    """True if results leave out members added by starknet-specs 0.10."""

    @property
    def has_notices(self) -> bool:
        """Return True if the subscription gets notices, an addition to starknet-specs.

        Starknet's libraries disconnect at a notice, so only subscriptions with cursors get them.
        """
        return self.cursors


def notification(form: NotificationForm, result: bytes, behind: StarknetPosition) -> Message:
    """Return the notification of a result in JSON; `behind` is its cursor."""
    return _message(form, form.stream.notification, result, behind)


def uncursored(form: NotificationForm, result: bytes) -> Message:
    """Return the notification of a result without a position in the stored chain, and so without a cursor."""
    before = _BEFORE % (form.family.encode(), form.stream.notification)
    return before, b'","result":%b}}' % result


def reorganisation(
    form: NotificationForm, dropped: Sequence[StarknetPosition], behind: StarknetPosition
) -> Message:
    """Return the notification that blocks, highest first, have left the chain."""
    last, first = dropped[0], dropped[-1]
    members = {
        "starting_block_hash": felt_text(first.hash),
        "starting_block_number": first.number,
        "ending_block_hash": felt_text(last.hash),
        "ending_block_number": last.number,
    }
    return _message(form, b"Reorg", msgspec.json.encode(members), behind)


def fallen_behind_notice(form: NotificationForm, cursor: StarknetPosition, missed: int) -> Message:
    """Return the notice that the client reads too slowly; missed events follow from `cursor` on."""
    message = "the client reads too slowly: what it missed follows from the cursor on"
    return _error(form, LIMIT_EXCEEDED, message, {"cursor": str(cursor), "missed": missed})


def restart_notice(form: NotificationForm, cursor: StarknetPosition) -> Message:
    """Return the notice that the node stops, the last of the subscription."""
    return _error(form, RESTARTING, "the node is restarting", {"cursor": str(cursor)})


def unknown_block_notice(form: NotificationForm, lost: StarknetPosition, cursor: StarknetPosition) -> Message:
    """Return the notice that published block `lost` is not known any more; events follow from `cursor` on."""
    data = {**lost.named, "cursor": str(cursor)}
    return _error(form, RESOURCE_NOT_FOUND, "the block is not known any more", data)


def unavailable_notice(form: NotificationForm, cursor: StarknetPosition) -> Message:
    """Return the notice that a block is stored without its transactions; the next one follows."""
    data = {"block_number": cursor.number, "cursor": str(cursor)}
    return _error(form, SERVER_ERROR, "the block was imported without its transactions", data)


def _message(form: NotificationForm, kind: bytes, result: bytes, behind: StarknetPosition) -> Message:
    before = _BEFORE % (form.family.encode(), kind)
    if not form.cursors:
        return before, b'","result":%b}}' % result
    return before, b'","result":%b,"cursor":"%b"}}' % (result, str(behind).encode())


def _error(form: NotificationForm, code: int, message: str, data: dict[str, Any]) -> Message:
    error = msgspec.json.encode({"code": code, "message": message, "data": data})
    before = _BEFORE % (form.family.encode(), form.stream.notification)
    return before, b'","error":%b}}' % error
