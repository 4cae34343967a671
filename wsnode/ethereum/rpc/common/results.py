"""JSON text of numbers, bytes and null, written without an encoder, which is faster."""

from binascii import hexlify
from typing import Final

from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.work import JsonText, RenderedJson

NULL: Final = RenderedJson(b"null")


def quantity(number: int) -> JsonText:
    """Return the JSON text of a number: hex without leading zeros."""
    return b'"0x%x"' % number


def data(content: bytes) -> JsonText:
    """Return the JSON text of bytes: two digits each."""
    return b'"0x' + hexlify(content) + b'"'


def refused_argument(error: ValueError) -> RpcError:
    """Return the error for an argument that only the method itself can check."""
    return invalid_params(str(error))
