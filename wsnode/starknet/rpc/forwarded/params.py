"""Parameters of forwarded methods: JSON that is passed on; only its lists and flags are checked.

Schemas have the members that starknet-specs requires; the upstream checks that they are present.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import STRING, Schema, either, list_of, members, text
from wsnode.jsonrpc.session_limits import check_count
from wsnode.starknet.block_id import BlockId
from wsnode.starknet.felt import Felt
from wsnode.starknet.rpc.params import MAX_FLAGS, checked_flags
from wsnode.starknet.rpc.schemas import WRITTEN_FELT

MAX_FORWARDED_TRANSACTIONS: Final = 100
"""Maximum number of transactions that one request simulates; an upstream executes them one by one."""
MAX_FORWARDED_FELTS: Final = 10_000
"""Maximum number of felts of one list of a call, message or transaction, as in pathfinder."""
_CLASS_BYTES: Final = 4_089_446
"""Maximum number of bytes of a class that Starknet's sequencer accepts."""
MAX_PROGRAM_FELTS: Final = _CLASS_BYTES // len('"0x0",')
"""Maximum number of felts of a declared program: of the shortest felts, as many as fit into a class."""
MAX_ENTRY_POINTS: Final = _CLASS_BYTES // len('{"selector":"0x0","function_idx":0},')
"""Maximum number of entry points of one kind of a class: of the shortest ones, as many as fit into a
class.
"""
_FELT_LISTS: Final = 4
"""Maximum number of lists of felts of a transaction to declare: signature, paymaster and deployment data."""
MAX_DECLARED_VALUES: Final = MAX_PROGRAM_FELTS + _FELT_LISTS * MAX_FORWARDED_FELTS
"""JSON values of a transaction to declare, its class included: no class has more of them than felts."""
ESTIMATE_FLAGS: Final = ("SKIP_VALIDATE",)
SIMULATION_FLAGS: Final = ("SKIP_VALIDATE", "SKIP_FEE_CHARGE", "RETURN_INITIAL_READS")
TRACE_FLAGS: Final = ("RETURN_INITIAL_READS",)


class FunctionCall(dict[str, Any]):
    """Call of a contract's function: `{contract_address, entry_point_selector, calldata}`."""

    __slots__ = ()


class MessageFromL1(dict[str, Any]):
    """Message from a contract of L1 to one of Starknet: `{from_address, to_address, entry_point_selector,
    payload}`.
    """

    __slots__ = ()


class BroadcastedInvoke(dict[str, Any]):
    """INVOKE transaction to send, as starknet-specs' BROADCASTED_INVOKE_TXN."""

    __slots__ = ()


class BroadcastedDeclare(dict[str, Any]):
    """DECLARE transaction to send, with its class, as starknet-specs' BROADCASTED_DECLARE_TXN."""

    __slots__ = ()


class BroadcastedDeployAccount(dict[str, Any]):
    """DEPLOY_ACCOUNT transaction to send, as starknet-specs' BROADCASTED_DEPLOY_ACCOUNT_TXN."""

    __slots__ = ()


class SimulatedTransactions(list[dict[str, Any]]):
    """Array of INVOKE, DECLARE and DEPLOY_ACCOUNT transactions to execute one after another; they are not
    included in a block.
    """

    __slots__ = ()


class EstimateFlags(tuple[str, ...]):
    """Array of flags of a fee estimate: with `SKIP_VALIDATE` accounts do not validate transactions."""

    __slots__ = ()


class SimulationFlags(tuple[str, ...]):
    """Array of flags of a simulation: `SKIP_VALIDATE` and `SKIP_FEE_CHARGE` leave out a part of the
    sequencer's execution, `RETURN_INITIAL_READS` adds results.
    """

    __slots__ = ()


class TraceFlags(tuple[str, ...]):
    """Array of flags of a trace: `RETURN_INITIAL_READS` adds results."""

    __slots__ = ()


