"""Names of tracers and their settings; JSON schemas of traces and witnesses, and of their options."""

from typing import Final

from wsnode.ethereum.rpc.common.schemas import (
    ADDRESS,
    ANY_QUANTITY,
    BYTES,
    HASH,
    LATER_HEADER,
    OWN_HEADER,
    QUANTITY,
    SHOWN_HEADER,
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
)

SETTINGS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "callTracer": ("callTracerConfig", ("onlyTopCall", "withLog")),
    "flatCallTracer": ("flatCallTracerConfig", ("convertParityErrors", "includePrecompiles")),
    "prestateTracer": (
        "PrestateTracerConfig",
        ("diffMode", "disableCode", "disableStorage", "includeEmpty"),
    ),
    "4byteTracer": ("", ()),
    "noopTracer": ("", ()),
}
MUX: Final = "muxTracer"
FLAGS: Final = ("enableMemory", "disableStack", "disableStorage", "enableReturnData")
"""Options of struct logs, the form without a tracer."""
_TRACERS: Final[dict[str, Schema]] = {
    name: or_null(members(dict.fromkeys(settings, BOOLEAN))) for name, (_, settings) in SETTINGS.items()
}
_OPTIONS: Final[dict[str, Schema]] = {
    **dict.fromkeys(FLAGS, BOOLEAN),
    "limit": {"type": "integer"},
    "timeout": STRING,
    "tracer": {"enum": [*SETTINGS, MUX]},
    "tracerConfig": either(*_TRACERS.values(), members(_TRACERS)),
}
TRACE_OPTIONS: Final = members(_OPTIONS)
CALL_TRACE_OPTIONS: Final = members(
    {
        **_OPTIONS,
        "stateOverrides": reference("StateOverrides"),
        "blockOverrides": reference("BlockOverrides"),
        "txIndex": ANY_QUANTITY,
    }
)

_ADDRESS_NAME: Final = "0x[0-9a-f]{40}"
_SLOTS: Final = mapping_of(HASH, "0x[0-9a-f]{64}")
_KINDS: Final = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT")

_CALL_FRAME: Final = record(
    {
        "type": {"enum": list(_KINDS)},
        "from": ADDRESS,
        **dict.fromkeys(("gas", "gasUsed"), QUANTITY),
        "input": BYTES,
    },
    {
        "to": ADDRESS,
        "value": QUANTITY,
        "output": BYTES,
        **dict.fromkeys(("error", "revertReason"), STRING),
        "calls": list_of(reference("CallFrame")),
        "logs": list_of(
            record(
                {
                    "address": ADDRESS,
                    "topics": list_of(HASH),
                    "data": BYTES,
                    **dict.fromkeys(("index", "position"), QUANTITY),
                }
            )
        ),
    },
)
ACTIONS: Final = (
    record(
        {
            "callType": {"enum": [kind.lower() for kind in _KINDS[:4]]},
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
)
"""Actions of Parity's form: a call, a creation, a destruction."""
_FLAT_CALL: Final = record(
    {
        "action": either(*ACTIONS),
        **dict.fromkeys(("blockHash", "transactionHash"), or_null(HASH)),
        **dict.fromkeys(("blockNumber", "subtraces", "transactionPosition"), COUNT),
        "traceAddress": list_of(COUNT),
        "type": {"enum": ["call", "create", "suicide"]},
    },
    {
        "error": STRING,
        "result": either(
            record({"gasUsed": QUANTITY, "output": BYTES}),
            record({"gasUsed": QUANTITY, "code": BYTES}, {"address": ADDRESS}),
        ),
    },
)

WITNESS: Final = record(
    {
        "headers": list_of(reference("WitnessHeader")),
        "codes": list_of(BYTES),
        "state": list_of(BYTES),
        "keys": NULL,
    }
)

COMPONENTS: Final[dict[str, Schema]] = {
    "WitnessHeader": record(
        {
            **SHOWN_HEADER,
            **{name: or_null(schema) for name, schema in LATER_HEADER.items()},
            "blockAccessListHash": or_null(HASH),
            "slotNumber": or_null(QUANTITY),
        },
        OWN_HEADER,
    ),
    "StructLogs": record(
        {
            "gas": COUNT,
            "failed": BOOLEAN,
            "returnValue": BYTES,
            "structLogs": list_of(reference("StructLog")),
        }
    ),
    "StructLog": record(
        {**dict.fromkeys(("pc", "gas", "gasCost", "depth"), COUNT), "op": STRING},
        {
            "error": STRING,
            "stack": list_of(QUANTITY),
            "returnData": BYTES,
            "memory": list_of(BYTES),
            "storage": _SLOTS,
            "refund": COUNT,
        },
    ),
    "CallFrame": _CALL_FRAME,
    "FlatCall": _FLAT_CALL,
    "AccountState": record(
        {}, {"balance": QUANTITY, "code": BYTES, "codeHash": HASH, "nonce": COUNT, "storage": _SLOTS}
    ),
    "States": mapping_of(reference("AccountState"), _ADDRESS_NAME),
    "StateChanges": record(dict.fromkeys(("post", "pre"), reference("States"))),
    "Selectors": mapping_of({"type": "integer", "minimum": 1}, "0x[0-9a-f]{8}-[0-9]+"),
    "SeveralTraces": record(
        {},
        {
            "callTracer": or_null(reference("CallFrame")),
            "flatCallTracer": list_of(reference("FlatCall")),
            "prestateTracer": either(reference("States"), reference("StateChanges")),
            "4byteTracer": reference("Selectors"),
            "noopTracer": record({}),
            "muxTracer": reference("SeveralTraces"),
        },
    ),
    "Trace": either(
        reference("StructLogs"),
        or_null(reference("CallFrame")),
        list_of(reference("FlatCall")),
        reference("States"),
        reference("StateChanges"),
        reference("Selectors"),
        reference("SeveralTraces"),
    ),
}

TRACE: Final = reference("Trace")
TRACES: Final = list_of(
    either(record({"txHash": HASH, "result": TRACE}), record({"txHash": HASH, "error": STRING}))
)
