"""From a call object to the engine's message, and checks of arguments that contradict each other."""

from typing import Final

from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.state import Message
from wsnode.jsonrpc.errors import server_error

_ZERO_ADDRESS: Final = bytes(20)


def message_of(call: CallObject, *, chain_id: int, with_base_fee: bool) -> Message:
    """Return the engine's message of a call; before base fees the gas price is the only fee.

    Raises:
        RpcError: Two arguments contradict each other.
    """
    check_arguments(call, chain_id)
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
    _check_fees(call)
    _check_rest(call, chain_id)


def supplied_gas(gas: int | None, gas_cap: int) -> int:
    """Return the gas that a call runs with: its own, at most the cap; without its own, the cap."""
    return gas_cap if gas is None else min(gas, gas_cap)


def _check_fees(call: CallObject) -> None:
    tip, most = call.max_priority_fee, call.max_fee
    if call.gas_price is not None and not (most is None and tip is None):
        raise server_error("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
    if most is not None and tip is not None and most < tip:
        raise server_error(f"maxFeePerGas ({most:#x}) < maxPriorityFeePerGas ({tip:#x})")


def _check_rest(call: CallObject, chain_id: int) -> None:
    if call.input is not None and call.data is not None and call.input != call.data:
        raise server_error(
            'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data'
        )
    if call.to is None and call.blob_hashes is not None:
        raise server_error("blob transaction of type create")
    if call.to is None and call.authorizations is not None:
        raise server_error("EIP-7702 transaction cannot be used to create contract")
    if call.chain_id is not None and call.chain_id != chain_id:
        raise server_error(f"chainId does not match node's (have={call.chain_id}, want={chain_id})")
