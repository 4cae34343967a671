"""What eth_ methods return and refuse, by method, for the OpenRPC document."""

from typing import Final

from wsnode.ethereum.rpc.answers import PRUNED_HISTORY
from wsnode.ethereum.rpc.log_pages import RESOURCE_NOT_FOUND
from wsnode.ethereum.rpc.schemas import (
    ADDRESS,
    BYTES,
    COMPONENTS,
    HASH,
    QUANTITY,
    TYPES,
    list_of,
    mapping_of,
    or_null,
    record,
    text,
)
from wsnode.ethereum.rpc.simulate import CODES
from wsnode.jsonrpc.discovery import META_SCHEMA, Descriptions, Schema, described_error, reference
from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, METHOD_NOT_FOUND, SERVER_ERROR

_BLOCK: Final = or_null(reference("Block"))
_UNCLE: Final = or_null(reference("Uncle"))
_TRANSACTION: Final = or_null(reference("Transaction"))
_COUNT: Final = or_null(QUANTITY)
_LOGS: Final = list_of(reference("Log"))
_RATIOS: Final = list_of({"type": "number"})
_SLOT: Final = record({"key": text("0x[0-9a-f]+"), "value": QUANTITY, "proof": list_of(BYTES)})
_POOL: Final = record(dict.fromkeys(("pending", "queued"), mapping_of({})))

_ONE_TRACE: Final[Schema] = {"type": ["object", "array"]}
_TRACE: Final = record({"txHash": HASH}, {"result": {}, "error": {"type": "string"}})

_MAKING: Final = (
    "eth_subscribe",
    *("eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"),
)

RESULTS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("eth_blockNumber", "eth_chainId", "eth_gasPrice", "eth_maxPriorityFeePerGas"), QUANTITY),
    **dict.fromkeys(("eth_getBalance", "eth_getTransactionCount", "eth_estimateGas"), QUANTITY),
    **dict.fromkeys(("eth_baseFee", "eth_blobBaseFee"), or_null(QUANTITY)),
    **dict.fromkeys(("eth_getUncleCountByBlockNumber", "eth_getUncleCountByBlockHash"), _COUNT),
    "eth_getBlockTransactionCountByNumber": _COUNT,
    "eth_getBlockTransactionCountByHash": _COUNT,
    **dict.fromkeys(("eth_getBlockByNumber", "eth_getBlockByHash"), _BLOCK),
    "eth_getUncleByBlockNumberAndIndex": _UNCLE,
    "eth_getUncleByBlockHashAndIndex": _UNCLE,
    "eth_getTransactionByHash": _TRANSACTION,
    "eth_getTransactionByBlockHashAndIndex": _TRANSACTION,
    "eth_getTransactionByBlockNumberAndIndex": _TRANSACTION,
    "eth_getTransactionReceipt": or_null(reference("Receipt")),
    "eth_getBlockReceipts": or_null(list_of(reference("Receipt"))),
    "eth_getLogs": _LOGS,
    "wsnode_getLogsPage": record(
        {
            "logs": _LOGS,
            "cursor": {"type": ["string", "null"]},
            "block": record({"number": QUANTITY, "hash": HASH}),
        }
    ),
    **dict.fromkeys(("eth_getCode", "eth_call"), BYTES),
    "eth_createAccessList": record(
        {"accessList": list_of(reference("Access")), "gasUsed": QUANTITY}, {"error": {"type": "string"}}
    ),
    "eth_simulateV1": list_of(reference("SimulatedBlock")),
    "eth_getStorageAt": HASH,
    "eth_getStorageValues": mapping_of(list_of(HASH)),
    "eth_getProof": record(
        {
            "address": ADDRESS,
            "accountProof": list_of(BYTES),
            **dict.fromkeys(("balance", "nonce"), QUANTITY),
            **dict.fromkeys(("codeHash", "storageHash"), HASH),
            "storageProof": list_of(_SLOT),
        }
    ),
    "eth_feeHistory": record(
        {"oldestBlock": QUANTITY, "gasUsedRatio": or_null(_RATIOS)},
        {
            **dict.fromkeys(("baseFeePerGas", "baseFeePerBlobGas"), list_of(QUANTITY)),
            "blobGasUsedRatio": _RATIOS,
            "reward": list_of(list_of(QUANTITY)),
        },
    ),
    "eth_syncing": {"type": "boolean"},
    "eth_config": mapping_of(or_null({"type": "object"})),
    "eth_capabilities": mapping_of({"type": "object"}),
    "eth_accounts": list_of(ADDRESS),
    "net_version": text("[0-9]+"),
    "net_listening": {"type": "boolean"},
    "net_peerCount": QUANTITY,
    "web3_clientVersion": {"type": "string"},
    "web3_sha3": HASH,
    **dict.fromkeys(("debug_getRawHeader", "debug_getRawBlock", "debug_getRawTransaction"), or_null(BYTES)),
    "debug_getRawReceipts": or_null(list_of(BYTES)),
    **dict.fromkeys(("debug_traceTransaction", "debug_traceCall"), _ONE_TRACE),
    **dict.fromkeys(("debug_traceBlockByNumber", "debug_traceBlockByHash"), list_of(_TRACE)),
    "txpool_status": record({"pending": QUANTITY, "queued": QUANTITY}),
    **dict.fromkeys(("txpool_content", "txpool_contentFrom", "txpool_inspect"), _POOL),
    "eth_sendRawTransaction": HASH,
    "eth_pendingTransactions": list_of(reference("Transaction")),
    "testing_buildBlockV1": record(
        {
            "executionPayload": {"type": "object"},
            "blobsBundle": {"type": "object"},
            "blockValue": QUANTITY,
            "executionRequests": list_of(BYTES),
            "shouldOverrideBuilder": {"type": "boolean"},
        }
    ),
    **dict.fromkeys(_MAKING, text("0x[0-9a-f]{32}")),
    "eth_unsubscribe": {"type": "boolean"},
    "eth_uninstallFilter": {"type": "boolean"},
    "eth_getFilterChanges": list_of({}),
    "eth_getFilterLogs": _LOGS,
    "rpc_modules": mapping_of({"type": "string"}),
    "rpc_limits": {"type": "object"},
    "rpc.discover": {"$ref": META_SCHEMA},
}

