"""From the text of a message to requests. Parameters and ids stay the sender's bytes.

The engine reads what nearly every client sends; all else, right or wrong, is read here.
"""

from typing import Literal

import msgspec

from wsnode._native import read_batch, read_request
from wsnode.jsonrpc.codec import NULL, UNREADABLE, error_reply
from wsnode.jsonrpc.errors import RpcError, invalid_request, parse_error
from wsnode.jsonrpc.messages import Request
from wsnode.jsonrpc.surrogates import identity_as_sent, items_as_sent, replace_lone_surrogates

__all__ = [
    "UnusableRequestError",
    "decode_item",
    "decode_message",
    "decode_request",
    "identity_of",
    "read_request",
]

_ABSENT = msgspec.Raw(b"")


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class UnusableRequestError(Exception):
    """JSON or not, this is no request: `reply` says so under the id that could be read."""

    def __init__(self, identity: bytes, error: RpcError) -> None:
        super().__init__(identity, error)
        self.identity = identity
        self.reply = error_reply(identity, error)


def decode_message(text: bytes, batch_items: int) -> Request | list[Request] | list[bytes]:
    """Return the request that `text` is, or a batch's items; those of at most `batch_items` may be requests.

    Raises:
        UnusableRequestError: It is neither.
    """
    if text.startswith(b"[") and (requests := read_batch(text, batch_items)) is not None:
        return requests
    try:
        text.decode()
        repaired = replace_lone_surrogates(text)
        if repaired.lstrip().startswith(b"["):
            items = [bytes(item) for item in _decode_items(repaired)]
            return items if repaired is text else items_as_sent(text, repaired, items)
        _decode_any(repaired)
    except UNREADABLE as error:
        raise UnusableRequestError(NULL, parse_error(_reason(error))) from None
    return decode_item(text)


def decode_item(text: bytes) -> Request:
    """Return the request that the JSON `text` holds.

    Raises:
        UnusableRequestError: It holds something else.
    """
    # A lone surrogate is refused wherever it is, and to look for one takes longer than to decode.
    try:
        request = decode_request(text)
    except UNREADABLE:
        request = _decode_repaired(text)
    if not _can_be_echoed(request[2]):
        raise UnusableRequestError(NULL, invalid_request())
    return request


def decode_request(text: bytes) -> Request:
    """Return the request that `text` is, whatever it has for an id.

    Raises:
        UNREADABLE: It is none.
    """
    envelope = _decode_envelope(text)
    return envelope.method, bytes(envelope.params), bytes(envelope.id)


def identity_of(item: Request | bytes) -> bytes:
    """Return the id to answer a batch's item under; none if it is a notification."""
    if isinstance(item, tuple):
        return item[2]
    try:
        return decode_item(item)[2]
    except UnusableRequestError as unusable:
        return unusable.identity


def _decode_repaired(text: bytes) -> Request:
    repaired = replace_lone_surrogates(text)
    try:
        method, params, identity = decode_request(repaired)
    except UNREADABLE:
        raise UnusableRequestError(_readable_identity(text, repaired), invalid_request()) from None
    return method, params, identity_as_sent(text, identity)


def _readable_identity(text: bytes, repaired: bytes) -> bytes:
    try:
        identity = bytes(_decode_members(repaired).get("id", NULL))
    except UNREADABLE:
        return NULL
    return identity_as_sent(text, identity) if _can_be_echoed(identity) else NULL


def _can_be_echoed(identity: bytes) -> bool:
    return not identity.startswith((b"[", b"{"))


def _reason(error: Exception) -> str:
    return "exceeded max depth" if isinstance(error, RecursionError) else str(error)