L1Hash: TypeAlias = Annotated[str, msgspec.Meta(pattern="^0[xX][0-9a-fA-F]{1,64}$")]
"""Hash of a transaction of L1: 32 bytes, which need not be a felt."""
_FELTS: Final = list_of(WRITTEN_FELT, most=MAX_FORWARDED_FELTS)
_AMOUNT: Final = text("0x[0-9a-fA-F]{1,32}")
_LAYER: Final[Schema] = {"enum": ["L1", "L2"]}
_BOUND: Final = members(
    dict.fromkeys(("max_amount", "max_price_per_unit"), _AMOUNT), "max_amount", "max_price_per_unit"
)
_RESOURCES: Final = ("l1_gas", "l2_gas", "l1_data_gas")
_OF_EACH_TRANSACTION: Final[dict[str, Schema]] = {
    # The second version marks transactions that are only estimated or simulated.
    "version": {"enum": ["0x3", "0x100000000000000000000000000000003"]},
    "signature": _FELTS,
    "nonce": WRITTEN_FELT,
    "resource_bounds": members(dict.fromkeys(_RESOURCES, _BOUND), *_RESOURCES),
    "tip": _AMOUNT,
    "paymaster_data": _FELTS,
    **dict.fromkeys(("nonce_data_availability_mode", "fee_data_availability_mode"), _LAYER),
}
_ENTRY_POINTS: Final = list_of(
    members({"selector": WRITTEN_FELT, "function_idx": {"type": "integer"}}, "selector", "function_idx"),
    most=MAX_ENTRY_POINTS,
)
_KINDS: Final = ("CONSTRUCTOR", "EXTERNAL", "L1_HANDLER")
_DECLARED_CLASS: Final = members(
    {
        "sierra_program": list_of(WRITTEN_FELT, most=MAX_PROGRAM_FELTS),
        "contract_class_version": STRING,
        "entry_points_by_type": members(dict.fromkeys(_KINDS, _ENTRY_POINTS), *_KINDS),
        "abi": STRING,
    },
    "sierra_program",
    "contract_class_version",
    "entry_points_by_type",
)


def _sent(kind: str, own: dict[str, Schema], optional: dict[str, Schema]) -> Schema:
    required = {"type": {"const": kind, "enum": [kind]}, **_OF_EACH_TRANSACTION, **own}
    return members({**required, **optional}, *required)


CALL: Final = members(
    {**dict.fromkeys(("contract_address", "entry_point_selector"), WRITTEN_FELT), "calldata": _FELTS},
    "contract_address",
    "entry_point_selector",
    "calldata",
)
MESSAGE: Final = members(
    {
        "from_address": text("0x[0-9a-fA-F]{40}"),
        **dict.fromkeys(("to_address", "entry_point_selector"), WRITTEN_FELT),
        "payload": _FELTS,
    },
    "from_address",
    "to_address",
    "entry_point_selector",
    "payload",
)
INVOKE: Final = _sent(
    "INVOKE",
    {"sender_address": WRITTEN_FELT, **dict.fromkeys(("calldata", "account_deployment_data"), _FELTS)},
    {"proof_facts": _FELTS, "proof": STRING},
)
DECLARE: Final = _sent(
    "DECLARE",
    {
        **dict.fromkeys(("sender_address", "compiled_class_hash"), WRITTEN_FELT),
        "contract_class": _DECLARED_CLASS,
        "account_deployment_data": _FELTS,
    },
    {},
)
DEPLOY_ACCOUNT: Final = _sent(
    "DEPLOY_ACCOUNT",
    {
        **dict.fromkeys(("contract_address_salt", "class_hash"), WRITTEN_FELT),
        "constructor_calldata": _FELTS,
    },
    {},
)
TRANSACTION: Final = either(INVOKE, DECLARE, DEPLOY_ACCOUNT)


def check_lists(value: Any, schema: Schema) -> None:
    """Check the number of items of each list in a JSON value that a schema bounds.

    Raises:
        ValueError: A list has too many.
    """
    for alternative in schema.get("anyOf", ()):
        check_lists(value, alternative)
    if type(value) is dict:
        for name, inner in schema.get("properties", {}).items():
            items = value.get(name)
            if type(items) is list and "maxItems" in inner:
                check_count(len(items), inner["maxItems"], f"items of {name}")
            check_lists(items, inner)
    elif type(value) is list and _has_list(schema.get("items", {})):
        for item in value:
            check_lists(item, schema["items"])


def _has_list(schema: Schema) -> bool:
    return schema.get("type") == "array" or any(map(_has_list, _inside(schema)))


