"""JSON schemas of the results of forwarded methods, under starknet-specs' names.

An upstream of a later version may add members.
"""

from typing import Final

from wsnode.jsonrpc.schema import (
    BOOLEAN,
    COUNT,
    STRING,
    Schema,
    either,
    list_of,
    mapping_of,
    members,
    reference,
    tuple_of,
)
from wsnode.starknet.rpc.schemas import EXECUTION_STATUS, FELT, FELTS, FINALITY, HEX


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return members({**required, **(optional or {})}, *required)


_INTEGER: Final[Schema] = {"type": "integer"}
_FEES: Final = dict.fromkeys(
    (
        *("l1_gas_consumed", "l1_gas_price", "l2_gas_consumed", "l2_gas_price"),
        *("l1_data_gas_consumed", "l1_data_gas_price", "overall_fee"),
    ),
    HEX,
)
_INVOCATION: Final = reference("FUNCTION_INVOCATION")
_REVERTED: Final = _object({"revert_reason": STRING})
_OF_EACH_TRACE: Final[dict[str, Schema]] = {
    "execution_resources": _object(dict.fromkeys(("l1_gas", "l1_data_gas", "l2_gas"), COUNT))
}
_DIFF: Final[dict[str, Schema]] = {"state_diff": reference("STATE_DIFF")}
_OF_ACCOUNT: Final[dict[str, Schema]] = {
    **_DIFF,
    **dict.fromkeys(("validate_invocation", "fee_transfer_invocation"), _INVOCATION),
}
TRANSACTION_TRACE: Final = reference("TRANSACTION_TRACE")
_FEE_ESTIMATE: Final = reference("FEE_ESTIMATE")


def _trace(kind: str, own: dict[str, Schema], optional: dict[str, Schema]) -> Schema:
    return _object({"type": {"const": kind}, **own, **_OF_EACH_TRACE}, optional)


def _with_reads(name: str, rows: Schema) -> Schema:
    """Return the schema of rows: alone, or beside the values of state that were read (0.10.1)."""
    return either(rows, _object({name: rows, "initial_reads": reference("INITIAL_READS")}))


_INVOCATION_MEMBERS: Final[dict[str, Schema]] = {
    **dict.fromkeys(("contract_address", "entry_point_selector", "caller_address", "class_hash"), FELT),
    **dict.fromkeys(("calldata", "result"), FELTS),
    "entry_point_type": {"enum": ["EXTERNAL", "L1_HANDLER", "CONSTRUCTOR"]},
    "call_type": {"enum": ["LIBRARY_CALL", "CALL", "DELEGATE"]},
    "calls": list_of(_INVOCATION),
    "events": list_of(_object(dict.fromkeys(("keys", "data"), FELTS), {"order": _INTEGER})),
    "messages": list_of(
        _object(
            {**dict.fromkeys(("from_address", "to_address"), FELT), "payload": FELTS}, {"order": _INTEGER}
        )
    ),
    "execution_resources": _object(dict.fromkeys(("l1_gas", "l2_gas"), COUNT)),
    "is_reverted": BOOLEAN,
}
_CELL: Final = _object({"register": {"enum": ["AP", "FP"]}, "offset": _INTEGER})
_DEREF: Final = _object({"Deref": _CELL})
_IMMEDIATE: Final = _object({"Immediate": HEX})
_OPERAND: Final = either(
    _CELL,
    _DEREF,
    _object({"DoubleDeref": tuple_of((_CELL, _INTEGER))}),
    _IMMEDIATE,
    _object(
        {"BinOp": _object({"op": {"enum": ["Add", "Mul"]}, "a": _CELL, "b": either(_DEREF, _IMMEDIATE)})}
    ),
    # Some operands are a bare number, such as the selector of a cheat code.
    HEX,
)
_HINT: Final = either(STRING, mapping_of(mapping_of(_OPERAND)))
"""Name of a hint, or an object with its operands under that name."""
_CASM_ENTRY_POINTS: Final = list_of(_object({"offset": COUNT, "selector": FELT, "builtins": list_of(STRING)}))

FORWARDED_COMPONENTS: Final[dict[str, Schema]] = {
    "FEE_ESTIMATE": _object({**_FEES, "unit": {"const": "FRI"}}),
    "MESSAGE_FEE_ESTIMATE": _object({**_FEES, "unit": {"const": "WEI"}}),
    "FUNCTION_INVOCATION": _object(_INVOCATION_MEMBERS),
    "TRANSACTION_TRACE": either(
        _trace("INVOKE", {"execute_invocation": either(_INVOCATION, _REVERTED)}, _OF_ACCOUNT),
        _trace("DECLARE", {}, _OF_ACCOUNT),
        _trace("DEPLOY_ACCOUNT", {"constructor_invocation": _INVOCATION}, _OF_ACCOUNT),
        _trace("L1_HANDLER", {"function_invocation": either(_INVOCATION, _REVERTED)}, _DIFF),
    ),
    "INITIAL_READS": _object(
        {
            "storage": list_of(_object(dict.fromkeys(("contract_address", "key", "value"), FELT))),
            "nonces": list_of(_object(dict.fromkeys(("contract_address", "nonce"), FELT))),
            "class_hashes": list_of(_object(dict.fromkeys(("contract_address", "class_hash"), FELT))),
            "declared_contracts": list_of(_object({"class_hash": FELT, "is_declared": BOOLEAN})),
        }
    ),
    "CASM_COMPILED_CONTRACT_CLASS": _object(
        {
            "prime": HEX,
            "compiler_version": STRING,
            "bytecode": FELTS,
            "hints": list_of(tuple_of((_INTEGER, list_of(_HINT)))),
            "entry_points_by_type": _object(
                dict.fromkeys(("CONSTRUCTOR", "EXTERNAL", "L1_HANDLER"), _CASM_ENTRY_POINTS)
            ),
        },
        {"bytecode_segment_lengths": list_of(_INTEGER)},
    ),
}
FEE_ESTIMATES: Final = list_of(_FEE_ESTIMATE)
MESSAGE_FEE_ESTIMATE: Final = reference("MESSAGE_FEE_ESTIMATE")
SIMULATIONS: Final = _with_reads(
    "simulated_transactions",
    list_of(_object({"transaction_trace": TRANSACTION_TRACE, "fee_estimation": _FEE_ESTIMATE})),
)
BLOCK_TRACES: Final = _with_reads(
    "traces", list_of(_object({"transaction_hash": FELT, "trace_root": TRANSACTION_TRACE}))
)
COMPILED_CLASS: Final = reference("CASM_COMPILED_CONTRACT_CLASS")
MESSAGE_STATUSES: Final = list_of(
    _object(
        {"transaction_hash": FELT, "finality_status": FINALITY, "execution_status": EXECUTION_STATUS},
        {"failure_reason": STRING},
    )
)
SENT: Final = _object({"transaction_hash": FELT})
SENT_CLASS: Final = _object(dict.fromkeys(("transaction_hash", "class_hash"), FELT))
SENT_ACCOUNT: Final = _object(dict.fromkeys(("transaction_hash", "contract_address"), FELT))
