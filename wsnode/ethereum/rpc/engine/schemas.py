"""JSON schemas of payloads and of their attributes."""

from typing import Final

from wsnode.ethereum.rpc.calls.schemas import MAX_WITHDRAWALS, WITHDRAWAL
from wsnode.ethereum.rpc.common.schemas import (
    ADDRESS,
    ANY_ADDRESS,
    ANY_HASH,
    ANY_QUANTITY,
    BYTES,
    HASH,
    QUANTITY,
)
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    STRING,
    Schema,
    list_of,
    members,
    or_null,
    record,
    reference,
    text,
)

MAX_VALUES: Final = 1_000_000
"""Maximum number of JSON values in a payload; a transaction is one value, a withdrawal nine."""
PAYLOAD_ATTRIBUTES: Final = members(
    {
        **dict.fromkeys(("timestamp", "slotNumber", "targetGasLimit"), ANY_QUANTITY),
        **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), ANY_HASH),
        "suggestedFeeRecipient": ANY_ADDRESS,
        "withdrawals": list_of(WITHDRAWAL, most=MAX_WITHDRAWALS),
    },
    *("timestamp", "prevRandao", "suggestedFeeRecipient"),
)

PAYLOAD: Final = reference("ExecutionPayload")
PAYLOAD_WITH_VALUE: Final = record({"executionPayload": PAYLOAD, "blockValue": QUANTITY})
PAYLOAD_WITH_BLOBS: Final = record(
    {
        **PAYLOAD_WITH_VALUE["properties"],
        "blobsBundle": record(dict.fromkeys(("commitments", "proofs", "blobs"), list_of(BYTES))),
        "shouldOverrideBuilder": BOOLEAN,
    }
)
BUILT_BLOCK: Final = record({**PAYLOAD_WITH_BLOBS["properties"], "executionRequests": list_of(BYTES)})

PAYLOAD_STATUS: Final = reference("PayloadStatus")
FORKCHOICE: Final = record(
    {"payloadStatus": PAYLOAD_STATUS, "payloadId": or_null(text("0x[0-9a-f]{16}"))},
)
_BODY: Final[dict[str, Schema]] = {
    "transactions": list_of(BYTES),
    "withdrawals": or_null(list_of(reference("Withdrawal"))),
}
BODIES: Final = list_of(or_null(record(_BODY)))
BODIES_WITH_LISTS: Final = list_of(or_null(record({**_BODY, "blockAccessList": or_null(BYTES)})))

_CELLED_BLOB: Final = record({"blob": BYTES, "proofs": list_of(BYTES)})
BLOBS: Final = list_of(or_null(record({"blob": BYTES, "proof": BYTES})))
CELLED_BLOBS: Final = list_of(or_null(_CELLED_BLOB))
_SOME_BYTES: Final = list_of(or_null(BYTES))
CELLS_OF_BLOBS: Final = or_null(list_of(or_null(record({"blob_cells": _SOME_BYTES, "proofs": _SOME_BYTES}))))
ALL_CELLED_BLOBS: Final = or_null(list_of(_CELLED_BLOB))

CLIENT_VERSIONS: Final = list_of(record(dict.fromkeys(("code", "name", "version", "commit"), STRING)))
TRANSITION: Final = record(
    {"terminalTotalDifficulty": QUANTITY, "terminalBlockHash": HASH, "terminalBlockNumber": QUANTITY}
)

_STATUSES: Final = ("VALID", "INVALID", "SYNCING", "ACCEPTED", "INVALID_BLOCK_HASH")

_PAYLOAD_NUMBERS: Final = ("blockNumber", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas")

COMPONENTS: Final[dict[str, Schema]] = {
    "PayloadStatus": record(
        {
            "status": {"enum": list(_STATUSES)},
            "latestValidHash": or_null(HASH),
            "validationError": or_null(STRING),
        }
    ),
    "ExecutionPayload": record(
        {
            **dict.fromkeys(_PAYLOAD_NUMBERS, QUANTITY),
            **dict.fromkeys(("parentHash", "blockHash", "stateRoot", "receiptsRoot", "prevRandao"), HASH),
            "feeRecipient": ADDRESS,
            **dict.fromkeys(("logsBloom", "extraData"), BYTES),
            "transactions": list_of(BYTES, most=MAX_VALUES),
        },
        {
            **dict.fromkeys(("blobGasUsed", "excessBlobGas", "slotNumber"), QUANTITY),
            "blockAccessList": BYTES,
            "withdrawals": list_of(reference("Withdrawal"), most=MAX_VALUES),
        },
    ),
}
