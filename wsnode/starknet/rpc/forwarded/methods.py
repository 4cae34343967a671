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
from wsnode.jsonrpc.schema import Schema
from wsnode.jsonrpc.work import Await, RenderedJson, Steps
from wsnode.starknet.block_id import BlockId, ByHash, ByNumber, Pending
from wsnode.starknet.felt import felt_text
from wsnode.starknet.rpc.errors import (
    block_not_found,
    contract_not_found,
    no_upstream,
    transaction_hash_not_found,
    unanswered,
)
from wsnode.starknet.rpc.forwarded.params import (
    MAX_DECLARED_VALUES,
    BlockTraceParams,
    CallParams,
    ClassHashParams,
    DeclareParams,
    DeployAccountParams,
    EstimateParams,
    HashParams,
    InvokeParams,
    L1HashParams,
    MessageFeeParams,
    SimulationParams,
)
from wsnode.starknet.rpc.forwarded.schemas import (
    BLOCK_TRACES,
    COMPILED_CLASS,
    FEE_ESTIMATES,
    MESSAGE_FEE_ESTIMATE,
    MESSAGE_STATUSES,
    SENT,
    SENT_ACCOUNT,
    SENT_CLASS,
    SIMULATIONS,
    TRANSACTION_TRACE,
)
from wsnode.starknet.rpc.resolution import number_of
from wsnode.starknet.rpc.schemas import FELTS
from wsnode.starknet.snapshot import StarknetSnapshot


class ForwardedMethod(msgspec.Struct, frozen=True):
    """Definition of a method whose calls upstreams answer: its parameters, its result, and its summary.
    `contracts` returns the contracts named by a call.
    """

    params: type[msgspec.Struct]
    result: Schema
    summary: str
    errors: Sequence[RpcError] = ()
    contracts: Callable[[Any], list[int] | None] | None = None
    max_values: int = 0
    """Number of JSON values that the parameters may have, where the session's bound is lower."""


def _called(params: CallParams) -> list[int] | None:
    """Return the called contract for keys with only some contracts, None if it cannot be read."""
    try:
        return [int(str(params.request.get("contract_address")), 16)]
    except ValueError:
        return None


def _any_contract(_params: Any) -> None:
    return


_STATE_ERRORS: Final = (block_not_found(), contract_not_found())
FORWARDED: Final[dict[str, ForwardedMethod]] = {
    "call": ForwardedMethod(
        CallParams, FELTS, "Return what a function of a contract returns.", _STATE_ERRORS, _called
    ),
    "estimateFee": ForwardedMethod(
        EstimateParams,
        FEE_ESTIMATES,
        "Return the estimated fee of each transaction.",
        _STATE_ERRORS,
        _any_contract,
        MAX_DECLARED_VALUES,
    ),
    "estimateMessageFee": ForwardedMethod(
        MessageFeeParams,
        MESSAGE_FEE_ESTIMATE,
        "Return the estimated fee of a message from L1.",
        _STATE_ERRORS,
        _any_contract,
    ),
    "simulateTransactions": ForwardedMethod(
        SimulationParams,
        SIMULATIONS,
        "Return trace and estimated fee of each transaction, executed in turn.",
        _STATE_ERRORS,
        _any_contract,
        MAX_DECLARED_VALUES,
    ),
    "traceTransaction": ForwardedMethod(
        HashParams, TRANSACTION_TRACE, "Return the trace of a transaction.", (transaction_hash_not_found(),)
    ),
    "traceBlockTransactions": ForwardedMethod(
        BlockTraceParams, BLOCK_TRACES, "Return the traces of a block's transactions.", (block_not_found(),)
    ),
    "getCompiledCasm": ForwardedMethod(
        ClassHashParams, COMPILED_CLASS, "Return the compiled form of a class."
    ),
    "getMessagesStatus": ForwardedMethod(
        L1HashParams,
        MESSAGE_STATUSES,
        "Return the status of the messages that a transaction of L1 sent.",
        (transaction_hash_not_found(),),
    ),
    "addInvokeTransaction": ForwardedMethod(
        InvokeParams, SENT, "Return the hash of a sent INVOKE transaction."
    ),
    "addDeclareTransaction": ForwardedMethod(
        DeclareParams,
        SENT_CLASS,
        "Return the hashes of a sent DECLARE transaction and of its class.",
        max_values=MAX_DECLARED_VALUES,
    ),
    "addDeployAccountTransaction": ForwardedMethod(
        DeployAccountParams,
        SENT_ACCOUNT,
        "Return the hash of a sent DEPLOY_ACCOUNT transaction, and its contract.",
    ),
}
"""The forwarded methods, by their names without prefix."""
SENDING: Final = {
    "addInvokeTransaction": "invoke_transaction",
    "addDeclareTransaction": "declare_transaction",
    "addDeployAccountTransaction": "deploy_account_transaction",
}
"""Methods that send a transaction, each with the name of its parameter."""
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
            max_values=method.max_values,
        )(_handler(name, method, snapshot_of))


def _handler(
    name: str, method: ForwardedMethod, snapshot_of: Callable[[Any], StarknetSnapshot]
) -> Callable[[Any, Any], Steps]:
    def forwarded(view: Any, params: Any) -> Steps:
        snapshot = snapshot_of(view)
        told = passed_on(snapshot, params)
        result = yield from forward(snapshot, name, told)
        if (member := SENDING.get(name)) is not None:
            _keep(snapshot, told[member], result)
        return result

    forwarded.__doc__ = f"{method.summary} An upstream answers."
    return forwarded


def _keep(snapshot: StarknetSnapshot, transaction: dict[str, Any], result: RenderedJson) -> None:
    """Keep a transaction that an upstream has accepted, and publish it with the finality RECEIVED."""
    followed = snapshot.followed
    if followed is not None and followed.sent.add(transaction, result):
        followed.publish()


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
    """Return parameters in the form for an upstream.

    A stored block is named by its hash, so that all calls of a batch read one chain; any other block by the
    caller's number or hash.

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
