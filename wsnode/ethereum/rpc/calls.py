"""eth_call and eth_estimateGas: short ones at once, long ones in a thread until a time limit."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.rpc.answers import data, header_not_found, quantity
from wsnode.ethereum.rpc.execution import CallParameters, execution_of, header_after, named_gas
from wsnode.ethereum.rpc.limits import CallLimits
from wsnode.ethereum.rpc.messages import supplied_gas
from wsnode.ethereum.rpc.pending import PendingBlock
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    Halt,
    Interrupted,
    InvalidTransactionError,
    PlainCall,
    ReorganisedError,
    Revert,
    Success,
    estimate_plain_call,
    read_plain_call,
    revert_reason,
    run_plain_call,
)
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, server_error
from wsnode.jsonrpc.messages import InThread, Step
from wsnode.jsonrpc.parameters import PositionalParameters
from wsnode.jsonrpc.registry import Registry

REVERTED: Final = 3


class CallDecoder(PositionalParameters):
    """Reads a call in the usual form in the engine, in a fifth of the time."""

    def decode(self, params: bytes | msgspec.Raw) -> CallParameters | PlainCall:
        """Return the parameters."""
        plain = read_plain_call(bytes(params))
        return super().decode(params) if plain is None else plain


Steps: TypeAlias = Generator[Step, Any, bytes]


class Calls:
    """The methods within their limits."""

    def __init__(self, limits: CallLimits, pending: PendingBlock) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error(f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def call(self, view: Snapshot, params: CallParameters | PlainCall, *, is_long: bool = False) -> Steps:
        """Return what the called contract returns."""
        execution = yield from execution_of(view, params, self._limits.call_gas_blocks, self._pending)
        try:
            outcome = None if is_long else execution.call(budget=self._limits.call_inline_jumps)
            if outcome is None or isinstance(outcome, Interrupted):
                outcome = yield InThread(execution.call_until_cancelled)
        except InvalidTransactionError as error:
            raise _refused(error, supplied_gas(named_gas(params), execution.gas_cap)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(outcome, Success):
            return data(outcome.output)
        raise self._failed(outcome)

    def call_at_once(self, view: Snapshot, params: CallParameters | PlainCall) -> bytes | Steps:
        """Return the same, or how to go on if that takes long."""
        if not isinstance(params, PlainCall):
            return self.call(view, params)
        header, limits = header_after(view, params.block), self._limits
        try:
            outcome = run_plain_call(
                view.state, header, params, limits.call_gas_blocks, limits.call_inline_jumps
            )
        except (InvalidTransactionError, ReorganisedError):
            return self.call(view, params)
        if isinstance(outcome, bytes):
            return outcome
        if isinstance(outcome, Interrupted):
            return self.call(view, params, is_long=True)
        raise self._failed(outcome)

    def estimate_gas(
        self, view: Snapshot, params: CallParameters | PlainCall, *, is_long: bool = False
    ) -> Steps:
        """Return the lowest gas limit, within 1.5 %, with which the call succeeds."""
        return quantity((yield from self.estimated(view, params, is_long=is_long)))

    def estimated(
        self, view: Snapshot, params: CallParameters | PlainCall, *, is_long: bool = False
    ) -> Generator[Step, Any, int]:
        """Return the lowest gas limit with which the call succeeds, as a number.

        Raises:
            RpcError: It does not succeed with any, or not in time.
        """
        execution = yield from execution_of(view, params, self._limits.call_gas_blocks, self._pending)
        try:
            estimate = None if is_long else execution.estimate(budget=self._limits.call_inline_jumps)
            if estimate is None or isinstance(estimate, Interrupted):
                work = InThread(execution.estimate_until_cancelled)
                # For methods that have no deadline of their own.
                work.seconds = self._limits.call_seconds
                estimate = yield work
        except TimeLimitError:
            raise self.timed_out from None
        except InvalidTransactionError as error:
            raise server_error(str(error)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(estimate, int):
            return estimate
        raise self._failed(estimate)

    def estimate_at_once(self, view: Snapshot, params: CallParameters | PlainCall) -> bytes | Steps:
        """Return the same, or how to go on if that takes long."""
        if not isinstance(params, PlainCall):
            return self.estimate_gas(view, params)
        header, limits = header_after(view, params.block), self._limits
        try:
            estimate = estimate_plain_call(
                view.state, header, params, limits.call_gas_blocks, limits.call_inline_jumps
            )
        except (InvalidTransactionError, ReorganisedError):
            return self.estimate_gas(view, params)
        if isinstance(estimate, bytes):
            return estimate
        if isinstance(estimate, Interrupted):
            return self.estimate_gas(view, params, is_long=True)
        raise self._failed(estimate)

    def _failed(self, outcome: Revert | Halt | Interrupted) -> RpcError:
        if isinstance(outcome, Revert):
            return reverted(outcome.output)
        return server_error(outcome.reason) if isinstance(outcome, Halt) else self.timed_out


def _refused(error: InvalidTransactionError, gas: int) -> RpcError:
    """Return what a caller learns of a call that cannot begin."""
    if error.kind == "overrides":
        return server_error(str(error))
    return server_error(f"err: {error} (supplied gas {gas})")


def reverted(output: bytes) -> RpcError:
    """Return the error of a call that reverted with `output`."""
    reason = revert_reason(output)
    message = "execution reverted" if reason is None else f"execution reverted: {reason}"
    return RpcError(REVERTED, message, f"0x{output.hex()}")


def add_methods(registry: Registry, limits: CallLimits, pending: PendingBlock) -> None:
    """Register this module's methods."""
    calls = Calls(limits, pending)
    methods = (
        ("eth_call", calls.call, calls.call_at_once),
        ("eth_estimateGas", calls.estimate_gas, calls.estimate_at_once),
    )
    for name, handler, at_once in methods:
        registry.method(
            name,
            deadline=limits.call_seconds,
            timeout_error=calls.timed_out,
            at_once=at_once,
            decoder=CallDecoder(CallParameters),
        )(handler)
