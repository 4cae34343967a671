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
from wsnode.jsonrpc.schema import BOOLEAN, Schema, list_of, members, record, reference

PAYLOAD_ATTRIBUTES: Final = members(
    {
        **dict.fromkeys(("timestamp", "targetGasLimit"), ANY_QUANTITY),
        **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), ANY_HASH),
        "suggestedFeeRecipient": ANY_ADDRESS,
        "withdrawals": list_of(WITHDRAWAL),
    },
    *("timestamp", "prevRandao", "suggestedFeeRecipient"),
)

BUILT_BLOCK: Final = record(
    {
        "executionPayload": reference("ExecutionPayload"),
        "blobsBundle": record(dict.fromkeys(("commitments", "proofs", "blobs"), list_of(BYTES))),
        "blockValue": QUANTITY,
        "executionRequests": list_of(BYTES),
        "shouldOverrideBuilder": BOOLEAN,
    }
)

_PAYLOAD_NUMBERS: Final = ("blockNumber", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas")

COMPONENTS: Final[dict[str, Schema]] = {
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
