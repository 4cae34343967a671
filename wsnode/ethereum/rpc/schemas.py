"""JSON schemas of what eth_ methods take and return, for the OpenRPC document."""

from typing import Any, Final

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.call_object import CallObject
from wsnode.ethereum.rpc.development_parameters import (
    LenientBytes,
    LenientCount,
    LenientNumber,
    MineOptions,
    PlacedTransaction,
    ReorganisationObject,
)
from wsnode.ethereum.rpc.fee_history import BlockCount, Percentiles
from wsnode.ethereum.rpc.log_filter import LogFilter
from wsnode.ethereum.rpc.log_pages import PageFilter
from wsnode.ethereum.rpc.overrides import BlockOverrides, StateOverrides
from wsnode.ethereum.rpc.parameters import (
    TAGS,
    BlockParameter,
    Flag,
    Index,
    NumberOrTag,
    Payload,
    StorageKey,
)
from wsnode.ethereum.rpc.payload_attributes import EncodedTransactions, PayloadAttributes
from wsnode.ethereum.rpc.proofs import StorageKeys
from wsnode.ethereum.rpc.simulation import SimulationObject
from wsnode.ethereum.rpc.storage_values import SlotsByAccount
from wsnode.ethereum.rpc.subscription_options import SubscriptionId
from wsnode.jsonrpc.discovery import Schema, reference

NULL: Final[Schema] = {"type": "null"}


def text(pattern: str) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", "pattern": f"^{pattern}$"}


def list_of(item: Schema) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": item}


def or_null(schema: Schema) -> Schema:
    """Return the schema of what may be null."""
    return {"anyOf": [schema, NULL]}


