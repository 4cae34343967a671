"""eth_call and eth_estimateGas: short calls immediately, long ones in a worker thread within a time limit."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, TypeAlias

from wsnode.ethereum.codes import REVERTED
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.calls.execution import (
    UNKNOWN_GAS,
    CallParameters,
    execution_of,
    require_known_gas,
)
from wsnode.ethereum.rpc.calls.message import supplied_gas, targets_of_call
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import TextParameters
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import CALL_ERRORS, data, quantity
from wsnode.ethereum.rpc.common.schemas import BYTES, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    Halt,
    Interrupted,
    InvalidTransactionError,
    ReorganisedError,
    Revert,
    State,
    Success,
    estimate_call_text,
    revert_message,
    run_call_text,
    with_supplied_gas,
)
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, out_of_time, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import JsonText, RunInThread, Step

PARAMETERS: Final = TextParameters(CallParameters)

PLAIN_JUMPS: Final = 5_000
"""Jumps after which the engine gives up a call of a burst, for the handler to run it again."""

Steps: TypeAlias = Generator[Step, Any, bytes]
TextRun: TypeAlias = Callable[
    [State, int, bytes, bytes, int, int], bytes | int | Revert | Halt | Interrupted | None
]
"""Function that runs a call, given as JSON text, on the state after the block with this number and header.

The last two arguments are the gas limit, in gas limits of the block, and the jumps after which it stops.
"""


class CallMethods:
    """Handlers of eth_call and eth_estimateGas, within the limits of calls."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self._head = (Hash32(b""), b"")
        """The last head seen: its hash and its header row."""
        self.timed_out = server_error(f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def call(self, view: Snapshot, params: CallParameters, *, is_long: bool = False) -> Steps:
        """Return the bytes that the called contract returns."""
        execution = yield from execution_of(view, params, self._limits.call_gas_blocks, self._pending)
        try:
            outcome = (
                None if is_long or params.is_large else execution.call(budget=self._limits.call_inline_jumps)
            )
            if outcome is None or isinstance(outcome, Interrupted):
                outcome = yield RunInThread(execution.call_until_cancelled)
        except InvalidTransactionError as error:
            raise _refused(error, supplied_gas(params.call.gas, execution.gas_cap)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(outcome, Success):
            return data(outcome.output)
        raise self._failed(outcome)

    def call_of_text(self, view: Snapshot, params: bytes) -> Steps:
        """Return the bytes that the called contract returns.

        Takes the parameters as JSON text.
        """
        return (yield from self.call(view, PARAMETERS.read(params)))

    def call_at_once(self, view: Snapshot, params: bytes) -> JsonText | Steps:
        """Return the result of a short call, or the steps that continue a long one."""
        outcome = self._from_text(run_call_text, view, params)
        if isinstance(outcome, bytes):
            return outcome
        if outcome is None:
            return self.call_of_text(view, params)
        if isinstance(outcome, Interrupted):
            return self.call(view, PARAMETERS.read(params), is_long=True)
        raise self._failed(outcome)

    def estimate_gas(self, view: Snapshot, params: CallParameters, *, is_long: bool = False) -> Steps:
        """Return the lowest gas limit with which the call succeeds, to within 1.5 %."""
        return quantity((yield from self.estimated(view, params, is_long=is_long)))

    def estimated(
        self, view: Snapshot, params: CallParameters, *, is_long: bool = False
    ) -> Generator[Step, Any, int]:
        """Return the lowest gas limit with which the call succeeds, as a number.

        Raises:
            RpcError: It succeeds with no gas limit, or not in time.
        """
        require_known_gas(view)
        execution = yield from execution_of(view, params, self._limits.call_gas_blocks, self._pending)
        try:
            estimate = (
                None
                if is_long or params.is_large
                else execution.estimate(budget=self._limits.call_inline_jumps)
            )
            if estimate is None or isinstance(estimate, Interrupted):
                work = RunInThread(execution.estimate_until_cancelled)
                # Some methods that estimate gas have no deadline of their own.
                work.seconds = self._limits.call_seconds
                estimate = yield work
        except TimeLimitError as error:
            raise out_of_time(error, self.timed_out) from None
        except InvalidTransactionError as error:
            raise server_error(str(error)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(estimate, int):
            return estimate
        raise self._failed(estimate)

    def estimate_of_text(self, view: Snapshot, params: bytes) -> Steps:
        """Return the lowest gas limit with which the call succeeds, to within 1.5 %.

        Takes the parameters as JSON text.
        """
        return (yield from self.estimate_gas(view, PARAMETERS.read(params)))

    def estimate_at_once(self, view: Snapshot, params: bytes) -> JsonText | Steps:
        """Return the result of a short estimate, or the steps that continue a long one."""
        require_known_gas(view)
        estimate = self._from_text(estimate_call_text, view, params)
        if isinstance(estimate, bytes):
            return estimate
        if estimate is None:
            return self.estimate_of_text(view, params)
        if isinstance(estimate, Interrupted):
            return self.estimate_gas(view, PARAMETERS.read(params), is_long=True)
        raise self._failed(estimate)

    def _from_text(
        self, run: TextRun, view: Snapshot, params: bytes
    ) -> bytes | Revert | Halt | Interrupted | None:
        """Return the outcome of a call within its budget, None for parameters in an unusual form."""
        state, limits = view.state, (self._limits.call_gas_blocks, self._limits.call_inline_jumps)
        try:
            found = run(state, view.number, self._head_row(view), params, *limits)
            if type(found) is int and (header := view.header(found)) is not None:
                found = run(state, found, header, params, *limits)
        except (InvalidTransactionError, ReorganisedError):
            return None
        return None if isinstance(found, int) else found

    def _head_row(self, view: Snapshot) -> bytes:
        # The last header is kept: a header never changes under its hash, and nearly all calls run on the
        # latest block.
        if view.head.hash != self._head[0]:
            header = view.header(view.number)
            assert header is not None, "the head is stored"
            self._head = (view.head.hash, header)
        return self._head[1]

    def _failed(self, outcome: Revert | Halt | Interrupted) -> RpcError:
        if isinstance(outcome, Revert):
            return reverted(outcome.output)
        return server_error(outcome.reason) if isinstance(outcome, Halt) else self.timed_out


def _refused(error: InvalidTransactionError, gas: int) -> RpcError:
    if error.kind == "overrides":
        return server_error(str(error))
    return server_error(with_supplied_gas(str(error), gas))


def reverted(output: bytes) -> RpcError:
    """Return the error of a call that reverted with `output`."""
    return RpcError(REVERTED, revert_message(output), f"0x{output.hex()}")


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    calls = CallMethods(limits, pending)
    method = partial(
        registry.method,
        errors=CALL_ERRORS,
        contracts=targets_of_call,
        deadline=limits.call_seconds,
        timeout_error=calls.timed_out,
        decoder=PARAMETERS,
    )
    native = (limits.call_gas_blocks, min(limits.call_inline_jumps, PLAIN_JUMPS))
    method("eth_call", result=BYTES, at_once=calls.call_at_once, native=True, engine_limits=native)(
        calls.call_of_text
    )
    method(
        "eth_estimateGas",
        result=QUANTITY,
        at_once=calls.estimate_at_once,
        errors=(*CALL_ERRORS, UNKNOWN_GAS),
    )(calls.estimate_of_text)
