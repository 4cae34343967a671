"""eth_sendRawTransaction: a signed transaction into the pool."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.answers import data
from wsnode.ethereum.rpc.parameters import Payload
from wsnode.jsonrpc.messages import AsyncCall, InThread, Steps
from wsnode.jsonrpc.registry import Registry

METHOD: Final = "eth_sendRawTransaction"
NO_POOL: Final = {METHOD: {"reason": "this network takes no transactions"}}
"""What a caller learns besides that there is no such method: both viem and ethers know those words."""

Settle = Callable[[], Awaitable[None]]


class RawTransactionParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[signed transaction]`, with its blobs if it has any."""

    encoded: Payload


class Sending:
    """The method; `settle` returns when a chain that gives each transaction a block has done so."""

    def __init__(self, pool: TransactionPool, settle: Settle | None) -> None:
        self._pool = pool
        self._settle = settle

    def send_raw_transaction(self, params: RawTransactionParameters) -> Steps:
        """Return the hash of a transaction that is in the pool now, or already in a block."""
        pool = self._pool
        transaction = pool.decode(params.encoded)
        if transaction.type == BLOB_TYPE:
            # The proofs of six blobs take 20 ms.
            yield InThread(lambda _cancel: pool.check(transaction))
        else:
            pool.check(transaction)
        transaction_hash = pool.admit(transaction)
        if self._settle is not None:
            yield AsyncCall(self._settle)
        return data(transaction_hash)


def add_methods(registry: Registry, pool: TransactionPool | None, settle: Settle | None = None) -> None:
    """Register this module's methods, if there is a pool."""
    if pool is not None:
        registry.method(METHOD, view=False)(Sending(pool, settle).send_raw_transaction)
