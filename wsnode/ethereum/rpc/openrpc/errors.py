"""What eth_ methods refuse, by method, for the OpenRPC document: code and words."""

from typing import Final

from wsnode.ethereum.rpc.calls.simulate import CODES
from wsnode.ethereum.rpc.form.codes import NOT_PROCESSED, PRUNED_HISTORY, REVERTED
from wsnode.jsonrpc.errors import (
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RESOURCE_UNAVAILABLE,
    RESPONSE_TOO_LARGE,
    SERVER_ERROR,
)
from wsnode.jsonrpc.openrpc.document import described_error
from wsnode.jsonrpc.openrpc.schema import Schema

_MAKING: Final = ("eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter")
_OF_STATE: Final = (
    described_error(SERVER_ERROR, "header not found"),
    described_error(SERVER_ERROR, "header for hash not found"),
    described_error(SERVER_ERROR, "hash is not currently canonical"),
    described_error(PRUNED_HISTORY, "pruned history unavailable"),
)
_OF_CALLS: Final = (
    *_OF_STATE,
    described_error(REVERTED, "execution reverted"),
    described_error(SERVER_ERROR, "err: … (supplied gas N), or the words of what stopped the EVM"),
)
_OF_LOGS: Final = (described_error(SERVER_ERROR, "unknown block"),)
_STATE_METHODS: Final = (
    *("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt"),
    *("eth_getStorageValues", "eth_getProof", "eth_getAccount", "eth_getAccountInfo"),
)

_OF_FILTERS: Final = (described_error(SERVER_ERROR, "filter not found"),)

_OF_SIGNING: Final = (described_error(SERVER_ERROR, "unknown account"),)
_OF_SENDING: Final = (
    described_error(SERVER_ERROR, "already known"),
    described_error(SERVER_ERROR, "nonce too low: next nonce N, tx nonce M"),
    described_error(SERVER_ERROR, "insufficient funds for gas * price + value: …"),
    described_error(SERVER_ERROR, "replacement transaction underpriced"),
    described_error(SERVER_ERROR, "txpool is full"),
)
_OF_SIMULATIONS: Final = (
    described_error(CODES["nonce_too_low"], "err: nonce too low: … (supplied gas N)"),
    described_error(CODES["nonce_too_high"], "err: nonce too high: … (supplied gas N)"),
    described_error(CODES["fee_below_base"], "err: max fee per gas less than block base fee: …"),
    described_error(CODES["intrinsic_gas"], "err: intrinsic gas too low: have N, want M (supplied gas N)"),
    described_error(CODES["insufficient_funds"], "err: insufficient funds for gas * price + value: …"),
    described_error(CODES["block_gas_limit"], "block gas limit reached: remaining: N, required: M"),
    described_error(CODES["block_number"], "block numbers must be in order: N <= M"),
    described_error(CODES["block_timestamp"], "block timestamps must be in order: N <= M"),
    described_error(CODES["initcode_size"], "err: max initcode size exceeded: …"),
    described_error(CODES["client_limit"], "too many blocks"),
)
_OF_TRACES: Final = (
    *_OF_STATE,
    described_error(SERVER_ERROR, "transaction not found"),
    described_error(SERVER_ERROR, "block #N not found"),
    described_error(SERVER_ERROR, "genesis is not traceable"),
    described_error(SERVER_ERROR, "tracing failed: …"),
    described_error(SERVER_ERROR, "tracers in JavaScript are not supported"),
    described_error(RESPONSE_TOO_LARGE, "response too large"),
)
_OF_PARITY_TRACES: Final = (
    *_OF_STATE,
    described_error(SERVER_ERROR, "execution timeout"),
    described_error(RESPONSE_TOO_LARGE, "response too large"),
)
_OF_TRACED_CALLS: Final = (*_OF_PARITY_TRACES, described_error(SERVER_ERROR, "tracing failed: …"))
_OF_TRACED_TRANSACTIONS: Final = (*_OF_PARITY_TRACES, described_error(SERVER_ERROR, "transaction not found"))
_OF_SEARCHES: Final = (*_OF_PARITY_TRACES, described_error(LIMIT_EXCEEDED, "search timeout exceeded"))

_OF_LOOKING_BACK: Final = (
    described_error(SERVER_ERROR, "block … not found"),
    described_error(SERVER_ERROR, "hash is not currently canonical"),
    described_error(SERVER_ERROR, "execution timeout"),
    described_error(LIMIT_EXCEEDED, "block N is too old: more than M bytes of changes since"),
)
_LOOKING_BACK: Final = (
    *("debug_executionWitness", "debug_storageRangeAt"),
    *("debug_getModifiedAccountsByNumber", "debug_getModifiedAccountsByHash"),
)

_OF_BLOCKS: Final = (described_error(SERVER_ERROR, "pending block is not available"),)
_BLOCK_METHODS: Final = (
    *("eth_getBlockByNumber", "eth_getBlockTransactionCountByNumber"),
    *("eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex"),
    *("eth_getUncleCountByBlockNumber", "debug_getRawHeader", "debug_getRawBlock", "debug_getRawReceipts"),
)

_OF_WAITING: Final = (
    described_error(NOT_PROCESSED, "The transaction was added to the transaction pool but wasn't …"),
    described_error(LIMIT_EXCEEDED, "too many transactions are waited for"),
)

