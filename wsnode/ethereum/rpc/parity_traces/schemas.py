"""JSON schemas of the trace_ methods' parameters and results."""

from typing import Final

from wsnode.ethereum.rpc.common.limits import MAX_VALUES
from wsnode.ethereum.rpc.common.parameters import BLOCK_NUMBER
from wsnode.ethereum.rpc.common.schemas import ADDRESS, ANY_ADDRESS, ANY_QUANTITY, BYTES, HASH, QUANTITY
from wsnode.ethereum.rpc.debug_traces.schemas import ACTIONS
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
    reference,
)

_ADDRESS_NAME: Final = "0x[0-9a-f]{40}"
TYPES: Final = ("trace", "vmTrace", "stateDiff")
MODES: Final = ("intersection", "union")
NUMBER: Final = either(COUNT, ANY_QUANTITY)
MAX_TYPES: Final = 16
"""Maximum number of names of types in one list; repeated names count."""
TRACE_TYPES: Final = list_of({"enum": list(TYPES)}, most=MAX_TYPES)
TRACE_FILTER: Final = members(
    {
        **dict.fromkeys(("fromBlock", "toBlock"), or_null(BLOCK_NUMBER)),
        **dict.fromkeys(("fromAddress", "toAddress"), or_null(list_of(ANY_ADDRESS, most=MAX_VALUES))),
        "mode": or_null({"enum": list(MODES)}),
        **dict.fromkeys(("after", "count"), either(NULL, NUMBER)),
    }
)


def _change_of(value: Schema) -> Schema:
    return either(
        {"const": "="},
        record({"+": value}),
        record({"-": value}),
        record({"*": record({"from": value, "to": value})}),
    )


_ACTION: Final = either(
    *ACTIONS,
    record({"author": ADDRESS, "rewardType": {"enum": ["block", "uncle"]}, "value": QUANTITY}),
)
_TRACE: Final[dict[str, Schema]] = {
    "action": _ACTION,
    "result": or_null(
        either(
            record({"gasUsed": QUANTITY, "output": BYTES}),
            record({"address": ADDRESS, "code": BYTES, "gasUsed": QUANTITY}),
        )
    ),
    "subtraces": COUNT,
    "traceAddress": list_of(COUNT),
    "type": {"enum": ["call", "create", "suicide", "reward"]},
}
_RESULTS: Final[dict[str, Schema]] = {
    "output": BYTES,
    "stateDiff": or_null(mapping_of(reference("AccountDiff"), _ADDRESS_NAME)),
    "trace": list_of(record(_TRACE, {"error": STRING})),
    "vmTrace": or_null(reference("VmTrace")),
}

COMPONENTS: Final[dict[str, Schema]] = {
    "PlacedTrace": record(
        {
            **_TRACE,
            **dict.fromkeys(("blockHash", "transactionHash"), or_null(HASH)),
            **dict.fromkeys(("blockNumber", "transactionPosition"), or_null(COUNT)),
        },
        {"error": STRING},
    ),
    "TraceResults": record(_RESULTS),
    "AccountDiff": record(
        {
            **dict.fromkeys(("balance", "nonce"), _change_of(QUANTITY)),
            "code": _change_of(BYTES),
            "storage": mapping_of(_change_of(HASH), "0x[0-9a-f]{64}"),
        }
    ),
    "VmTrace": record({"code": BYTES, "ops": list_of(reference("VmStep"))}),
    "VmStep": record(
        {
            **dict.fromkeys(("cost", "pc"), COUNT),
            "ex": or_null(
                record(
                    {
                        "mem": or_null(record({"data": BYTES, "off": COUNT})),
                        "push": list_of(QUANTITY),
                        "store": or_null(record(dict.fromkeys(("key", "val"), QUANTITY))),
                        "used": COUNT,
                    }
                )
            ),
            "sub": or_null(reference("VmTrace")),
            "op": STRING,
        },
        {"idx": or_null(STRING)},
    ),
}

PLACED_TRACE: Final = reference("PlacedTrace")
PLACED_TRACES: Final = or_null(list_of(PLACED_TRACE))
TRACE_RESULTS: Final = reference("TraceResults")
REPLAYED_BLOCK: Final = or_null(list_of(record({**_RESULTS, "transactionHash": HASH})))
