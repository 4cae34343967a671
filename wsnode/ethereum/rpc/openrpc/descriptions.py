"""What eth_ methods return, by method, and all else that the OpenRPC document is told of them."""

from typing import Final

from wsnode.ethereum.rpc.development import schemas as development_schemas
from wsnode.ethereum.rpc.form import reply_schemas
from wsnode.ethereum.rpc.form.reply_schemas import ADDRESS, BYTES, HASH, QUANTITY, TRANSACTION
from wsnode.ethereum.rpc.openrpc import errors as error_schemas
from wsnode.ethereum.rpc.openrpc import parameters as parameter_schemas
from wsnode.ethereum.rpc.otterscan import schemas as otterscan_schemas
from wsnode.ethereum.rpc.parity import schemas as parity_schemas
from wsnode.ethereum.rpc.traces import schemas as trace_schemas
from wsnode.jsonrpc.openrpc.document import Descriptions
from wsnode.jsonrpc.openrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    STRING,
    Schema,
    either,
    list_of,
    mapping_of,
    or_null,
    record,
    reference,
    text,
)

_BLOCK: Final = or_null(reference("Block"))
_UNCLE: Final = or_null(reference("Uncle"))
_TRANSACTION: Final = or_null(TRANSACTION)
_COUNT: Final = or_null(QUANTITY)
_LOGS: Final = list_of(reference("Log"))
_RATIOS: Final = list_of({"type": "number"})
_SLOT: Final = record({"key": text("0x[0-9a-f]+"), "value": QUANTITY, "proof": list_of(BYTES)})
_BY_NONCE: Final = mapping_of(TRANSACTION, "[0-9]+")
_ACCOUNT_NAME: Final = "0x[0-9a-fA-F]{40}"
_RULES: Final = or_null(
    record(
        {
            "activationTime": COUNT,
            "blobSchedule": or_null(record(dict.fromkeys(("target", "max", "baseFeeUpdateFraction"), COUNT))),
            "chainId": QUANTITY,
            "forkId": text("0x[0-9a-f]{8}"),
            **dict.fromkeys(("precompiles", "systemContracts"), mapping_of(ADDRESS)),
        }
    )
)
_STORED: Final = record({"disabled": BOOLEAN, "oldestBlock": QUANTITY, "deleteStrategy": NULL})

_RAW_TRANSACTIONS: Final = (
    "eth_getRawTransactionByHash",
    "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex",
)
_MAKING: Final = (
    "eth_subscribe",
    *("eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"),
)


def _of_pool(transactions: Schema) -> Schema:
    return record(dict.fromkeys(("pending", "queued"), transactions))


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
    **dict.fromkeys(("eth_getHeaderByNumber", "eth_getHeaderByHash"), or_null(reference("Header"))),
    **dict.fromkeys(_RAW_TRANSACTIONS, BYTES),
    "debug_executionWitness": record(
        {
            "headers": list_of(reference("WitnessHeader")),
            "codes": list_of(BYTES),
            "state": list_of(BYTES),
            "keys": NULL,
        }
    ),
    "debug_storageRangeAt": record(
        {
            "storage": or_null(mapping_of(record({"key": HASH, "value": HASH}), "0x[0-9a-f]{64}")),
            "nextKey": or_null(HASH),
        }
    ),
    **dict.fromkeys(
        ("debug_getModifiedAccountsByNumber", "debug_getModifiedAccountsByHash"), list_of(ADDRESS)
    ),
    "eth_getTransactionReceipt": or_null(reference("Receipt")),
    "eth_getBlockReceipts": or_null(list_of(reference("Receipt"))),
    "eth_getLogs": _LOGS,
    "wsnode_getLogsPage": record(
        {
            "logs": _LOGS,
            "cursor": or_null(STRING),
            "block": record({"number": QUANTITY, "hash": HASH}),
        }
    ),
    **dict.fromkeys(("eth_getCode", "eth_call"), BYTES),
    "eth_createAccessList": record(
        {"accessList": list_of(reference("Access")), "gasUsed": QUANTITY}, {"error": STRING}
    ),
    "eth_simulateV1": list_of(reference("SimulatedBlock")),
    "eth_getAccount": record(
        {**dict.fromkeys(("nonce", "balance"), QUANTITY), **dict.fromkeys(("storageRoot", "codeHash"), HASH)}
    ),
    "debug_codeByHash": BYTES,
    "eth_getStorageAt": HASH,
    "eth_getAccountInfo": record({**dict.fromkeys(("balance", "nonce"), QUANTITY), "code": BYTES}),
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
    "eth_syncing": BOOLEAN,
    "eth_config": record(dict.fromkeys(("current", "next", "last"), _RULES)),
    "eth_capabilities": record(
        {
            "head": record({"number": QUANTITY, "hash": HASH}),
            **dict.fromkeys(("state", "tx", "logs", "receipts", "blocks", "stateproofs"), _STORED),
        }
    ),
    "eth_accounts": list_of(ADDRESS),
    "net_version": text("[0-9]+"),
    "net_listening": BOOLEAN,
    "net_peerCount": QUANTITY,
    "web3_clientVersion": STRING,
    "web3_sha3": HASH,
    **dict.fromkeys(("debug_getRawHeader", "debug_getRawBlock", "debug_getRawTransaction"), or_null(BYTES)),
    "debug_getRawReceipts": or_null(list_of(BYTES)),
    "txpool_status": record({"pending": QUANTITY, "queued": QUANTITY}),
    "txpool_content": _of_pool(mapping_of(_BY_NONCE, _ACCOUNT_NAME)),
    "txpool_contentFrom": _of_pool(_BY_NONCE),
    "txpool_inspect": _of_pool(mapping_of(mapping_of(STRING, "[0-9]+"), _ACCOUNT_NAME)),
    "eth_sendRawTransaction": HASH,
    "eth_sendRawTransactionSync": reference("Receipt"),
    "eth_fillTransaction": record({"raw": BYTES, "tx": reference("UnsignedTransaction")}),
    "eth_pendingTransactions": list_of(TRANSACTION),
    "testing_buildBlockV1": record(
        {
            "executionPayload": reference("ExecutionPayload"),
            "blobsBundle": record(dict.fromkeys(("commitments", "proofs", "blobs"), list_of(BYTES))),
            "blockValue": QUANTITY,
            "executionRequests": list_of(BYTES),
            "shouldOverrideBuilder": BOOLEAN,
        }
    ),
    **dict.fromkeys(_MAKING, text("0x[0-9a-f]{32}")),
    "eth_unsubscribe": BOOLEAN,
    "eth_uninstallFilter": BOOLEAN,
    "eth_getFilterChanges": either(_LOGS, list_of(HASH), list_of(TRANSACTION)),
    "eth_getFilterLogs": _LOGS,
    "rpc_modules": mapping_of(STRING),
}

DESCRIPTIONS: Final = Descriptions(
    {**parameter_schemas.TYPES, **parity_schemas.TAKEN, **otterscan_schemas.TAKEN},
    {
        **parameter_schemas.COMPONENTS,
        **reply_schemas.COMPONENTS,
        **trace_schemas.COMPONENTS,
        **parity_schemas.COMPONENTS,
    },
    {
        **RESULTS,
        **trace_schemas.RESULTS,
        **parity_schemas.RESULTS,
        **otterscan_schemas.RESULTS,
        **development_schemas.RESULTS,
    },
    error_schemas.ERRORS,
)
