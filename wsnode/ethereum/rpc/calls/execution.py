"""Execution of a call by the engine, and the block on which it runs."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.message import message_of
from wsnode.ethereum.rpc.calls.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
)
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.worker_thread import flag_of
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, Halt, Interrupted, Message, Revert, Success, call_gas_cap
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.generators import short_work
from wsnode.jsonrpc.work import CancelToken, Step

UNKNOWN_GAS: Final = server_error(
    "ArbOS adds gas for data on L1, which wsnode cannot execute: ask the chain's own node"
)
LARGE_BYTES: Final = 64 * 1024
"""Bytes of JSON that the engine parses in about a millisecond."""

Outcome: TypeAlias = Success | Revert | Halt | Interrupted
Estimate: TypeAlias = int | Revert | Halt | Interrupted


class CallParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[call, block, state overrides, block overrides]`; without `block`, the latest."""

    call: CallObject
    block: BlockParameter = LATEST_BLOCK
    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES

    @property
    def is_large(self) -> bool:
        """Return True if the engine takes milliseconds to parse the call's code, input and overrides."""
        lists = (self.call.access_list, self.call.authorizations, self.state_overrides)
        return sum(len(text or b"") for text in lists) > LARGE_BYTES


class CallExecution(msgspec.Struct, frozen=True, gc=False):
    """Call to execute: the message, the block whose state and header it sees, overrides of both as JSON, None
    without, and the maximum gas.
    """

    view: Snapshot
    header: bytes | BuiltBlock
    """A stored block's header row, or the pending block."""
    message: Message
    gas_cap: int
    state_overrides: bytes | None = None
    block_overrides: bytes | None = None

    def call(self, *, budget: int | None = None, cancel: CancelFlag | None = None) -> Outcome:
        return self.view.state.call(
            self.header,
            self.message,
            gas_cap=self.gas_cap,
            budget=budget,
            cancel=cancel,
            state_overrides=self.state_overrides,
            block_overrides=self.block_overrides,
        )

    def estimate(self, *, budget: int | None = None, cancel: CancelFlag | None = None) -> Estimate:
        return self.view.state.estimate_gas(
            self.header,
            self.message,
            gas_cap=self.gas_cap,
            budget=budget,
            cancel=cancel,
            state_overrides=self.state_overrides,
            block_overrides=self.block_overrides,
        )

    def call_until_cancelled(self, token: CancelToken) -> Outcome:
        """Return the outcome, `Interrupted` if `token` is cancelled first."""
        return self.call(cancel=flag_of(token))

    def estimate_until_cancelled(self, token: CancelToken) -> Estimate:
        """Return the result of `estimate`, or the value `Interrupted` if `token` is cancelled first."""
        return self.estimate(cancel=flag_of(token))


def require_known_gas(view: Snapshot) -> None:
    """Check that the EVM's gas is all gas of a transaction on this chain.

    Raises:
        RpcError: On Arbitrum, where data costs further gas on L1.
    """
    if view.spec.family == "arbitrum":
        raise UNKNOWN_GAS


def execution_of(
    view: Snapshot, params: CallParameters, gas_blocks: int, pending: PendingState
) -> Generator[Step, Any, CallExecution]:
    """Return the execution of a call on the block that its parameters name.

    Raises:
        RpcError: The block does not exist, or the arguments contradict each other.
    """
    header = yield from pending.header(view, params.block)
    if not params.is_large:
        return prepare(view, header, params, gas_blocks)
    prepared: CallExecution = yield short_work(lambda _cancel: prepare(view, header, params, gas_blocks))
    return prepared


def prepare(
    view: Snapshot, header: bytes | BuiltBlock, params: CallParameters, gas_blocks: int
) -> CallExecution:
    """Return the execution of a call on a block, with at most `gas_blocks` times its gas limit.

    Raises:
        RpcError: The arguments contradict each other.
    """
    if unsupported := params.block_overrides.unsupported:
        raise server_error(f'block override "{unsupported}" is not supported for this RPC method')
    fields = fields_of(header)
    has_base_fee = fields.base_fee is not None or params.block_overrides.has_base_fee
    return CallExecution(
        view,
        header,
        message_of(params.call, chain_id=view.spec.chain_id, with_base_fee=has_base_fee),
        call_gas_cap(fields.gas_limit, gas_blocks),
        params.state_overrides or None,
        params.block_overrides or None,
    )


def fields_of(header: bytes | BuiltBlock) -> Header:
    """Return the header of a stored block, given by its row, or of a built block."""
    return header_fields(header if isinstance(header, bytes) else header.header)
