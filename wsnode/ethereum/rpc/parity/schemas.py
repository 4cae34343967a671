"""JSON schemas of what the trace_ methods take and return."""

from typing import Final

from wsnode.ethereum.rpc.form.reply_schemas import ADDRESS, BYTES, HASH, QUANTITY
from wsnode.ethereum.rpc.openrpc.parameters import ADDRESS as ANY_ADDRESS
from wsnode.ethereum.rpc.openrpc.parameters import BLOCK_NUMBER
from wsnode.ethereum.rpc.openrpc.parameters import QUANTITY as ANY_QUANTITY
from wsnode.ethereum.rpc.parity.parameters import (
    MODES,
    TYPES,
    TracedCalls,
    TraceFilter,
    TracePlace,
    TraceTypes,
)
from wsnode.jsonrpc.openrpc.schema import (
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
    tuple_of,
)

_ADDRESS_NAME: Final = "0x[0-9a-f]{40}"
_KINDS: Final = ("call", "callcode", "delegatecall", "staticcall")
_NUMBER: Final = either(COUNT, ANY_QUANTITY)
_TRACE_TYPES: Final = list_of({"enum": list(TYPES)})


def _change_of(value: Schema) -> Schema:
    return either(
        {"const": "="},
        record({"+": value}),
        record({"-": value}),
        record({"*": record({"from": value, "to": value})}),
    )


_ACTION: Final = either(
    record(
        {
            "callType": {"enum": list(_KINDS)},
            **dict.fromkeys(("from", "to"), ADDRESS),
            **dict.fromkeys(("gas", "value"), QUANTITY),
            "input": BYTES,
        }
    ),
    record(
        {
            "creationMethod": {"enum": ["create", "create2"]},
            "from": ADDRESS,
            **dict.fromkeys(("gas", "value"), QUANTITY),
            "init": BYTES,
        }
    ),
    record({**dict.fromkeys(("address", "refundAddress"), ADDRESS), "balance": QUANTITY}),
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

_PLACED: Final = reference("PlacedTrace")
RESULTS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("trace_transaction", "trace_block"), or_null(list_of(_PLACED))),
    "trace_get": or_null(_PLACED),
    "trace_filter": list_of(_PLACED),
    **dict.fromkeys(
        ("trace_call", "trace_rawTransaction", "trace_replayTransaction"), reference("TraceResults")
    ),
    "trace_callMany": list_of(reference("TraceResults")),
    "trace_replayBlockTransactions": or_null(list_of(record({**_RESULTS, "transactionHash": HASH}))),
}

TAKEN: Final[dict[type, Schema]] = {
    TraceTypes: _TRACE_TYPES,
    TracePlace: list_of(_NUMBER),
    TracedCalls: list_of(tuple_of([reference("CallObject"), _TRACE_TYPES])),
    TraceFilter: members(
        {
            **dict.fromkeys(("fromBlock", "toBlock"), or_null(BLOCK_NUMBER)),
            **dict.fromkeys(("fromAddress", "toAddress"), or_null(list_of(ANY_ADDRESS))),
            "mode": or_null({"enum": list(MODES)}),
            **dict.fromkeys(("after", "count"), either(NULL, _NUMBER)),
        }
    ),
}
