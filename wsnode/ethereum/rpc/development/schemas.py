"""JSON schemas of the development methods' parameters and results."""

from typing import Final

from wsnode.ethereum.rpc.blocks.schemas import HEADER, LATER
from wsnode.ethereum.rpc.calls.call_object import CALL
from wsnode.ethereum.rpc.calls.schemas import WITHDRAWAL
from wsnode.ethereum.rpc.form.schemas import (
    ADDRESS,
    ANY_ADDRESS,
    ANY_BYTES,
    ANY_HASH,
    ANY_QUANTITY,
    BYTES,
    HASH,
    QUANTITY,
    TRANSACTION_MEMBERS,
)
from wsnode.jsonrpc.schema import (
    BOOLEAN,
    COUNT,
    NULL,
    STRING,
    Schema,
    either,
    list_of,
    mapping_of,
    members,
    or_null,
    record,
    reference,
    text,
    tuple_of,
)

NUMBER: Final = either(COUNT, text("[0-9]+"), text("0[xX][0-9a-fA-F]+"))
HEX: Final = text("(0[xX])?([0-9a-fA-F]{2})*")
MINE_OPTIONS: Final = either(NUMBER, members(dict.fromkeys(("timestamp", "blocks"), or_null(NUMBER))))
RESET_OPTIONS: Final = mapping_of(NULL)
_TO_PLACE: Final = either(ANY_BYTES, CALL)
PLACED: Final = either(_TO_PLACE, tuple_of([_TO_PLACE, NUMBER]))
REORGANISATION: Final = members({"depth": NUMBER, "transactions": list_of(PLACED)}, "depth")
_TYPED_DATA: Final = members(
    {
        "types": mapping_of(list_of(members(dict.fromkeys(("name", "type"), STRING), "name", "type"))),
        "primaryType": STRING,
        # The types decide which members they have.
        **dict.fromkeys(("domain", "message"), members({})),
    },
    *("types", "primaryType", "domain", "message"),
)
TYPED_DATA: Final = either(STRING, _TYPED_DATA)
PAYLOAD_ATTRIBUTES: Final = members(
    {
        **dict.fromkeys(("timestamp", "targetGasLimit"), ANY_QUANTITY),
        **dict.fromkeys(("prevRandao", "parentBeaconBlockRoot"), ANY_HASH),
        "suggestedFeeRecipient": ANY_ADDRESS,
        "withdrawals": list_of(WITHDRAWAL),
    },
    *("timestamp", "prevRandao", "suggestedFeeRecipient"),
)

NOTHING: Final = NULL
ALWAYS_TRUE: Final[Schema] = {"const": True}
SIGNATURE: Final = text("0x[0-9a-f]{130}")
METADATA: Final = record(
    {
        "clientVersion": STRING,
        **dict.fromkeys(("chainId", "latestBlockNumber"), COUNT),
        **dict.fromkeys(("instanceId", "latestBlockHash"), HASH),
        "forkedNetwork": NULL,
        "snapshots": mapping_of(tuple_of([COUNT, HASH]), "0x[0-9a-f]+"),
    }
)
SETTINGS: Final = record(
    {
        "currentBlockNumber": QUANTITY,
        "currentBlockTimestamp": COUNT,
        "currentBlockHash": HASH,
        **dict.fromkeys(("hardFork", "transactionOrder"), STRING),
        "environment": record(
            {**dict.fromkeys(("baseFee", "gasLimit", "gasPrice"), QUANTITY), "chainId": COUNT}
        ),
        "forkConfig": record(dict.fromkeys(("forkUrl", "forkBlockNumber", "forkRetryBackoff"), NULL)),
    }
)
_HEAD: Final = record({"number": QUANTITY, "hash": HASH})
REORGANISED: Final = record(
    {"commonAncestor": _HEAD, **dict.fromkeys(("dropped", "added"), list_of(_HEAD))},
    {"refused": list_of(record({"index": COUNT, "reason": STRING}))},
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

_ALWAYS, _OF_SOME_KINDS = TRANSACTION_MEMBERS
_OUTCOME: Final[dict[str, Schema]] = {"output": BYTES, "revertReason": STRING}
_PAYLOAD_NUMBERS: Final = ("blockNumber", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas")

COMPONENTS: Final[dict[str, Schema]] = {
    "MinedBlock": record(
        {**HEADER, "transactions": list_of(record(_ALWAYS, _OF_SOME_KINDS | _OUTCOME))}, LATER
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
