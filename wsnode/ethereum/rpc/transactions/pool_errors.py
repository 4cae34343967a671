"""The pool's refusals as errors of JSON-RPC."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.ethereum.pool.errors import PoolError
from wsnode.jsonrpc.errors import server_error


@contextmanager
def refusal_by_pool() -> Iterator[None]:
    """Convert the pool's errors to JSON-RPC errors with geth's messages.

    Raises:
        RpcError: The pool refused the transaction.
    """
    try:
        yield
    except PoolError as error:
        raise server_error(str(error)) from None
