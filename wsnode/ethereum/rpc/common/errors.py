"""Errors that methods of several subjects register; N, M and … stand for the values in their messages."""

from typing import Final

from wsnode.ethereum.codes import PRUNED_HISTORY, REVERTED
from wsnode.ethereum.not_found import header_not_found
from wsnode.jsonrpc.errors import RpcError, limit_exceeded, response_too_large, server_error

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