def mapping_of(value: Schema) -> Schema:
    """Return the schema of an object with arbitrary names."""
    return {"type": "object", "additionalProperties": value}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others."""
    members = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": members,
        "required": list(required),
        "additionalProperties": False,
    }


QUANTITY: Final = reference("Quantity")
BYTES: Final = reference("Bytes")
HASH: Final = reference("Hash")
ADDRESS: Final = reference("AccountAddress")
WRITTEN_HASH: Final = text("0[xX][0-9a-fA-F]{64}")
WRITTEN_ADDRESS: Final = text("0[xX][0-9a-fA-F]{40}")
WRITTEN_QUANTITY: Final = text("0[xX](0|[1-9a-fA-F][0-9a-fA-F]*)")
WRITTEN_BYTES: Final = text("(0[xX]([0-9a-fA-F]{2})*)?")
WRITTEN_NUMBER: Final[Schema] = {"anyOf": [{"enum": sorted(TAGS)}, WRITTEN_QUANTITY]}
_ANY_OF_HASHES: Final[Schema] = {"anyOf": [NULL, WRITTEN_HASH, list_of(or_null(WRITTEN_HASH))]}

_FILTER: Final[dict[str, Schema]] = {
    "address": {"anyOf": [NULL, WRITTEN_ADDRESS, list_of(WRITTEN_ADDRESS)]},
    "topics": {"type": "array", "items": _ANY_OF_HASHES, "maxItems": 4},
    "fromBlock": or_null(WRITTEN_NUMBER),
    "toBlock": or_null(WRITTEN_NUMBER),
    "blockHash": or_null(WRITTEN_HASH),
}
_PAGE: Final[dict[str, Schema]] = {
    "cursor": {"type": ["string", "null"]},
    "limit": {"anyOf": [NULL, {"type": "integer", "minimum": 1}, WRITTEN_QUANTITY]},
}
_FLAG: Final[Schema] = {"type": "boolean"}
_NUMBERS: Final = (
    *("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas"),
    *("value", "nonce", "chainId"),
)
_CALL: Final[dict[str, Schema]] = {
    "from": WRITTEN_ADDRESS,
    "to": or_null(WRITTEN_ADDRESS),
    **dict.fromkeys(_NUMBERS, WRITTEN_QUANTITY),
    "input": WRITTEN_BYTES,
    "data": WRITTEN_BYTES,
    "accessList": {"type": "array"},
    "blobVersionedHashes": list_of(WRITTEN_HASH),
    "authorizationList": {"type": "array"},
}

LENIENT_NUMBER: Final[Schema] = {
    "anyOf": [{"type": "integer", "minimum": 0}, text("[0-9]+"), text("0[xX][0-9a-fA-F]+")]
}
_TO_PLACE: Final[Schema] = {"anyOf": [WRITTEN_BYTES, {"type": "object", "properties": _CALL}]}

TYPES: Final[dict[type, Schema]] = {
    Address: WRITTEN_ADDRESS,
    Hash32: WRITTEN_HASH,
    Payload: WRITTEN_BYTES,
    Index: WRITTEN_QUANTITY,
    Flag: _FLAG,
    StorageKey: text("(0[xX])?[0-9a-fA-F]{0,64}"),
    StorageKeys: list_of(text("(0[xX])?[0-9a-fA-F]{0,64}")),
    NumberOrTag: WRITTEN_NUMBER,
    BlockParameter: {
        "anyOf": [
            WRITTEN_NUMBER,
            WRITTEN_HASH,
            {"type": "object", "properties": {"blockNumber": WRITTEN_NUMBER}, "required": ["blockNumber"]},
            {
                "type": "object",
                "properties": {"blockHash": WRITTEN_HASH, "requireCanonical": {"type": "boolean"}},
                "required": ["blockHash"],
            },
        ]
    },
    LogFilter: {"type": "object", "properties": _FILTER},
    SubscriptionId: text("0x[0-9a-f]{32}"),
    PageFilter: {"type": "object", "properties": {**_FILTER, **_PAGE}},
    CallObject: {"type": "object", "properties": _CALL},
    StateOverrides: mapping_of({"type": "object"}),
    BlockOverrides: {"type": "object"},
    SimulationObject: {
        "type": "object",
        "properties": {
            "blockStateCalls": list_of({"type": "object"}),
            **dict.fromkeys(("traceTransfers", "validation", "returnFullTransactions"), _FLAG),
        },
        "required": ["blockStateCalls"],
    },
    BlockCount: {"anyOf": [WRITTEN_QUANTITY, {"type": "integer"}]},
    Percentiles: or_null(list_of({"type": "number", "minimum": 0, "maximum": 100})),
    SlotsByAccount: mapping_of(list_of(WRITTEN_HASH)),
    LenientBytes: text("(0[xX])?([0-9a-fA-F]{2})*"),
    LenientNumber: LENIENT_NUMBER,
    LenientCount: LENIENT_NUMBER,
    MineOptions: {
        "anyOf": [
            LENIENT_NUMBER,
            {"type": "object", "properties": dict.fromkeys(("timestamp", "blocks"), or_null(LENIENT_NUMBER))},
        ]
    },
    PlacedTransaction: {
        "anyOf": [_TO_PLACE, {"type": "array", "prefixItems": [_TO_PLACE, LENIENT_NUMBER], "minItems": 2}]
    },
    ReorganisationObject: {
        "type": "object",
        "properties": {"depth": LENIENT_NUMBER, "transactions": {"type": "array"}},
        "required": ["depth"],
    },
    EncodedTransactions: list_of(WRITTEN_BYTES),
    PayloadAttributes: {
        "type": "object",
        "properties": {
            **dict.fromkeys(("timestamp", "targetGasLimit"), WRITTEN_QUANTITY),
            **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), WRITTEN_HASH),
            "suggestedFeeRecipient": WRITTEN_ADDRESS,
            "withdrawals": list_of({"type": "object"}),
        },
        "required": ["timestamp", "prevRandao", "suggestedFeeRecipient"],
    },
}

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
_PLACE: Final[dict[str, Schema]] = {
    "blockHash": or_null(HASH),
    "blockNumber": or_null(QUANTITY),
    "transactionIndex": or_null(QUANTITY),
}
_TIME: Final[dict[str, Schema]] = {"blockTimestamp": or_null(QUANTITY)}

COMPONENTS: Final[dict[str, Any]] = {
    "Quantity": text("0x(0|[1-9a-f][0-9a-f]*)"),
    "Bytes": text("0x([0-9a-f]{2})*"),
    "Hash": text("0x[0-9a-f]{64}"),
    "AccountAddress": text("0x[0-9a-f]{40}"),
    "Block": record(
        {**_HEADER, "transactions": list_of({"anyOf": [HASH, reference("Transaction")]})}, _LATER
    ),
    "Uncle": record(_HEADER, _LATER),
    "SimulatedBlock": record(
        {
            **_HEADER,
            "transactions": list_of({"anyOf": [HASH, reference("Transaction")]}),
            "calls": list_of(reference("SimulatedCall")),
        },
        _LATER,
    ),
    "SimulatedCall": record(
        {
            **dict.fromkeys(("gasUsed", "maxUsedGas", "status"), QUANTITY),
            "returnData": BYTES,
            "logs": list_of(reference("Log")),
        },
        {
            "error": record(
                {"code": {"type": "integer"}, "message": {"type": "string"}},
                {"data": BYTES},
            )
        },
    ),
    "Withdrawal": record(
        {**dict.fromkeys(("index", "validatorIndex", "amount"), QUANTITY), "address": ADDRESS}
    ),
    "Access": record({"address": ADDRESS, "storageKeys": list_of(HASH)}),
    "Transaction": record(
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
            "authorizationList": list_of({"type": "object"}),
            "blobVersionedHashes": list_of(HASH),
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
            "removed": {"type": "boolean"},
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
