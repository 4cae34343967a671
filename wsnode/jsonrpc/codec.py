"""Bytes to requests and results to bytes. Ids and results are spliced, never decoded and encoded again."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wsnode.jsonrpc.errors import RpcError, invalid_request, parse_error
from wsnode.jsonrpc.messages import Pieces, Rendered, Request

T = TypeVar("T")
NULL = b"null"

_decoders: dict[type, Callable[[Any], Any]] = {}
_encoders: dict[type, Callable[[Any], Any]] = {}


def register_type(cls: type[T], decode: Callable[[Any], T]) -> None:
    """Have `decode` make a `cls` from the decoded JSON value; its ValueError's text reaches the caller."""
    _decoders[cls] = decode


def register_encoder(cls: type[T], encode: Callable[[T], Any]) -> None:
    """Have `encode` turn a `cls` inside a result into something that JSON knows."""
    _encoders[cls] = encode


def decode_hook(cls: type, value: Any) -> Any:
    """Return `value` as the registered type `cls`."""
    return _decoders[cls](value)


def encode_hook(value: Any) -> Any:
    """Return a registered value's JSON form; bytes of a type of their own are 0x-hex.

    Raises:
        NotImplementedError: The type was never registered.
    """
    if encode := _encoders.get(type(value)):
        return encode(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    raise NotImplementedError(f"a result holds a {type(value).__name__}")


encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
decode_request = msgspec.json.Decoder(Request).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode
_decode_key = msgspec.json.Decoder(str).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What decoding a text raises; `ValidationError` among them is JSON of an unexpected shape."""

# Every escape is consumed in turn, so that a backslash which is itself escaped starts nothing.
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s{}\[\]:,"]+', re.S)
_OPENING = re.compile(rb"\s*\[\s*")
_COMMA = re.compile(rb"\s*,\s*")


def replace_lone_surrogates(text: bytes) -> bytes:
    """Return `text` of the same length with each unpaired surrogate escape read as U+FFFD, as Go does."""
    # One letter is found ten times as fast as two.
    if b"\\" not in text or b"\\u" not in text:
        return text
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)


def result_reply(identity: bytes, result: Any) -> bytes:
    """Return the reply to request `identity`; rendered results are copied as they are."""
    kind = type(result)
    if kind is not bytes and kind is not Rendered and kind is not msgspec.Raw:
        if kind is Pieces:
            return b"".join((b'{"jsonrpc":"2.0","id":', identity, b',"result":', *result, b"}"))
        result = encode(result)
    return b"".join((b'{"jsonrpc":"2.0","id":', identity, b',"result":', result, b"}"))


def error_reply(identity: bytes, error: RpcError) -> bytes:
    """Return the reply that refuses request `identity`."""
    members: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not msgspec.UNSET:
        members["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (identity, encode(members))


class UnusableRequestError(Exception):
    """JSON or not, this is no request: `reply` says so under the id that could be read."""

    def __init__(self, identity: bytes, error: RpcError) -> None:
        super().__init__(identity, error)
        self.identity = identity
        self.reply = error_reply(identity, error)


def is_scalar(identity: bytes) -> bool:
    """Tell an id that may be echoed from an object, an array or nothing."""
    return identity != b"" and identity[0] not in b"[{"


def decode_unusual(text: bytes) -> Request | list[bytes]:
    """Return what `decode_request` refused: a batch's items, or a request with lone surrogates.

    Raises:
        UnusableRequestError: It is neither.
    """
    try:
        text.decode()
        repaired = replace_lone_surrogates(text)
        if repaired.lstrip().startswith(b"["):
            return _split(text, repaired, _decode_items(repaired))
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
        return decode_request(text)
    except UNREADABLE:
        return _decode_repaired(text)


def _decode_repaired(text: bytes) -> Request:
    repaired = replace_lone_surrogates(text)
    try:
        request = decode_request(repaired)
    except UNREADABLE:
        raise UnusableRequestError(_readable_identity(text, repaired), invalid_request()) from None
    if repaired is not text:
        request.id = msgspec.Raw(_identity_as_sent(text, bytes(request.id)))
    return request


def _split(text: bytes, repaired: bytes, items: list[msgspec.Raw]) -> list[bytes]:
    if repaired is text:
        return [bytes(item) for item in items]
    # The repaired text has the original's length, so an item's place in one is its place in the other.
    found, position, between = [], 0, _OPENING
    for item in items:
        if match := between.match(repaired, position):
            start = match.end()
            position = start + len(bytes(item))
            found.append(text[start:position])
        between = _COMMA
    return found


def _readable_identity(text: bytes, repaired: bytes) -> bytes:
    try:
        identity = bytes(_decode_members(repaired).get("id", NULL))
    except UNREADABLE:
        return NULL
    return _identity_as_sent(text, identity) if is_scalar(identity) else NULL


def _identity_as_sent(text: bytes, identity: bytes) -> bytes:
    if rb"\ufffd" not in identity:
        return identity
    depth, member, before = 0, b"", b""
    for match in _TOKENS.finditer(text):
        token = match[0]
        depth += (token in b"{[") - (token in b"}]")
        if depth == 1 and before == b":" and _decode_key(replace_lone_surrogates(member)) == "id":
            identity = token
        if depth == 1 and token == b":":
            member = before
        before = token
    return identity


def _reason(error: Exception) -> str:
    return "exceeded max depth" if isinstance(error, RecursionError) else str(error)
