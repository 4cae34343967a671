"""eth_createAccessList: the accounts and slots of a call, and its gas with that list."""

from collections.abc import Generator
from copy import copy
from typing import Any, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import CallParameters, fields_of, prepare
from wsnode.ethereum.rpc.calls.message import capped_tip, mixed_prices, targets_of_call
from wsnode.ethereum.rpc.calls.overrides import NO_STATE_OVERRIDES, StateOverrides
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import CALL_ERRORS, quantity
from wsnode.ethereum.rpc.common.schemas import QUANTITY
from wsnode.ethereum.rpc.common.worker_thread import flag_of
from wsnode.ethereum.rpc.fees.methods import PriceOracle
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import (
    Interrupted,
    InvalidTransactionError,
    ReorganisedError,
    create_access_list,
)
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import STRING, list_of, record, reference
from wsnode.jsonrpc.work import CancelToken, JsonText, RunInThread, Step

Listed: TypeAlias = tuple[bytes, int, str | None] | Interrupted


class AccessListParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[call, block, state overrides]`; without `block`, the latest."""

    call: CallObject
    block: BlockParameter = LATEST_BLOCK
    state_overrides: StateOverrides = NO_STATE_OVERRIDES


class AccessListMethods:
    """Handler of eth_createAccessList, within the limits of calls."""

    def __init__(
        self,
        limits: CallLimits,
        pending: PendingState,
        oracle: PriceOracle,
        *,
        allows_zero_fees: bool = False,
    ) -> None:
        self._limits = limits
        self._pending = pending
        self._oracle = oracle
        self._allows_zero_fees = allows_zero_fees
        self.timed_out = server_error(f"execution aborted (timeout = {limits.call_seconds:g}s)")

    def create(self, view: Snapshot, params: AccessListParameters) -> Generator[Step, Any, JsonText]:
        """Return `{accessList, gasUsed}` of a call: the accounts and slots it touches, its gas with that
        list.
        """
        header = yield from self._pending.header(view, params.block)
        call = self._with_fees(view, params.call, header)
        whole = CallParameters(call, params.block, params.state_overrides)

        def run(token: CancelToken) -> Listed:
            execution = prepare(view, header, whole, self._limits.call_gas_blocks)
            return create_access_list(
                view.state,
                execution.header,
                execution.message,
                gas_cap=execution.gas_cap,
                nonce=call.nonce,
                cancel=flag_of(token),
                state_overrides=execution.state_overrides,
            )

        try:
            listed = yield RunInThread(run)
        except InvalidTransactionError as error:
            raise server_error(str(error)) from None
        except ReorganisedError:
            raise header_not_found() from None
        if isinstance(listed, Interrupted):
            raise self.timed_out
        access_list, gas_used, failure = listed
        reason = b"" if failure is None else b'"error":%b,' % msgspec.json.encode(failure)
        return b'{"accessList":%b,%b"gasUsed":%b}' % (access_list, reason, quantity(gas_used))

    def _with_fees(self, view: Snapshot, call: CallObject, header: bytes | BuiltBlock) -> CallObject:
        fees = (call.gas_price, call.max_fee, call.max_priority_fee, call.max_blob_fee)
        if fees == (None, None, None, None):
            # Without fees, gas costs nothing.
            return call
        return self._complete(view, copy(call), fields_of(header))

    def _complete(self, view: Snapshot, call: CallObject, header: Header) -> CallObject:
        """Return the call with all fees of its kind, filled in like geth fills in those of a transaction."""
        _check(call, header)
        if not self._allows_zero_fees:
            _check_zero_fees(call, header)
        if call.blob_hashes is not None and call.max_blob_fee is None:
            blob_fee = header.blob_base_fee
            call.max_blob_fee = None if blob_fee is None else 2 * blob_fee
        if call.gas_price is not None:
            return call
        if header.base_fee is None:
            if call.max_fee is not None or call.max_priority_fee is not None:
                raise server_error(
                    "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active"
                )
            call.gas_price = self._oracle.tip(view)
            return call
        if call.max_priority_fee is None:
            tip = self._oracle.tip(view)
            call.max_priority_fee = capped_tip(call, tip) if self._allows_zero_fees else tip
        if call.max_fee is None:
            call.max_fee = call.max_priority_fee + 2 * header.base_fee
        return call


def _check(call: CallObject, header: Header) -> None:
    if call.max_blob_fee == 0:
        raise server_error("maxFeePerBlobGas, if specified, must be non-zero")
    if words := mixed_prices(call):
        raise server_error(words)
    if call.gas_price is not None and call.authorizations is not None:
        raise server_error("both gasPrice and authorizationList specified")


def _check_zero_fees(call: CallObject, header: Header) -> None:
    if call.max_fee == 0 and call.max_priority_fee is not None:
        raise server_error("maxFeePerGas must be non-zero")
    if call.gas_price == 0 and header.base_fee is not None:
        raise server_error("gasPrice must be non-zero after london fork")


def add_methods(registry: Registry, limits: CallLimits, lists: AccessListMethods) -> None:
    """Register this module's method."""
    registry.method(
        "eth_createAccessList",
        result=record({"accessList": list_of(reference("Access")), "gasUsed": QUANTITY}, {"error": STRING}),
        errors=CALL_ERRORS,
        contracts=targets_of_call,
        deadline=limits.call_seconds,
        timeout_error=lists.timed_out,
    )(lists.create)