def _inside(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("anyOf", ())
    yield from schema.get("properties", {}).values()


def _checked(value: Any, schema: Schema) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError("what is passed on is an object")
    check_lists(value, schema)
    return value


def _decode_call(value: Any) -> FunctionCall:
    return FunctionCall(_checked(value, CALL))


def _decode_message(value: Any) -> MessageFromL1:
    return MessageFromL1(_checked(value, MESSAGE))


def _decode_invoke(value: Any) -> BroadcastedInvoke:
    return BroadcastedInvoke(_checked(value, INVOKE))


def _decode_declare(value: Any) -> BroadcastedDeclare:
    return BroadcastedDeclare(_checked(value, DECLARE))


def _decode_deploy_account(value: Any) -> BroadcastedDeployAccount:
    return BroadcastedDeployAccount(_checked(value, DEPLOY_ACCOUNT))


def _decode_transactions(value: Any) -> SimulatedTransactions:
    if type(value) is not list:
        raise ValueError("transactions are an array")
    check_count(len(value), MAX_FORWARDED_TRANSACTIONS, "transactions")
    return SimulatedTransactions(_checked(item, TRANSACTION) for item in value)


def _decode_estimate_flags(value: Any) -> EstimateFlags:
    return EstimateFlags(checked_flags(value, ESTIMATE_FLAGS, "simulation flag"))


def _decode_simulation_flags(value: Any) -> SimulationFlags:
    return SimulationFlags(checked_flags(value, SIMULATION_FLAGS, "simulation flag"))


def _decode_trace_flags(value: Any) -> TraceFlags:
    return TraceFlags(checked_flags(value, TRACE_FLAGS, "trace flag"))


def _some_of(known: tuple[str, ...]) -> Schema:
    return list_of({"enum": list(known)}, most=MAX_FLAGS)


register_type(FunctionCall, _decode_call, CALL)
register_type(MessageFromL1, _decode_message, MESSAGE)
register_type(BroadcastedInvoke, _decode_invoke, INVOKE)
register_type(BroadcastedDeclare, _decode_declare, DECLARE)
register_type(BroadcastedDeployAccount, _decode_deploy_account, DEPLOY_ACCOUNT)
register_type(
    SimulatedTransactions, _decode_transactions, list_of(TRANSACTION, most=MAX_FORWARDED_TRANSACTIONS)
)
register_type(EstimateFlags, _decode_estimate_flags, _some_of(ESTIMATE_FLAGS))
register_type(SimulationFlags, _decode_simulation_flags, _some_of(SIMULATION_FLAGS))
register_type(TraceFlags, _decode_trace_flags, _some_of(TRACE_FLAGS))


class CallParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{request, block_id}`: a call of a contract's function, and the block on whose state it runs."""

    request: FunctionCall
    block_id: BlockId


class EstimateParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{request, simulation_flags, block_id}`: transactions, and the block on whose state their fees are
    estimated.
    """

    request: SimulatedTransactions
    simulation_flags: EstimateFlags
    block_id: BlockId


class MessageFeeParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{message, block_id}`: a message from L1, and the block on whose state its fee is estimated."""

    message: MessageFromL1
    block_id: BlockId


class SimulationParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{block_id, transactions, simulation_flags}`: transactions, and the block on whose state they are
    executed.
    """

    block_id: BlockId
    transactions: SimulatedTransactions
    simulation_flags: SimulationFlags


class BlockTraceParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{block_id, trace_flags}`: the block whose transactions are traced; flags (from starknet-specs 0.10.1
    on) add results.
    """

    block_id: BlockId
    trace_flags: TraceFlags | None = None


class HashParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{transaction_hash}`: the hash of a transaction of Starknet."""

    transaction_hash: Felt


class L1HashParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{transaction_hash}`: the hash of a transaction of L1."""

    transaction_hash: L1Hash


class ClassHashParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{class_hash}`: the hash of a class."""

    class_hash: Felt


class InvokeParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{invoke_transaction}`: an INVOKE transaction to send."""

    invoke_transaction: BroadcastedInvoke


class DeclareParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{declare_transaction}`: a DECLARE transaction to send, with its class."""

    declare_transaction: BroadcastedDeclare


class DeployAccountParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{deploy_account_transaction}`: a DEPLOY_ACCOUNT transaction to send."""

    deploy_account_transaction: BroadcastedDeployAccount
