"""The ots_ methods under their names."""

from wsnode.ethereum.building.pending_block import PendingBlock
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.ethereum.rpc.otterscan import blocks
from wsnode.ethereum.rpc.otterscan.history import History
from wsnode.ethereum.rpc.otterscan.search import Searching
from wsnode.ethereum.rpc.otterscan.transactions import InsideTransactions
from wsnode.ethereum.rpc.parity.blocks import BlockTraces
from wsnode.jsonrpc.registry import Registry


def add_methods(registry: Registry, limits: CallLimits, pending: PendingBlock) -> None:
    """Register the methods."""
    blocks.add_methods(registry, pending)
    inside, history = InsideTransactions(BlockTraces(limits, pending)), History(limits)
    searching = Searching(limits)
    for name, handler in (
        ("ots_getInternalOperations", inside.get_internal_operations),
        ("ots_traceTransaction", inside.trace_transaction),
        ("ots_getTransactionError", inside.get_transaction_error),
        ("ots_getTransactionBySenderAndNonce", history.get_transaction_by_nonce),
        ("eth_getTransactionBySenderAndNonce", history.get_full_transaction_by_nonce),
        ("ots_getContractCreator", history.get_contract_creator),
        ("ots_searchTransactionsBefore", searching.search_before),
        ("ots_searchTransactionsAfter", searching.search_after),
    ):
        registry.method(name, deadline=limits.trace_longest_seconds, timeout_error=searching.timed_out)(
            handler
        )
