"""Decoding of a message's text to requests. Parameters and ids stay the sender's bytes.

The engine decodes the form that nearly all clients send; any other text, valid or not, is decoded here.
"""

import re
from typing import Literal

import msgspec

from wsnode._native.wire import (
    count_values,
    find_fault,
    find_identity,
    first_items,
    outline,
    read_batch,
    read_request,
    replace_lone_surrogates,
)
from wsnode.jsonrpc.codec import NULL, UNREADABLE, error_reply
from wsnode.jsonrpc.errors import RpcError, invalid_request, parse_error
from wsnode.jsonrpc.work import Request

__all__ = [
    "InvalidRequestError",
    "count_values",
    "decode_item",
    "decode_message",
    "decode_request",
    "find_identity",
    "identity_of",
    "is_long",
    "read_request",
]

_ABSENT = msgspec.Raw(b"")
_OPENING = re.compile(rb"\s*\[")


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_check = msgspec.json.Decoder(msgspec.Raw).decode

QUICK_BYTES = 8 * 1024
"""Size in bytes up to which any text is quick to decode."""
QUICK_VALUES = 4096
"""Number of JSON values up to which a text is quick to decode; each costs about a microsecond."""
LONG_BYTES = 256 * 1024
"""Size in bytes above which a text is decoded in a worker thread, whatever its content."""


def is_long(text: bytes) -> bool:
    """Return True if `text` takes too long to decode on the event loop's thread."""
    size = len(text)
    return size > QUICK_BYTES and (size > LONG_BYTES or count_values(text) > QUICK_VALUES)


class InvalidRequestError(Exception):
    """Error of a text that is no request; `reply` is the error reply, under the id if it could be read."""

    def __init__(self, identity: bytes, error: RpcError) -> None:
        super().__init__(identity, error)
        self.identity = identity
        self.reply = error_reply(identity, error)


class BatchTooLargeError(InvalidRequestError):
    """Error of a batch with more items than allowed; `reply` is an array of one error under the first id."""

    def __init__(self, first: bytes) -> None:
        super().__init__(identity_of(first) or NULL, invalid_request("batch too large"))
        self.reply = b"[%b]" % self.reply


def decode_message(text: bytes, batch_items: int) -> Request | list[Request] | list[bytes]:
    """Return the request in `text`, or the items of a batch: all decoded, or all as JSON text.

    Raises:
        InvalidRequestError: The text is neither, or a batch of more than `batch_items` items.
    """
    if text.startswith(b"[") and (requests := read_batch(text, batch_items)) is not None:
        return requests
    check_syntax(text)
    if not _OPENING.match(text):
        return decode_item(text)
    # Items are counted before anything is made of them.
    items = first_items(text, batch_items + 1)
    if len(items) > batch_items:
        raise BatchTooLargeError(items[0])
    return items


def check_syntax(text: bytes) -> None:
    """Check that `text` is JSON.

    The engine scans it without holding the interpreter's lock; msgspec's decoder would hold the lock for 4 ms
    a megabyte, and is used only to explain a fault in a text that is not long.

    Raises:
        InvalidRequestError: The text is not JSON; its `data` says where.
    """
    if (fault := find_fault(text)) is None:
        return
    if len(text) > LONG_BYTES:
        raise InvalidRequestError(NULL, parse_error(fault))
    try:
        text.decode()
        _check(_repaired(text))
    except UNREADABLE as error:
        raise InvalidRequestError(NULL, parse_error(_reason(error))) from None


def decode_item(text: bytes) -> Request:
    """Return the request in the JSON `text`.

    Raises:
        InvalidRequestError: The text is no request.
    """
    return _decode(text) if len(text) <= LONG_BYTES else read_request(text) or _decode_long(text)


def _decode_long(text: bytes) -> Request:
    if (found := outline(text)) is None:
        raise InvalidRequestError(NULL, invalid_request())
    short, params = found
    method, _, identity = _decode(short)
    return method, _repaired(params or b""), identity


def _decode(text: bytes) -> Request:
    # The decoder refuses a lone surrogate anywhere in the text. Searching for one first would take longer
    # than decoding.
    try:
        request = decode_request(text)
    except UNREADABLE:
        request = _decode_repaired(text)
    if not _can_be_echoed(request[2]):
        raise InvalidRequestError(NULL, invalid_request())
    return request


def decode_request(text: bytes) -> Request:
    """Return the request in `text`; any id is accepted.

    Raises:
        UNREADABLE: The text is no request.
    """
    envelope = _decode_envelope(text)
    return envelope.method, bytes(envelope.params), bytes(envelope.id)


def identity_of(item: Request | bytes) -> bytes:
    """Return the id of a batch's item as JSON text; empty for a notification."""
    if isinstance(item, tuple):
        return item[2]
    try:
        return decode_item(item)[2]
    except InvalidRequestError as unusable:
        return unusable.identity


def _decode_repaired(text: bytes) -> Request:
    try:
        method, params, _ = decode_request(_repaired(text))
    except UNREADABLE:
        raise InvalidRequestError(_readable_identity(text), invalid_request()) from None
    return method, params, find_identity(text) or b""


def _readable_identity(text: bytes) -> bytes:
    identity = find_identity(text)
    return NULL if identity is None or not _can_be_echoed(identity) else identity


def _repaired(text: bytes) -> bytes:
    r"""Return `text` with `\ufffd` for escaped lone surrogates such as `\ud800`, like Go's encoding/json."""
    # One letter is found ten times as fast as two.
    if b"\\" not in text or b"\\u" not in text:
        return text
    return replace_lone_surrogates(text) or text


def _can_be_echoed(identity: bytes) -> bool:
    return not identity.startswith((b"[", b"{"))


def _reason(error: Exception) -> str:
    return "exceeded max depth" if isinstance(error, RecursionError) else str(error)
