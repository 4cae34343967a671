"""Methods that an upstream answers: calls, estimates, simulations, traces, and transactions to be included.

This node executes no Cairo. The reply is the upstream's, unchanged and not verified.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.jsonrpc.errors import RpcError, limit_exceeded, response_too_large
from wsnode.jsonrpc.parameters import ParameterDecoder
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import STRING, Schema, list_of, members
from wsnode.jsonrpc.work import Await, RenderedJson, Steps
from wsnode.starknet.block_id import BlockId, ByHash, ByNumber, Pending
from wsnode.starknet.felt import Felt, felt_text
from wsnode.starknet.rpc.errors import (
    block_not_found,
    contract_not_found,
    no_upstream,
    transaction_hash_not_found,
    unanswered,
)
from wsnode.starknet.rpc.resolution import number_of
from wsnode.starknet.snapshot import StarknetSnapshot

Document = dict[str, Any]
"""A JSON object that is passed on as it is."""


class CallParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`request`, `block_id`."""

    request: Document
    block_id: BlockId


class EstimateParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`request`: transactions; `simulation_flags`, `block_id`."""

    request: list[Document]
    simulation_flags: list[str]
    block_id: BlockId


class MessageFeeParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`message`, `block_id`."""

    message: Document
    block_id: BlockId


class SimulationParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`block_id`, `transactions`, `simulation_flags`."""

    block_id: BlockId
    transactions: list[Document]
    simulation_flags: list[str]


class BlockTraceParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`block_id`; `trace_flags` (0.10.1) say what the traces have besides."""

    block_id: BlockId
    trace_flags: list[str] | None = None


class HashParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`transaction_hash`."""

    transaction_hash: Felt


class ClassHashParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`class_hash`."""

    class_hash: Felt


class InvokeParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`invoke_transaction`."""

    invoke_transaction: Document


class DeclareParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`declare_transaction`."""

    declare_transaction: Document


class DeployAccountParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """`deploy_account_transaction`."""

    deploy_account_transaction: Document


class ForwardedMethod(msgspec.Struct, frozen=True):
    """Method that is forwarded: its parameters, its result, and its summary."""

    params: type[msgspec.Struct]
    result: Schema
    summary: str
    errors: Sequence[RpcError] = ()
    contracts: Callable[[Any], list[int] | None] | None = None


def _called(params: CallParams) -> list[int] | None:
    """Return the called contract for keys with only some contracts, None if it cannot be read."""
    try:
        return [int(str(params.request.get("contract_address")), 16)]
    except ValueError:
        return None


def _any_contract(_params: Any) -> None:
    return


_OBJECT: Final[Schema] = {"type": "object"}
_OBJECTS: Final = list_of(_OBJECT)
_SENT: Final = members({"transaction_hash": STRING}, "transaction_hash")
_STATE_ERRORS: Final = (block_not_found(), contract_not_found())
FORWARDED: Final[dict[str, ForwardedMethod]] = {
    "call": ForwardedMethod(
        CallParams, list_of(STRING), "Return what a function of a contract returns.", _STATE_ERRORS, _called
    ),
    "estimateFee": ForwardedMethod(
        EstimateParams,
        _OBJECTS,
        "Return the estimated fee of each transaction.",
        _STATE_ERRORS,
        _any_contract,
    ),
    "estimateMessageFee": ForwardedMethod(
        MessageFeeParams,
        _OBJECT,
        "Return the estimated fee of a message from L1.",
        _STATE_ERRORS,
        _any_contract,
    ),
    "simulateTransactions": ForwardedMethod(
        SimulationParams,
        {},
        "Return trace and estimated fee of each transaction, executed in turn.",
        _STATE_ERRORS,
        _any_contract,
    ),
    "traceTransaction": ForwardedMethod(
        HashParams, _OBJECT, "Return the trace of a transaction.", (transaction_hash_not_found(),)
    ),
    "traceBlockTransactions": ForwardedMethod(
        BlockTraceParams, {}, "Return the traces of a block's transactions.", (block_not_found(),)
    ),
    "getCompiledCasm": ForwardedMethod(ClassHashParams, _OBJECT, "Return the compiled form of a class."),
    "getMessagesStatus": ForwardedMethod(
        HashParams,
        _OBJECTS,
        "Return the status of the messages that a transaction of L1 sent.",
        (transaction_hash_not_found(),),
    ),
    "addInvokeTransaction": ForwardedMethod(
        InvokeParams, _SENT, "Return the hash of a sent INVOKE transaction."
    ),
    "addDeclareTransaction": ForwardedMethod(
        DeclareParams, _SENT, "Return the hashes of a sent DECLARE transaction and of its class."
    ),
    "addDeployAccountTransaction": ForwardedMethod(
        DeployAccountParams, _SENT, "Return the hash of a sent DEPLOY_ACCOUNT transaction, and its contract."
    ),
}
"""The forwarded methods, by their names without prefix."""
FORWARDING_ERRORS: Final = (
    no_upstream(),
    unanswered("…", 1),
    limit_exceeded("too many calls are forwarded"),
    response_too_large(),
)


