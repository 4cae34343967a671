"""eth_simulateV1: calls as transactions of simulated blocks, run in a worker thread within a time limit."""

from collections.abc import Generator, Iterable
from itertools import chain
from typing import Any, Final

import msgspec

from wsnode.ethereum.codes import (
    BLOCK_GAS_LIMIT,
    BLOCK_NUMBER,
    BLOCK_TIMESTAMP,
    CLIENT_LIMIT,
    FEE_BELOW_BASE,
    INITCODE_SIZE,
    INSUFFICIENT_FUNDS,
    INTRINSIC_GAS,
    NONCE_TOO_HIGH,
    NONCE_TOO_LOW,
)
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import UNKNOWN_GAS, require_known_gas
from wsnode.ethereum.rpc.calls.message import impossible, mixed_prices, targets, unchecked_message
from wsnode.ethereum.rpc.calls.simulate_parameters import SimulationObject
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import STATE_ERRORS
from wsnode.ethereum.rpc.common.worker_thread import flag_of
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    BoundError,
    InvalidTransactionError,
    Message,
    ReorganisedError,
    Simulation,
    StoppedError,
)
from wsnode.jsonrpc.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    SERVER_ERROR,
    RpcError,
    invalid_params,
    limit_exceeded,
)
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, reference
from wsnode.jsonrpc.work import CancelToken, JsonText, RunInThread, Step

CODES: Final = {
    "nonce_too_low": NONCE_TOO_LOW,
    "nonce_too_high": NONCE_TOO_HIGH,
    "fee_below_base": FEE_BELOW_BASE,
    "intrinsic_gas": INTRINSIC_GAS,
    "insufficient_funds": INSUFFICIENT_FUNDS,
    "block_gas_limit": BLOCK_GAS_LIMIT,
    "block_number": BLOCK_NUMBER,
    "block_timestamp": BLOCK_TIMESTAMP,
    "initcode_size": INITCODE_SIZE,
    "client_limit": CLIENT_LIMIT,
    "tip_above_fee": INVALID_PARAMS,
    "difficulty": INVALID_PARAMS,
    **dict.fromkeys(("arguments", "overrides", "system_call", "unsupported"), SERVER_ERROR),
}
"""The error code of each kind of refusal; other kinds are internal errors, as in geth."""

_ERRORS: Final = (
    RpcError(NONCE_TOO_LOW, "err: nonce too low: … (supplied gas N)"),
    RpcError(NONCE_TOO_HIGH, "err: nonce too high: … (supplied gas N)"),
    RpcError(FEE_BELOW_BASE, "err: max fee per gas less than block base fee: …"),
    RpcError(INTRINSIC_GAS, "err: intrinsic gas too low: have N, want M (supplied gas N)"),
    RpcError(INSUFFICIENT_FUNDS, "err: insufficient funds for gas * price + value: …"),
    RpcError(BLOCK_GAS_LIMIT, "block gas limit reached: remaining: N, required: M"),
    RpcError(BLOCK_NUMBER, "block numbers must be in order: N <= M"),
    RpcError(BLOCK_TIMESTAMP, "block timestamps must be in order: N <= M"),
    RpcError(INITCODE_SIZE, "err: max initcode size exceeded: …"),
    RpcError(CLIENT_LIMIT, "too many blocks"),
)


class SimulationParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[simulation, block]`; without `block`, the latest."""

    simulation: SimulationObject
    block: BlockParameter = LATEST_BLOCK


class SimulationMethods:
    """Handler of eth_simulateV1, within the limits of calls."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = RpcError(INTERNAL_ERROR, f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def simulate(self, view: Snapshot, params: SimulationParameters) -> Generator[Step, Any, JsonText]:
        """Return the list of simulated blocks, each with the results of its calls."""
        if not params.simulation.blocks:
            raise invalid_params("empty input")
        require_known_gas(view)
        header = yield from self._pending.header(view, params.block)

        def run(token: CancelToken) -> JsonText:
            simulation, changes = self._prepare(view, params), self._limits.history_bytes
            return view.state.simulate(header, simulation, changes=changes, cancel=flag_of(token))

        try:
            blocks: bytes = yield RunInThread(run)
        except InvalidTransactionError as error:
            raise self._refused(error) from None
        except StoppedError:
            raise self.timed_out from None
        except BoundError as error:
            raise limit_exceeded(str(error)) from None
        except ReorganisedError:
            raise header_not_found() from None
        return blocks

    def _prepare(self, view: Snapshot, params: SimulationParameters) -> Simulation:
        wanted = params.simulation
        blocks = [
            (
                block.block_overrides or None,
                block.state_overrides or None,
                [_message(call, view.spec.chain_id) for call in block.calls],
            )
            for block in wanted.blocks
        ]
        return Simulation(
            blocks,
            gas_cap=self._limits.simulation_gas,
            validation=wanted.validation,
            trace_transfers=wanted.trace_transfers,
            full_transactions=wanted.full_transactions,
        )

    def _refused(self, error: InvalidTransactionError) -> RpcError:
        if error.kind == "interrupted":
            return self.timed_out
        return RpcError(CODES.get(error.kind, INTERNAL_ERROR), str(error))


def _message(call: CallObject, chain_id: int) -> Message | str:
    """Return the engine's message, or the text of a contradiction, with which the simulation fails at this
    call.
    """
    return mixed_prices(call) or impossible(call, chain_id) or unchecked_message(call)


def _targets(params: SimulationParameters) -> Iterable[int] | None:
    named: list[Iterable[int]] = []
    for block in params.simulation.blocks:
        if (of_block := targets(block.calls, block.state_overrides)) is None:
            return None
        named.append(of_block)
    return chain.from_iterable(named)


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's method."""
    simulations = SimulationMethods(limits, pending)
    registry.method(
        "eth_simulateV1",
        result=list_of(reference("SimulatedBlock")),
        errors=(*STATE_ERRORS, *_ERRORS, UNKNOWN_GAS),
        contracts=_targets,
        deadline=limits.call_seconds,
        timeout_error=simulations.timed_out,
    )(simulations.simulate)
