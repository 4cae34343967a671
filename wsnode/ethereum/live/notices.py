"""Texts of notifications and notices: the parts before and after a subscription's id."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from wsnode.ethereum.codes import PRUNED_HISTORY
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.jsonrpc.errors import INTERNAL_ERROR, LIMIT_EXCEEDED, RESOURCE_NOT_FOUND, RESTARTING
from wsnode.pubsub.subscription import INTERNAL_ERROR as CONNECTION_ERROR
from wsnode.pubsub.subscription import FinalNotice

CLOSE_UNKNOWN: Final = FinalNotice(CONNECTION_ERROR, "the block sent last is not known any more")
CLOSE_UNPUBLISHED: Final = FinalNotice(CONNECTION_ERROR, "a block could not be published")
"""Close of a connection with a subscription that would lose events and has no notices."""
PRUNED_MESSAGE: Final = "pruned history unavailable"
MAX_LISTED: Final = 256
"""Maximum number of dropped blocks, and of new ones, in the notice of a reorganisation."""
_BEFORE: Final = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"'

Message = tuple[bytes, bytes]
"""Text of a notification before and after the id."""


class ReorganisationNotice(msgspec.Struct, frozen=True):
    """Reorganisation: last common block, dropped blocks highest first, new blocks lowest first."""

    ancestor: Head
    dropped: Sequence[Head]
    added: Sequence[Head]


def notification(result: bytes, cursor: object | None = None) -> Message:
    """Return the notification of a rendered result, with the text of `cursor` unless that is None."""
    if cursor is None:
        return _BEFORE, b'","result":%b}}' % result
    return _BEFORE, b'","result":%b,"cursor":"%b"}}' % (result, str(cursor).encode())


def reorganisation_notice(change: ReorganisationNotice, cursor: object | None) -> Message:
    """Return the notice before the events of a reorganisation."""
    members: dict[str, Any] = {
        "reorg": {
            "commonAncestor": change.ancestor.members(),
            "dropped": [head.members() for head in change.dropped[:MAX_LISTED]],
            "added": [head.members() for head in change.added[:MAX_LISTED]],
        }
    }
    if cursor is not None:
        members["cursor"] = str(cursor)
    return _notice(members)


def fallen_behind_notice(cursor: object, missed: int) -> Message:
    """Return the notice of a client that reads too slowly, with the `cursor` for its missed events."""
    message = "the client reads too slowly: what it missed follows from the cursor on"
    return _error(LIMIT_EXCEEDED, message, {"cursor": str(cursor), "missed": missed})


def missed_notice(missed: int) -> Message:
    """Return the notice that `missed` pending transactions will not be sent."""
    message = "the client reads too slowly: pending transactions were missed"
    return _error(LIMIT_EXCEEDED, message, {"missed": missed})


def restart_notice(cursor: object | None) -> Message:
    """Return the last notice of a node that stops."""
    data = {"cursor": None if cursor is None else str(cursor)}
    return _error(RESTARTING, "the node is restarting", data)


def lost_block_notice(lost: Position, earliest: int, cursor: Position) -> Message:
    """Return the notice of a lost block; events continue from `cursor`.

    In a folder with a window, a block below the `earliest` one has been pruned.
    """
    if lost.number < earliest:
        data = {"requested": hex(max(lost.number, 0)), "earliest": hex(earliest), "cursor": str(cursor)}
        return _error(PRUNED_HISTORY, PRUNED_MESSAGE, data)
    return _error(
        RESOURCE_NOT_FOUND, "the block is not known any more", {**named(lost.head), "cursor": str(cursor)}
    )


def pruned_history_notice(lost: Position, reason: str, cursor: Position) -> Message:
    """Return the notice of blocks below a fork that cannot be fetched; events continue from `cursor`."""
    data = {**named(lost.head), "reason": reason, "cursor": str(cursor)}
    return _error(PRUNED_HISTORY, PRUNED_MESSAGE, data)


def unpublished_notice(untold: Head, cursor: Position) -> Message:
    """Return the notice of a block that could not be published; events continue from `cursor`."""
    return _error(INTERNAL_ERROR, "a block could not be published", {**named(untold), "cursor": str(cursor)})


def named(head: Head) -> dict[str, str]:
    """Return number and hash of a block in the form of errors."""
    return {"blockNumber": hex(head.number), "blockHash": hexadecimal(head.hash)}


def _error(code: int, message: str, data: dict[str, Any]) -> Message:
    return _notice({"error": {"code": code, "message": message, "data": data}})


def _notice(members: dict[str, Any]) -> Message:
    # The opening brace is cut off, since the members continue the object that begins with the subscription's
    # id.
    return _BEFORE, b'",' + msgspec.json.encode(members)[1:] + b"}"
