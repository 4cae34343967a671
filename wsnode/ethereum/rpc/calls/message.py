"""Messages of the engine from call objects, with checks of their arguments and the contracts of calls."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.overrides import NO_STATE_OVERRIDES, StateOverrides
from wsnode.ethereum.state import Message
from wsnode.jsonrpc.errors import server_error

_ZERO_ADDRESS: Final = bytes(20)


def message_of(call: CallObject, *, chain_id: int, with_base_fee: bool) -> Message:
    """Return the engine's message of a call; before base fees the gas price is the only fee.

    Raises:
        RpcError: Two arguments contradict each other.
    """
    check_arguments(call, chain_id)
    return unchecked_message(call, with_base_fee=with_base_fee)


def unchecked_message(call: CallObject, *, with_base_fee: bool = True) -> Message:
    """Return the engine's message of a call, without checking its arguments against each other."""
    return Message(
        sender=call.sender or _ZERO_ADDRESS,
        to=call.to,
        gas=call.gas,
        gas_price=call.gas_price,
        max_fee=call.max_fee if with_base_fee else None,
        max_priority_fee=call.max_priority_fee if with_base_fee else None,
        max_blob_fee=call.max_blob_fee,
        value=call.value or 0,
        input=(call.data if call.input is None else call.input) or b"",
        nonce=call.nonce,
        access_list=call.access_list,
        blob_hashes=call.blob_hashes,
        authorizations=call.authorizations,
    )


def check_arguments(call: CallObject, chain_id: int) -> None:
    """Check that no two arguments contradict each other.

    Raises:
        RpcError: Two do.
    """
    words = mixed_prices(call) or _crossed_fees(call) or _two_inputs(call) or impossible(call, chain_id)
    if words is not None:
        raise server_error(words)


def mixed_prices(call: CallObject) -> str | None:
    """Return geth's words for a gas price beside the fees that replaced it, None without."""
    if call.gas_price is None or (call.max_fee is None and call.max_priority_fee is None):
        return None
    return "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"


def capped_tip(call: CallObject, tip: int) -> int:
    """Return a suggested tip in wei, at most the fee that a call names."""
    return tip if call.max_fee is None else min(tip, call.max_fee)


def impossible(call: CallObject, chain_id: int) -> str | None:
    """Return geth's words for a call that can be no transaction of this chain, None for any other."""
    if call.to is None and call.blob_hashes is not None:
        return "blob transaction of type create"
    if call.to is None and call.authorizations is not None:
        return "EIP-7702 transaction cannot be used to create contract"
    if call.chain_id is not None and call.chain_id != chain_id:
        return f"chainId does not match node's (have={call.chain_id}, want={chain_id})"
    return None


def supplied_gas(gas: int | None, gas_cap: int) -> int:
    """Return the gas that a call runs with: its own, at most the cap; without its own, the cap."""
    return gas_cap if gas is None else min(gas, gas_cap)


def _crossed_fees(call: CallObject) -> str | None:
    most, tip = call.max_fee, call.max_priority_fee
    if most is None or tip is None or most >= tip:
        return None
    return f"maxFeePerGas ({most:#x}) < maxPriorityFeePerGas ({tip:#x})"


def _two_inputs(call: CallObject) -> str | None:
    if call.input is None or call.data is None or call.input == call.data:
        return None
    return 'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data'


def targets(
    calls: Sequence[CallObject], overrides: StateOverrides = NO_STATE_OVERRIDES
) -> Iterable[int] | None:
    """Return the contracts that calls name, None if their code can read any contract."""
    # Code in a call's own data can read any contract, and so can overridden code.
    called = [call.to for call in calls if call.to is not None]
    if len(called) < len(calls) or (overrides and overrides.contracts is None):
        return None
    return map(int.from_bytes, chain(called, overrides.contracts or ()))


def targets_of_call(params: Any) -> Iterable[int] | None:
    """Return the addresses, as integers, that `call` and `state_overrides` name; None if their code can read
    any contract.
    """
    return targets([params.call], params.state_overrides)


def targets_of_transaction(params: Any) -> Iterable[int] | None:
    """Return the address, as an integer, that `transaction` calls, since its estimate can reveal a revert
    reason; None for a creation, which can read any contract.
    """
    return targets([params.transaction])
