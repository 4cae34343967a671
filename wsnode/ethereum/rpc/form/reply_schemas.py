"""JSON schemas of blocks, transactions, receipts and logs as eth_ methods return them."""

from typing import Final

from wsnode.jsonrpc.openrpc.schema import (
    BOOLEAN,
    STRING,
    Schema,
    either,
    list_of,
    or_null,
    record,
    reference,
    text,
)

QUANTITY: Final = reference("Quantity")
BYTES: Final = reference("Bytes")
HASH: Final = reference("Hash")
ADDRESS: Final = reference("AccountAddress")
TRANSACTION: Final = reference("Transaction")

_FEES: Final = ("baseFeePerGas", "blobGasUsed", "excessBlobGas")
_HEADER: Final[dict[str, Schema]] = {
    **dict.fromkeys(("difficulty", "gasLimit", "gasUsed", "size", "timestamp"), QUANTITY),
    **dict.fromkeys(("mixHash", "parentHash", "receiptsRoot", "sha3Uncles"), HASH),
    **dict.fromkeys(("stateRoot", "transactionsRoot"), HASH),
    **dict.fromkeys(("logsBloom", "nonce"), or_null(BYTES)),
    "extraData": BYTES,
    "hash": or_null(HASH),
    "miner": or_null(ADDRESS),
    "number": or_null(QUANTITY),
    "uncles": list_of(HASH),
}
_LATER: Final[dict[str, Schema]] = {
    **dict.fromkeys(_FEES, QUANTITY),
    **dict.fromkeys(("parentBeaconBlockRoot", "requestsHash", "withdrawalsRoot"), HASH),
    "totalDifficulty": or_null(QUANTITY),
    "withdrawals": list_of(reference("Withdrawal")),
}
_TRANSACTIONS: Final = list_of(either(HASH, TRANSACTION))
_PLACE: Final[dict[str, Schema]] = {
    "blockHash": or_null(HASH),
    "blockNumber": or_null(QUANTITY),
    "transactionIndex": or_null(QUANTITY),
}
_TIME: Final[dict[str, Schema]] = {"blockTimestamp": or_null(QUANTITY)}
_TRANSACTION: Final[tuple[dict[str, Schema], dict[str, Schema]]] = (
    {
        **_PLACE,
        **dict.fromkeys(("gas", "gasPrice", "nonce", "r", "s", "type", "v", "value"), QUANTITY),
        "from": ADDRESS,
        "to": or_null(ADDRESS),
        "hash": HASH,
        "input": BYTES,
    },
    {
        **_TIME,
        **dict.fromkeys(("chainId", "maxFeePerBlobGas", "maxFeePerGas"), QUANTITY),
        **dict.fromkeys(("maxPriorityFeePerGas", "yParity"), QUANTITY),
        "accessList": list_of(reference("Access")),
        "authorizationList": list_of(reference("Authorization")),
        "blobVersionedHashes": list_of(HASH),
    },
)
_OUTCOME: Final[dict[str, Schema]] = {"output": BYTES, "revertReason": STRING}
_PAYLOAD_NUMBERS: Final = ("blockNumber", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas")

_SHOWN_HEADER: Final = {name: schema for name, schema in _HEADER.items() if name not in {"size", "uncles"}}
_LATER_HEADER: Final[dict[str, Schema]] = {
    **dict.fromkeys(_FEES, QUANTITY),
    **dict.fromkeys(("parentBeaconBlockRoot", "requestsHash", "withdrawalsRoot"), HASH),
}

COMPONENTS: Final[dict[str, Schema]] = {
    "Quantity": text("0x(0|[1-9a-f][0-9a-f]*)"),
    "Bytes": text("0x([0-9a-f]{2})*"),
    "Hash": text("0x[0-9a-f]{64}"),
    "AccountAddress": text("0x[0-9a-f]{40}"),
    "Block": record({**_HEADER, "transactions": _TRANSACTIONS}, _LATER),
    "Header": record(_SHOWN_HEADER, _LATER_HEADER),
    "WitnessHeader": record(
        {
            **_SHOWN_HEADER,
            **{name: or_null(schema) for name, schema in _LATER_HEADER.items()},
            "blockAccessListHash": or_null(HASH),
            "slotNumber": or_null(QUANTITY),
        }
    ),
    "MinedBlock": record(
        {**_HEADER, "transactions": list_of(record(_TRANSACTION[0], _TRANSACTION[1] | _OUTCOME))}, _LATER
    ),
    "Uncle": record(_HEADER, _LATER),
    "SimulatedBlock": record(
        {**_HEADER, "transactions": _TRANSACTIONS, "calls": list_of(reference("SimulatedCall"))}, _LATER
    ),
    "SimulatedCall": record(
        {
            **dict.fromkeys(("gasUsed", "maxUsedGas", "status"), QUANTITY),
            "returnData": BYTES,
            "logs": list_of(reference("Log")),
        },
        {"error": record({"code": {"type": "integer"}, "message": STRING}, {"data": BYTES})},
    ),
    "ExecutionPayload": record(
        {
            **dict.fromkeys(_PAYLOAD_NUMBERS, QUANTITY),
            **dict.fromkeys(("parentHash", "blockHash", "stateRoot", "receiptsRoot", "prevRandao"), HASH),
            "feeRecipient": ADDRESS,
            **dict.fromkeys(("logsBloom", "extraData"), BYTES),
            "transactions": list_of(BYTES),
        },
        {
            **dict.fromkeys(("blobGasUsed", "excessBlobGas"), QUANTITY),
            "withdrawals": list_of(reference("Withdrawal")),
        },
    ),
    "Withdrawal": record(
        {**dict.fromkeys(("index", "validatorIndex", "amount"), QUANTITY), "address": ADDRESS}
    ),
    "Access": record({"address": ADDRESS, "storageKeys": list_of(HASH)}),
    "Authorization": record(
        {**dict.fromkeys(("chainId", "nonce", "yParity", "r", "s"), QUANTITY), "address": ADDRESS}
    ),
    "Transaction": record(*_TRANSACTION),
    "UnsignedTransaction": record(
        {
            **dict.fromkeys(("type", "nonce", "gas", "value", "v", "r", "s"), QUANTITY),
            **dict.fromkeys(("gasPrice", "maxPriorityFeePerGas", "maxFeePerGas"), or_null(QUANTITY)),
            "to": or_null(ADDRESS),
            "input": BYTES,
            "hash": HASH,
        },
        {
            **dict.fromkeys(("chainId", "yParity"), QUANTITY),
            "accessList": list_of(reference("Access")),
            "authorizationList": list_of(reference("Authorization")),
        },
    ),
    "Log": record(
        {
            **_PLACE,
            "logIndex": or_null(QUANTITY),
            "transactionHash": or_null(HASH),
            "address": ADDRESS,
            "topics": list_of(HASH),
            "data": BYTES,
            "removed": BOOLEAN,
        },
        _TIME,
    ),
    "Receipt": record(
        {
            **_PLACE,
            **dict.fromkeys(("cumulativeGasUsed", "effectiveGasPrice", "gasUsed", "type"), QUANTITY),
            "from": ADDRESS,
            "to": or_null(ADDRESS),
            "contractAddress": or_null(ADDRESS),
            "transactionHash": HASH,
            "logs": list_of(reference("Log")),
            "logsBloom": BYTES,
        },
        {**_TIME, **dict.fromkeys(("status", "blobGasPrice", "blobGasUsed"), QUANTITY), "root": HASH},
    ),
}
