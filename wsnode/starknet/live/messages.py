"""The text of notifications and notices: what stands before and after a subscription's id."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RESOURCE_NOT_FOUND, RESTARTING
from wsnode.pubsub.event import INTERNAL_ERROR as CONNECTION_ERROR
from wsnode.pubsub.event import Farewell
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.position import Position

CLOSE_UNKNOWN: Final = Farewell(CONNECTION_ERROR, "the block told last is not known any more")
"""How the connection ends where a subscription that has no notices would lose blocks."""
_BEFORE: Final = b'{"jsonrpc":"2.0","method":"%b_subscription%b","params":{"subscription_id":"'

Family = Literal["alt", "starknet"]
Message = tuple[bytes, bytes]
"""A notification's text before and after the id."""


class Form(msgspec.Struct, frozen=True):
    """Under which names a subscriber asked, and whether for cursors."""

    family: Family
    cursors: bool = False

    @property
    def has_notices(self) -> bool:
        """Tell whether it is told more than starknet-specs has, which Starknet's libraries break off at."""
        return self.cursors


def header_notification(form: Form, header: bytes, behind: Position) -> Message:
    """Return the notification of a rendered header."""
    return _message(form, b"NewHeads", header, behind)


def reorganisation(form: Form, dropped: Sequence[Position], behind: Position) -> Message:
    """Return the notification that blocks, highest first, are not on the chain any more."""
    last, first = dropped[0], dropped[-1]
    members = {
        "starting_block_hash": felt_text(first.hash),
        "starting_block_number": first.number,
        "ending_block_hash": felt_text(last.hash),
        "ending_block_number": last.number,
    }
    return _message(form, b"Reorg", msgspec.json.encode(members), behind)


def fallen_behind_notice(form: Form, cursor: Position, missed: int) -> Message:
    """Return the notice that the client reads too slowly: what it missed is sent again from `cursor` on."""
    message = "the client reads too slowly: what it missed follows from the cursor on"
    return _error(form, LIMIT_EXCEEDED, message, {"cursor": str(cursor), "missed": missed})


def restart_notice(form: Form, cursor: Position) -> Message:
    """Return the last notice of a node that stops."""
    return _error(form, RESTARTING, "the node is restarting", {"cursor": str(cursor)})


def unknown_block_notice(form: Form, lost: Position, cursor: Position) -> Message:
    """Return the notice that the node has lost a block it told of, and goes on from `cursor`."""
    data = {**lost.named, "cursor": str(cursor)}
    return _error(form, RESOURCE_NOT_FOUND, "the block is not known any more", data)


def _message(form: Form, kind: bytes, result: bytes, behind: Position) -> Message:
    before = _BEFORE % (form.family.encode(), kind)
    if not form.cursors:
        return before, b'","result":%b}}' % result
    return before, b'","result":%b,"cursor":"%b"}}' % (result, str(behind).encode())


def _error(form: Form, code: int, message: str, data: dict[str, Any]) -> Message:
    error = msgspec.json.encode({"code": code, "message": message, "data": data})
    return _BEFORE % (form.family.encode(), b"NewHeads"), b'","error":%b}}' % error
