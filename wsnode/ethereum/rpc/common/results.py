"""JSON text of numbers, bytes and null, and the errors that methods of several subjects register.

The text is written without an encoder, which is faster. In messages N, M and … stand for values.
"""

from binascii import hexlify
from typing import Final

from wsnode.ethereum.codes import PRUNED_HISTORY, REVERTED
from wsnode.ethereum.not_found import header_not_found
from wsnode.jsonrpc.errors import RpcError, invalid_params, limit_exceeded, response_too_large, server_error
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


NOT_CANONICAL: Final = server_error("hash is not currently canonical")
EXECUTION_TIMEOUT: Final = server_error("execution timeout")
TRANSACTION_NOT_FOUND: Final = server_error("transaction not found")
TRACING_FAILED: Final = server_error("tracing failed: …")

PRUNED: Final = RpcError(PRUNED_HISTORY, "pruned history unavailable")
BLOCK_ERRORS: Final = (server_error("pending block is not available"), PRUNED)
STATE_ERRORS: Final = (
    header_not_found(),
    server_error("header for hash not found"),
    NOT_CANONICAL,
    PRUNED,
)
CALL_ERRORS: Final = (
    *STATE_ERRORS,
    RpcError(REVERTED, "execution reverted"),
    server_error("err: … (supplied gas N), or the words of what stopped the EVM"),
)
HISTORY_ERRORS: Final = (
    server_error("block … not found"),
    NOT_CANONICAL,
    EXECUTION_TIMEOUT,
    limit_exceeded("block N is too old: more than M bytes of changes since"),
)
"""Errors of methods that rewind the state to an earlier block."""
TRACE_ERRORS: Final = (*STATE_ERRORS, EXECUTION_TIMEOUT, response_too_large())
"""Errors of traces in other forms than geth's."""
