"""Check on a development chain of Arbitrum: a transaction must not reach code that only ArbOS executes."""

from collections.abc import Generator
from typing import Any

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.rpc.calls.execution import CallExecution, fields_of
from wsnode.ethereum.rpc.common.parameters import BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.state import InvalidTransactionError, Message, ReorganisedError
from wsnode.jsonrpc.work import RunInThread, Step


class ExecutionCheck:
    """Runs messages on the state of a block before they are sent; on chains without ArbOS it does nothing."""

    def __init__(self, chain: Chain, pending: PendingState, block: BlockParameter) -> None:
        self._chain = chain
        self._pending = pending
        self._block = block

    def check(self, message: Message) -> Generator[Step, Any, None]:
        """Run a message for its effect on the check alone; the pool decides if it can be paid.

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
    """Return the message of a transaction, free of charge."""
    return Message(
        sender=transaction.sender,
        to=transaction.to,
        gas=transaction.gas,
        value=transaction.value,
        input=transaction.input,
    )