_OF_STATE: Final = (
    described_error(SERVER_ERROR, "header not found"),
    described_error(SERVER_ERROR, "header for hash not found"),
    described_error(SERVER_ERROR, "hash is not currently canonical"),
    described_error(PRUNED_HISTORY, "pruned history unavailable"),
)
_OF_CALLS: Final = (
    *_OF_STATE,
    described_error(3, "execution reverted"),
    described_error(SERVER_ERROR, "err: … (supplied gas N), or the words of what stopped the EVM"),
)
_OF_LOGS: Final = (described_error(SERVER_ERROR, "unknown block"),)
_STATE_METHODS: Final = (
    *("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt"),
    *("eth_getStorageValues", "eth_getProof"),
)

_OF_FILTERS: Final = (described_error(SERVER_ERROR, "filter not found"),)

ERRORS: Final[dict[str, tuple[Schema, ...]]] = {
    "eth_subscribe": (
        described_error(METHOD_NOT_FOUND, 'no "x" subscription in eth namespace'),
        described_error(METHOD_NOT_FOUND, "notifications not supported"),
        described_error(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
        described_error(LIMIT_EXCEEDED, "subscription limit exceeded"),
    ),
    "eth_unsubscribe": (described_error(SERVER_ERROR, "subscription not found"),),
    **dict.fromkeys(_MAKING[1:], (described_error(LIMIT_EXCEEDED, "too many filters"),)),
    "eth_getFilterLogs": _OF_FILTERS,
    "eth_getFilterChanges": (
        *_OF_FILTERS,
        described_error(LIMIT_EXCEEDED, "pending transactions were missed"),
        described_error(RESOURCE_NOT_FOUND, "the cursor's block is unknown"),
    ),
    "eth_sendRawTransaction": (
        described_error(SERVER_ERROR, "already known"),
        described_error(SERVER_ERROR, "nonce too low: next nonce N, tx nonce M"),
        described_error(SERVER_ERROR, "insufficient funds for gas * price + value: …"),
        described_error(SERVER_ERROR, "replacement transaction underpriced"),
        described_error(SERVER_ERROR, "txpool is full"),
    ),
    **dict.fromkeys(_STATE_METHODS, _OF_STATE),
    **dict.fromkeys(("eth_call", "eth_estimateGas", "eth_createAccessList"), _OF_CALLS),
    "eth_simulateV1": (
        *_OF_STATE,
        described_error(CODES["nonce_too_low"], "err: nonce too low: … (supplied gas N)"),
        described_error(CODES["insufficient_funds"], "err: insufficient funds for gas * price + value: …"),
        described_error(CODES["block_number"], "block numbers must be in order: N <= M"),
        described_error(CODES["client_limit"], "too many blocks"),
    ),
    "eth_getLogs": (*_OF_LOGS, described_error(LIMIT_EXCEEDED, "query returned more than 10000 results")),
    "wsnode_getLogsPage": (*_OF_LOGS, described_error(RESOURCE_NOT_FOUND, "the chain was reorganised")),
}

DESCRIPTIONS: Final = Descriptions(TYPES, COMPONENTS, RESULTS, ERRORS)
