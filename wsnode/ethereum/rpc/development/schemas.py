"""JSON schemas of the development methods' parameters and results."""

from typing import Final

from wsnode.ethereum.codec.typed_data import MAX_MEMBERS, MAX_TYPES
from wsnode.ethereum.rpc.calls.call_object import CALL
from wsnode.ethereum.rpc.common.schemas import (
    ANY_BYTES,
    BYTES,
    HASH,
    HEADER,
    LATER,
    QUANTITY,
    TRANSACTION_MEMBERS,
)
from wsnode.jsonrpc.schema import (
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
    text,
    tuple_of,
)

NUMBER: Final = either(COUNT, text("[0-9]+"), text("0[xX][0-9a-fA-F]+"))
HEX: Final = text("(0[xX])?([0-9a-fA-F]{2})*")
MINE_OPTIONS: Final = either(NUMBER, members(dict.fromkeys(("timestamp", "blocks"), or_null(NUMBER))))
_FORKING: Final[dict[str, Schema]] = {"jsonRpcUrl": or_null(STRING), "blockNumber": or_null(NUMBER)}
RESET_OPTIONS: Final = members({"forking": or_null(members(_FORKING)), **_FORKING})
_TO_PLACE: Final = either(ANY_BYTES, CALL)
MAX_PLACED: Final = 1_000
"""Transactions of one reorganisation on demand: 15 us each to decode."""
PLACED: Final = either(_TO_PLACE, tuple_of([_TO_PLACE, NUMBER]))
REORGANISATION: Final = members({"depth": NUMBER, "transactions": list_of(PLACED, most=MAX_PLACED)}, "depth")
_TYPED_DATA: Final = members(
    {
        "types": mapping_of(
            list_of(members(dict.fromkeys(("name", "type"), STRING), "name", "type"), most=MAX_MEMBERS),
            most=MAX_TYPES,
        ),
        "primaryType": STRING,
        # The members of `domain` and `message` depend on `types`.
        **dict.fromkeys(("domain", "message"), members({})),
    },
    *("types", "primaryType", "domain", "message"),
)
TYPED_DATA: Final = either(STRING, _TYPED_DATA)

NOTHING: Final = NULL
ALWAYS_TRUE: Final[Schema] = {"const": True}
SIGNATURE: Final = text("0x[0-9a-f]{130}")
METADATA: Final = record(
    {
        "clientVersion": STRING,
        **dict.fromkeys(("chainId", "latestBlockNumber"), COUNT),
        **dict.fromkeys(("instanceId", "latestBlockHash"), HASH),
        "forkedNetwork": or_null(record({"chainId": COUNT, "forkBlockNumber": COUNT, "forkBlockHash": HASH})),
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
        "forkConfig": record(
            {"forkUrl": or_null(STRING), "forkBlockNumber": or_null(COUNT), "forkRetryBackoff": NULL}
        ),
    }
)
_HEAD: Final = record({"number": QUANTITY, "hash": HASH})
REORGANISED: Final = record(
    {"commonAncestor": _HEAD, **dict.fromkeys(("dropped", "added"), list_of(_HEAD))},
    {"refused": list_of(record({"index": COUNT, "reason": STRING}))},
)
_ALWAYS, _OF_SOME_KINDS = TRANSACTION_MEMBERS
_OUTCOME: Final[dict[str, Schema]] = {"output": BYTES, "revertReason": STRING}

COMPONENTS: Final[dict[str, Schema]] = {
    "MinedBlock": record(
        {**HEADER, "transactions": list_of(record(_ALWAYS, _OF_SOME_KINDS | _OUTCOME))}, LATER
    ),
}
