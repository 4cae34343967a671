"""What a caller learns where the pool does not take a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from wsnode.ethereum.pool.refusals import PoolError
from wsnode.jsonrpc.errors import server_error


@contextmanager
def refusal_by_pool() -> Iterator[None]:
    """Turn what the pool refuses into an error for the caller, in its words, which are geth's.

    Raises:
        RpcError: The pool refuses a transaction.
    """
    try:
        yield
    except PoolError as error:
        raise server_error(str(error)) from None
