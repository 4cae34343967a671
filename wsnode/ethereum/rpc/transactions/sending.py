"""eth_sendRawTransaction: adds a signed transaction to the pool."""

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.admission import decode_sent
from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.errors import KnownError, PoolError
from wsnode.ethereum.pool.limits import PoolLimits, PoolRules
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.calls.execution import CallExecution, fields_of
from wsnode.ethereum.rpc.common.parameters import BlockParameter, Data
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import data
from wsnode.ethereum.rpc.common.schemas import HASH
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError, Message, ReorganisedError
from wsnode.jsonrpc.errors import RpcError, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, RunInThread, Step, Steps
from wsnode.upstream.errors import SendFailedError


class ExecutionCheck:
    """Check, before sending a transaction, that it reaches no code executed by ArbOS alone; on chains without
    ArbOS nothing is executed.
    """

    def __init__(self, chain: Chain, pending: PendingState, block: BlockParameter) -> None:
        self._chain = chain
        self._pending = pending
        self._block = block

    def check(self, message: Message) -> Generator[Step, Any, None]:
        """Run a message, and ignore its outcome and whether its sender can pay.

        Raises:
            NotExecutedError: It reaches code that only ArbOS executes.
            MissingStateError: State that it reads is not known yet.
        """
        if not self._chain.spec.has_arbos:
            return
        with self._chain.snapshot() as view:
            header = yield from self._pending.header(view, self._block)
            execution = CallExecution(view, header, message, fields_of(header).gas_limit)
            try:
                yield RunInThread(execution.call_until_cancelled)
            except (InvalidTransactionError, ReorganisedError):
                return


def message_of_transaction(transaction: PooledTransaction) -> Message:
    """Return the message of a transaction, without fees."""
    return Message(
        sender=transaction.sender,
        to=transaction.to,
        gas=transaction.gas,
        value=transaction.value,
        input=transaction.input,
    )


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


METHOD: Final = "eth_sendRawTransaction"
NO_POOL: Final = {METHOD: {"reason": "this network takes no transactions"}}
"""Reasons beside "method not found" on a network without a pool, in words that viem and ethers recognise."""

SENDING_ERRORS: Final = (
    server_error("already known"),
    server_error("nonce too low: next nonce N, tx nonce M"),
    server_error("insufficient funds for gas * price + value: …"),
    server_error("replacement transaction underpriced"),
    server_error("txpool is full"),
)

Settle = Callable[[], Awaitable[None]]


class RawTransactionParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[signed transaction]`, with its blobs if any."""

    encoded: Data


class TransactionSender:
    """Handler of eth_sendRawTransaction of a node with a pool."""

    def __init__(
        self,
        pool: TransactionPool,
        settle: Settle | None,
        relay: Relay | None = None,
        execution: ExecutionCheck | None = None,
    ) -> None:
        """Make a sender; with `relay` it accepts a transaction only if other nodes do, and `execution` checks
        it first.

        On a chain with a block for each transaction, `settle` returns once the block is built.
        """
        self._pool = pool
        self._settle = settle
        self._relay = relay
        self._execution = execution

    def send_raw_transaction(self, params: RawTransactionParameters) -> Steps:
        """Return the hash of the sent transaction, which is now in the pool or already in a block."""
        return data((yield from self.sent(params.encoded)))

    def sent(self, encoded: bytes) -> Generator[Step, Any, Hash32]:
        """Return the hash of the sent transaction as bytes.

        Raises:
            RpcError: The pool refused the transaction.
        """
        with refusal_by_pool():
            try:
                transaction_hash = yield from self._admitted(self._pool.decode(encoded))
            except KnownError:
                yield from self._relayed(encoded)
                raise
        if self._settle is not None:
            yield from settled(self._pool, self._settle, transaction_hash)
        try:
            yield from self._relayed(encoded)
        except RpcError:
            # No other node has accepted the transaction, so in this pool it would wait for a block forever.
            self._pool.drop(transaction_hash)
            raise
        return transaction_hash

    def _admitted(self, transaction: PooledTransaction) -> Generator[Step, Any, Hash32]:
        """Return the hash of a transaction that has entered the pool.

        Raises:
            PoolError: It is refused.
        """
        if self._execution is not None:
            yield from self._execution.check(message_of_transaction(transaction))
        if transaction.type == BLOB_TYPE:
            # The proofs of six blobs take 20 ms.
            yield RunInThread(lambda _cancel: self._pool.check(transaction))
        else:
            self._pool.check(transaction)
        return self._pool.admit(transaction)

    def _relayed(self, encoded: bytes) -> Generator[Step, Any, None]:
        """Send a transaction of this pool to other nodes; also a known one, which they may have lost.

        Raises:
            RpcError: No node has accepted it.
        """
        if (relay := self._relay) is None:
            return
        try:
            yield Await(lambda: relay(encoded))
        except SendFailedError as error:
            raise server_error(str(error)) from None


def settled(pool: TransactionPool, settle: Settle, transaction_hash: Hash32) -> Generator[Step, Any, None]:
    """Wait for the block of a transaction in the pool, on a chain with a block for each transaction.

    Raises:
        RpcError: The block cannot be written; the transaction is no longer in the pool.
    """
    try:
        yield Await(settle)
    except RpcError:
        # After the error the client may send another transaction in place of this one, so this one is
        # dropped. A transaction that is no longer in the pool is in a block.
        if pool.drop(transaction_hash):
            raise


class TransactionRelay:
    """Handler of eth_sendRawTransaction of a node without a pool: sends the transaction to other nodes, and
    leaves to them the checks that depend on the state.
    """

    def __init__(self, spec: ChainSpec, relay: Relay, limits: PoolLimits, rules: PoolRules) -> None:
        self._spec = spec
        self._relay = relay
        self._limits = limits
        self._rules = rules

    def send_raw_transaction(self, params: RawTransactionParameters) -> Steps:
        """Return the hash of the sent transaction, which other nodes have taken."""
        with refusal_by_pool():
            transaction = decode_sent(self._spec, params.encoded, self._limits, self._rules)
        try:
            yield Await(lambda: self._relay(params.encoded))
        except SendFailedError as error:
            raise server_error(str(error)) from None
        return data(transaction.hash)


def add_methods(registry: Registry, sending: TransactionSender | TransactionRelay) -> None:
    """Register this module's method."""
    method = registry.method(METHOD, view=False, result=HASH, errors=SENDING_ERRORS)
    method(sending.send_raw_transaction)
