"""Fees of incomplete transactions, filled in as geth does (TransactionArgs.setFeeDefaults)."""

import msgspec

from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.message import capped_tip, mixed_prices
from wsnode.jsonrpc.errors import server_error


class FeeFields(msgspec.Struct, frozen=True):
    """Fees for a unit of gas in wei: one price, or the highest price and the tip."""

    gas_price: int | None = None
    max_fee: int | None = None
    max_priority_fee: int | None = None


class UnsignedTransaction(msgspec.Struct, frozen=True):
    """A complete transaction without a signature."""

    chain_id: int
    nonce: int
    to: bytes | None
    value: int
    input: bytes
    gas: int
    fees: FeeFields
    access_list: bytes | None
    authorizations: bytes | None

    @property
    def size(self) -> int:
        """Return the bytes of the members of unbounded length."""
        return sum(len(text or b"") for text in (self.input, self.access_list, self.authorizations))


def filled_fees(
    call: CallObject, *, tip: int, base_fee: int | None, allows_zero_fees: bool = False
) -> FeeFields:
    """Return the fees of a call; missing ones follow from the suggested tip and the head's base fee.

    Before London the result is one price. With `allows_zero_fees` a fee may be zero, and the tip that is
    filled in is not above a given fee.

    Raises:
        RpcError: They contradict each other.
    """
    if words := mixed_prices(call):
        raise server_error(words)
    if call.gas_price is not None:
        if call.gas_price == 0 and base_fee is not None and not allows_zero_fees:
            raise server_error("gasPrice must be non-zero after london fork")
        return FeeFields(gas_price=call.gas_price)
    if base_fee is None:
        if call.max_fee is not None or call.max_priority_fee is not None:
            raise server_error("maxFeePerGas and maxPriorityFeePerGas are not valid before London is active")
        return FeeFields(gas_price=tip)
    if call.max_fee == 0 and not allows_zero_fees:
        raise server_error("maxFeePerGas must be non-zero")
    tip = capped_tip(call, tip) if allows_zero_fees else tip
    priority = tip if call.max_priority_fee is None else call.max_priority_fee
    most = priority + 2 * base_fee if call.max_fee is None else call.max_fee
    if most < priority:
        raise server_error(f"maxFeePerGas ({most:#x}) < maxPriorityFeePerGas ({priority:#x})")
    return FeeFields(max_fee=most, max_priority_fee=priority)


def unsigned(
    call: CallObject, *, chain_id: int, nonce: int, gas: int, fees: FeeFields
) -> UnsignedTransaction:
    """Return the complete transaction that a call describes.

    Raises:
        RpcError: It has blobs, which must be sent signed, or creates a contract without code.
    """
    if call.blob_hashes is not None:
        raise server_error("a transaction with blobs has to be signed by its sender")
    content = (call.data if call.input is None else call.input) or b""
    if call.to is None and not content:
        raise server_error("contract creation without any data provided")
    return UnsignedTransaction(
        chain_id=chain_id,
        nonce=nonce,
        to=call.to,
        value=call.value or 0,
        input=content,
        gas=gas,
        fees=fees,
        # A price without an access list makes a legacy transaction, as in geth.
        access_list=call.access_list if call.gas_price is None or call.access_list != b"[]" else None,
        authorizations=call.authorizations,
    )
