"""JSON schemas of payloads and of what is decided about them."""

from typing import Final

from wsnode.ethereum.rpc.calls.schemas import WITHDRAWAL
from wsnode.ethereum.rpc.form.schemas import (
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

PAYLOAD_ATTRIBUTES: Final = members(
    {
        **dict.fromkeys(("timestamp", "targetGasLimit"), ANY_QUANTITY),
        **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), ANY_HASH),
        "suggestedFeeRecipient": ANY_ADDRESS,
        "withdrawals": list_of(WITHDRAWAL),
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
BODIES: Final = list_of(
    or_null(
        record({"transactions": list_of(BYTES), "withdrawals": or_null(list_of(reference("Withdrawal")))})
    )
)

_CELLED_BLOB: Final = record({"blob": BYTES, "proofs": list_of(BYTES)})
BLOBS: Final = list_of(or_null(record({"blob": BYTES, "proof": BYTES})))
CELLED_BLOBS: Final = list_of(or_null(_CELLED_BLOB))
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
            "transactions": list_of(BYTES),
        },
        {
            **dict.fromkeys(("blobGasUsed", "excessBlobGas"), QUANTITY),
            "withdrawals": list_of(reference("Withdrawal")),
        },
    ),
}
