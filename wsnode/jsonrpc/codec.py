"""JSON of parameters, results and errors: types that JSON does not have, encoded replies, cursors.

Ids and results that are JSON text already are copied into replies, never decoded and encoded again.
"""

import base64
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.schema import Schema
from wsnode.jsonrpc.work import RenderedJson, ReplyChunks

T = TypeVar("T")
NULL = b"null"

_decoders: dict[type, Callable[[Any], Any]] = {}
_encoders: dict[type, Callable[[Any], Any]] = {}
_schemas: dict[type, tuple[str, Schema]] = {}


def register_type(
    cls: type[T], decode: Callable[[Any], T], schema: Schema, *, name: str | None = None
) -> None:
    """Register `decode`, a function that makes a `cls` of a JSON value; the text of its ValueError reaches
    the caller.

    `schema` describes the accepted JSON values; documents name it `name`, by default the name of the class.
    """
    _decoders[cls] = decode
    _schemas[cls] = name or cls.__name__, schema


def schema_of(cls: type) -> tuple[str, Schema]:
    """Return the name and the schema of the JSON values from which the registered type `cls` is decoded."""
    return _schemas[cls]


def register_encoder(cls: type[T], encode: Callable[[T], Any]) -> None:
    """Register `encode`, a function from a `cls` inside a result to a value of JSON."""
    _encoders[cls] = encode


def decode_hook(cls: type, value: Any) -> Any:
    """Return `value` as the registered type `cls`."""
    return _decoders[cls](value)


def encode_hook(value: Any) -> Any:
    """Return a registered value's JSON form; a subclass of bytes becomes 0x-hex.

    Raises:
        NotImplementedError: The type was never registered.
    """
    if encode := _encoders.get(type(value)):
        return encode(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    raise NotImplementedError(f"a result has a {type(value).__name__}, which has no JSON form")


encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""Exceptions that decoding a text raises; `ValidationError`, a DecodeError, means JSON of an unexpected
shape.
"""


def result_reply(identity: bytes, result: Any) -> bytes:
    """Return the reply to request `identity`; a result that is JSON text is copied unchanged."""
    kind = type(result)
    if kind is not bytes and kind is not RenderedJson and kind is not msgspec.Raw:
        if kind is ReplyChunks:
            return b"".join(reply_pieces(identity, result))
        result = encode(result)
    return b"".join((b'{"jsonrpc":"2.0","id":', identity, b',"result":', result, b"}"))


def reply_pieces(identity: bytes, result: Any) -> ReplyChunks:
    """Return the reply to request `identity` in pieces; a result in pieces is not joined."""
    kind = type(result)
    if kind is ReplyChunks:
        return ReplyChunks((b'{"jsonrpc":"2.0","id":', identity, b',"result":', *result, b"}"))
    if kind is not bytes and kind is not RenderedJson and kind is not msgspec.Raw:
        result = encode(result)
    return ReplyChunks((b'{"jsonrpc":"2.0","id":', identity, b',"result":', result, b"}"))


def error_reply(identity: bytes, error: RpcError) -> bytes:
    """Return the error reply to request `identity`; the traceback of `error` is dropped."""
    # Many calls raise one error object, whose traceback would keep the frames of all of them.
    error.__traceback__ = error.__context__ = error.__cause__ = None
    members: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not msgspec.UNSET:
        members["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (identity, encode(members))


def encode_cursor(content: bytes) -> str:
    """Return a cursor's text, base64url of `content`; `content` begins with the cursor's version."""
    return base64.urlsafe_b64encode(content).decode()


def decode_cursor(text: Any, version: bytes, size: int) -> bytes:
    """Return the `size` bytes that follow `version` in a cursor's content.

    Raises:
        ValueError: The text is no cursor, or one of another kind or version.
    """
    try:
        content = base64.b64decode(text, b"-_", validate=True)
    except (TypeError, ValueError):
        content = b""
    if len(content) != len(version) + size or not content.startswith(version):
        raise ValueError("invalid cursor")
    return content[len(version) :]