def add_forwarded(
    registry: Registry,
    family: str,
    snapshot_of: Callable[[Any], StarknetSnapshot],
    decoder_of: Callable[[type[msgspec.Struct]], ParameterDecoder | None],
) -> None:
    """Register the forwarded methods of a family; a chain that follows no node refuses all calls."""
    for name, method in FORWARDED.items():
        registry.method(
            f"{family}_{name}",
            by_name=True,
            decoder=decoder_of(method.params),
            result=method.result,
            errors=(*method.errors, *FORWARDING_ERRORS),
            contracts=method.contracts,
        )(_handler(name, method, snapshot_of))


def _handler(
    name: str, method: ForwardedMethod, snapshot_of: Callable[[Any], StarknetSnapshot]
) -> Callable[[Any, Any], Steps]:
    def forwarded(view: Any, params: Any) -> Steps:
        snapshot = snapshot_of(view)
        return (yield from forward(snapshot, name, passed_on(snapshot, params)))

    forwarded.__doc__ = f"{method.summary} An upstream answers."
    return forwarded


def forward(snapshot: StarknetSnapshot, name: str, params: dict[str, Any]) -> Steps:
    """Return an upstream's result.

    Raises:
        RpcError: The upstream's error, or no upstream answers.
    """
    if snapshot.followed is None:
        raise no_upstream()
    ask = partial(snapshot.followed.forwarder.forward, name, params, rpc_version=snapshot.rpc_version)
    text: bytes = yield Await(ask)
    return RenderedJson(text)


def passed_on(snapshot: StarknetSnapshot, params: msgspec.Struct) -> dict[str, Any]:
    """Return parameters as an upstream gets them.

    A block is named by its hash here, for one chain in all calls of a batch; by the caller's number or hash
    if it is not stored here.

    Raises:
        RpcError: The chain is empty, so that it has no latest block.
    """
    members = {name: getattr(params, name) for name in params.__struct_fields__}
    return {
        name: _block(snapshot, value) if isinstance(value, BlockId) else _plain(value)
        for name, value in members.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    return felt_text(value) if isinstance(value, bytes) else value


def _block(snapshot: StarknetSnapshot, block_id: BlockId) -> Any:
    choice = block_id.choice
    if isinstance(choice, Pending):
        return "pre_confirmed"
    if isinstance(choice, ByHash):
        return {"block_hash": felt_text(choice.hash)}
    number = number_of(snapshot, block_id)
    row = None if number is None else snapshot.block(number)
    if row is not None:
        return {"block_hash": felt_text(row.hash)}
    if not isinstance(choice, ByNumber):
        raise block_not_found()
    return {"block_number": choice.number}
