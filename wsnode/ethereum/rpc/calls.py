"""eth_call and eth_estimateGas: short ones at once, long ones in a thread until a time limit."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.rpc.answers import data, header_not_found, quantity
from wsnode.ethereum.rpc.call_object import CallObject
from wsnode.ethereum.rpc.limits import CallLimits
from wsnode.ethereum.rpc.lookup import is_pending, state_number
from wsnode.ethereum.rpc.messages import message_of, supplied_gas
from wsnode.ethereum.rpc.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
)
from wsnode.ethereum.rpc.parameters import LATEST_BLOCK, BlockParameter
from wsnode.ethereum.rpc.pending import continues
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    CancelFlag,
    Halt,
    Interrupted,
    InvalidTransactionError,
    Message,
    ReorganisedError,
    Revert,
    Success,
    revert_reason,
)
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, server_error
from wsnode.jsonrpc.messages import CancelToken, InThread, Step
from wsnode.jsonrpc.registry import Registry

REVERTED: Final = 3
# Development chains like a gas limit of 2**63 - 1, ten times which no 64 bits hold.
LARGEST_GAS: Final = 2**63 - 1


class CallParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[call, block, state overrides, block overrides]`; without `block`, the latest."""

    call: CallObject
    block: BlockParameter = LATEST_BLOCK
    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES


Outcome: TypeAlias = Success | Revert | Halt | Interrupted
Estimate: TypeAlias = int | Revert | Halt | Interrupted


class Execution(msgspec.Struct, frozen=True, gc=False):
    """What the engine is asked to run, and where."""

    view: Snapshot
    header: bytes
    message: Message
    gas_cap: int
    pending: bool
    state_overrides: bytes | None
    block_overrides: bytes | None

    def call(self, *, budget: int | None = None, cancel: CancelFlag | None = None) -> Outcome:
        """Return what the message leads to."""
        return self.view.state.call(
            self.header,
            self.message,
            gas_cap=self.gas_cap,
            pending=self.pending,
            budget=budget,
            cancel=cancel,
            state_overrides=self.state_overrides,
            block_overrides=self.block_overrides,
        )

    def estimate(self, *, budget: int | None = None, cancel: CancelFlag | None = None) -> Estimate:
        """Return the gas that the message needs."""
        return self.view.state.estimate_gas(
            self.header,
            self.message,
            gas_cap=self.gas_cap,
            pending=self.pending,
            budget=budget,
            cancel=cancel,
            state_overrides=self.state_overrides,
            block_overrides=self.block_overrides,
        )

    def call_until_cancelled(self, token: CancelToken) -> Outcome:
        """Return what the message leads to, unless `token` is set before."""
        return self.call(cancel=_flag(token))

    def estimate_until_cancelled(self, token: CancelToken) -> Estimate:
        """Return the gas that the message needs, unless `token` is set before."""
        return self.estimate(cancel=_flag(token))


def _flag(token: CancelToken) -> CancelFlag:
    flag = CancelFlag()
    token.link(flag.set)
    return flag


class Calls:
    """The methods within their limits."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self.timed_out = server_error(f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def call(self, view: Snapshot, params: CallParameters) -> Generator[Step, Any, bytes]:
        """Return what the called contract returns."""
        execution = prepare(view, params, self._limits.call_gas_blocks)
        try:
            outcome = execution.call(budget=self._limits.call_inline_jumps)
            if isinstance(outcome, Interrupted):
                outcome = yield InThread(execution.call_until_cancelled)
        except InvalidTransactionError as error:
            raise _refused(error, supplied_gas(params.call, execution.gas_cap)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(outcome, Success):
            return data(outcome.output)
        raise self._failed(outcome)

    def estimate_gas(self, view: Snapshot, params: CallParameters) -> Generator[Step, Any, bytes]:
        """Return the lowest gas limit, within 1.5 %, with which the call succeeds."""
        return quantity((yield from self.estimated(view, params)))

    def estimated(self, view: Snapshot, params: CallParameters) -> Generator[Step, Any, int]:
        """Return the lowest gas limit with which the call succeeds, as a number.

        Raises:
            RpcError: It does not succeed with any, or not in time.
        """
        execution = prepare(view, params, self._limits.call_gas_blocks)
        try:
            estimate = execution.estimate(budget=self._limits.call_inline_jumps)
            if isinstance(estimate, Interrupted):
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

    def _failed(self, outcome: Revert | Halt | Interrupted) -> RpcError:
        if isinstance(outcome, Revert):
            return reverted(outcome.output)
        return server_error(outcome.reason) if isinstance(outcome, Halt) else self.timed_out


def _refused(error: InvalidTransactionError, gas: int) -> RpcError:
    """Return what a caller learns of a call that cannot begin."""
    if error.kind == "overrides":
        return server_error(str(error))
    return server_error(f"err: {error} (supplied gas {gas})")


def prepare(view: Snapshot, params: CallParameters, gas_blocks: int) -> Execution:
    """Return the call on the block that is meant, with `gas_blocks` times its gas limit at most.

    Raises:
        RpcError: There is no such block, or the arguments contradict each other.
    """
    header = view.header(state_number(view, params.block))
    if header is None:
        raise header_not_found()
    if unsupported := params.block_overrides.unsupported:
        raise server_error(f'block override "{unsupported}" is not supported for this RPC method')
    fields = header_fields(header)
    pending = is_pending(params.block.number)
    if pending and not continues(fields):
        raise server_error("pending state is not available")
    return Execution(
        view,
        header,
        message_of(params.call, chain_id=view.spec.chain_id, with_base_fee=fields.base_fee is not None),
        min(gas_blocks * fields.gas_limit, LARGEST_GAS),
        pending,
        params.state_overrides or None,
        params.block_overrides or None,
    )


def reverted(output: bytes) -> RpcError:
    """Return the error of a call that reverted with `output`."""
    reason = revert_reason(output)
    message = "execution reverted" if reason is None else f"execution reverted: {reason}"
    return RpcError(REVERTED, message, f"0x{output.hex()}")


def add_methods(registry: Registry, limits: CallLimits) -> None:
    """Register this module's methods."""
    calls = Calls(limits)
    for name, handler in (("eth_call", calls.call), ("eth_estimateGas", calls.estimate_gas)):
        registry.method(name, deadline=limits.call_seconds, timeout_error=calls.timed_out)(handler)