ERRORS: Final[dict[str, tuple[Schema, ...]]] = {
    "eth_subscribe": (
        described_error(METHOD_NOT_FOUND, 'no "x" subscription in eth namespace'),
        described_error(METHOD_NOT_FOUND, "notifications not supported"),
        described_error(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
        described_error(LIMIT_EXCEEDED, "subscription limit exceeded"),
    ),
    "eth_unsubscribe": (described_error(SERVER_ERROR, "subscription not found"),),
    **dict.fromkeys(_MAKING, (described_error(LIMIT_EXCEEDED, "too many filters"),)),
    "eth_getFilterLogs": _OF_FILTERS,
    "eth_getFilterChanges": (
        *_OF_FILTERS,
        described_error(LIMIT_EXCEEDED, "pending transactions were missed"),
        described_error(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
    ),
    "eth_sendRawTransaction": _OF_SENDING,
    "eth_sendRawTransactionSync": (*_OF_SENDING, *_OF_WAITING),
    "eth_sendTransactionSync": (*_OF_SIGNING, *_OF_SENDING, *_OF_CALLS, *_OF_WAITING),
    **dict.fromkeys(
        ("eth_sendTransaction", "eth_sendUnsignedTransaction"), (*_OF_SIGNING, *_OF_SENDING, *_OF_CALLS)
    ),
    "eth_fillTransaction": _OF_CALLS,
    "eth_signTransaction": (*_OF_SIGNING, *_OF_CALLS),
    **dict.fromkeys(("eth_sign", "personal_sign"), _OF_SIGNING),
    **dict.fromkeys(("eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4"), _OF_SIGNING),
    **dict.fromkeys(
        ("anvil_dealERC20", "hardhat_dealERC20", "anvil_setERC20Balance"),
        (described_error(SERVER_ERROR, "Unable to set ERC20 balance, no slot found"),),
    ),
    "anvil_setERC20Allowance": (
        described_error(SERVER_ERROR, "Unable to set ERC20 allowance, no slot found"),
    ),
    **dict.fromkeys(("anvil_reorg", "wsnode_reorg"), _OF_SIGNING),
    **dict.fromkeys(
        ("anvil_dumpState", "hardhat_dumpState"), (described_error(RESPONSE_TOO_LARGE, "response too large"),)
    ),
    "eth_feeHistory": (
        described_error(SERVER_ERROR, "request beyond head block: requested N, head M"),
        described_error(SERVER_ERROR, "invalid reward percentile: …"),
    ),
    "testing_buildBlockV1": (described_error(SERVER_ERROR, "invalid timestamp, parent N given M"),),
    "eth_getBlockReceipts": (*_OF_BLOCKS, described_error(SERVER_ERROR, "hash is not currently canonical")),
    **dict.fromkeys(_BLOCK_METHODS, _OF_BLOCKS),
    "eth_getTransactionByHash": (described_error(RESOURCE_UNAVAILABLE, "the partner provider failed: …"),),
    **dict.fromkeys(("debug_traceTransaction", "debug_traceCall"), _OF_TRACES),
    **dict.fromkeys(("debug_traceBlockByNumber", "debug_traceBlockByHash"), _OF_TRACES),
    "debug_traceBlock": (
        *_OF_TRACES,
        described_error(SERVER_ERROR, "could not decode block: …"),
        described_error(LIMIT_EXCEEDED, "block has more than N bytes"),
    ),
    **dict.fromkeys(_LOOKING_BACK, _OF_LOOKING_BACK),
    **dict.fromkeys(
        ("trace_transaction", "trace_get", "trace_block", "trace_replayBlockTransactions"), _OF_PARITY_TRACES
    ),
    **dict.fromkeys(("trace_call", "trace_callMany", "trace_rawTransaction"), _OF_TRACED_CALLS),
    "trace_filter": (
        *_OF_PARITY_TRACES,
        described_error(LIMIT_EXCEEDED, "query timeout exceeded"),
        described_error(LIMIT_EXCEEDED, "query returned more than 10000 results"),
    ),
    **dict.fromkeys(
        (
            *("trace_replayTransaction", "ots_traceTransaction", "ots_getInternalOperations"),
            "ots_getTransactionError",
        ),
        _OF_TRACED_TRANSACTIONS,
    ),
    **dict.fromkeys(("ots_searchTransactionsBefore", "ots_searchTransactionsAfter"), _OF_SEARCHES),
    "ots_getContractCreator": _OF_PARITY_TRACES,
    **dict.fromkeys(
        (
            *("ots_hasCode", "ots_getTransactionBySenderAndNonce"),
            "eth_getTransactionBySenderAndNonce",
        ),
        _OF_STATE,
    ),
    **dict.fromkeys(_STATE_METHODS, _OF_STATE),
    **dict.fromkeys(("eth_call", "eth_estimateGas", "eth_createAccessList"), _OF_CALLS),
    "eth_simulateV1": (*_OF_STATE, *_OF_SIMULATIONS),
    "eth_getLogs": (*_OF_LOGS, described_error(LIMIT_EXCEEDED, "query returned more than 10000 results")),
    "wsnode_getLogsPage": (*_OF_LOGS, described_error(RESOURCE_NOT_FOUND, "the chain was reorganised")),
}
