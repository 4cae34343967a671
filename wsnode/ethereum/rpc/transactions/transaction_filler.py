"""eth_fillTransaction: a transaction completed as geth does, for the caller to sign."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import LARGE_BYTES, CallParameters
from wsnode.ethereum.rpc.calls.message import (
    capped_tip,
    check_arguments,
    mixed_prices,
    targets_of_transaction,
)
from wsnode.ethereum.rpc.calls.methods import CallMethods
from wsnode.ethereum.rpc.common.parameters import BlockParameter
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import CALL_ERRORS
from wsnode.ethereum.rpc.common.schemas import BYTES
from wsnode.ethereum.rpc.fees.methods import PriceOracle, head_header
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.generators import short_work
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import record, reference
from wsnode.jsonrpc.work import Await, Step

if TYPE_CHECKING:
    from wsnode.ethereum.development.chain import DevelopmentChain


class FeeFields(msgspec.Struct, frozen=True):
    """Fees of a transaction in wei for a unit of gas: `gas_price` alone, or `max_fee` and `max_priority_fee`;
    None for the others.
    """

    gas_price: int | None = None
    max_fee: int | None = None
    max_priority_fee: int | None = None


class UnsignedTransaction(msgspec.Struct, frozen=True):
    """Transaction with all fields but a signature; access list and authorizations are encoded, None if its
    type has none.
    """

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


LEGACY: Final = 0
WITH_ACCESS_LIST: Final = 1
WITH_DYNAMIC_FEE: Final = 2
WITH_AUTHORIZATIONS: Final = 4

_AUTHORIZATION: Final = ("chainId", "address", "nonce", "yParity", "r", "s")
_NO_SIGNATURE: Final[list[Item]] = [b"", b"", b""]


def kind_of(transaction: UnsignedTransaction) -> int:
    """Return the type of a transaction, derived from its members."""
    if transaction.authorizations is not None:
        return WITH_AUTHORIZATIONS
    if transaction.fees.gas_price is None:
        return WITH_DYNAMIC_FEE
    return LEGACY if transaction.access_list is None else WITH_ACCESS_LIST


def encoded(transaction: UnsignedTransaction) -> bytes:
    """Return the encoded transaction, with v, r and s of zero."""
    kind, fees = kind_of(transaction), transaction.fees
    prices = [fees.gas_price] if fees.gas_price is not None else [fees.max_priority_fee, fees.max_fee]
    items: list[Item] = [number(transaction.nonce), *(number(price or 0) for price in prices)]
    items += [number(transaction.gas), transaction.to or b"", number(transaction.value), transaction.input]
    if kind == LEGACY:
        return encode([*items, *_NO_SIGNATURE])
    lists = [_access_list(transaction)]
    if kind == WITH_AUTHORIZATIONS:
        lists.append(_authorizations(transaction))
    return bytes([kind]) + encode([number(transaction.chain_id), *items, *lists, *_NO_SIGNATURE])


def rendered(transaction: UnsignedTransaction, transaction_hash: bytes) -> dict[str, Any]:
    """Return the transaction as a JSON object in geth's form."""
    kind, fees = kind_of(transaction), transaction.fees
    members: dict[str, Any] = {"type": hex(kind)}
    if kind != LEGACY:
        members["chainId"] = hex(transaction.chain_id)
    members |= {
        "nonce": hex(transaction.nonce),
        "to": None if transaction.to is None else hexadecimal(transaction.to),
        "gas": hex(transaction.gas),
        "gasPrice": _optional(fees.gas_price),
        "maxPriorityFeePerGas": _optional(fees.max_priority_fee),
        "maxFeePerGas": _optional(fees.max_fee),
        "value": hex(transaction.value),
        "input": hexadecimal(transaction.input),
    }
    if kind != LEGACY:
        members["accessList"] = _decoded(transaction.access_list)
    if kind == WITH_AUTHORIZATIONS:
        members["authorizationList"] = _decoded(transaction.authorizations)
    members |= dict.fromkeys(("v", "r", "s") if kind == LEGACY else ("v", "r", "s", "yParity"), "0x0")
    return members | {"hash": hexadecimal(transaction_hash)}


def _optional(price: int | None) -> str | None:
    return None if price is None else hex(price)


def _decoded(listed: bytes | None) -> list[dict[str, Any]]:
    return [] if listed is None else msgspec.json.decode(listed)


def _access_list(transaction: UnsignedTransaction) -> Item:
    return [
        [_bytes(entry["address"]), [_bytes(key) for key in entry["storageKeys"]]]
        for entry in _decoded(transaction.access_list)
    ]


def _authorizations(transaction: UnsignedTransaction) -> Item:
    return [
        [
            _bytes(entry[name]) if name == "address" else number(int(entry[name], 16))
            for name in _AUTHORIZATION
        ]
        for entry in _decoded(transaction.authorizations)
    ]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


NOBODY: Final = Address(bytes(20))

Result = TypeVar("Result")


class TransactionParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[transaction]`."""

    transaction: CallObject


class TransactionFiller:
    """Handler of eth_fillTransaction, which adds missing nonce, gas, fees and chain id.

    Each call opens its own views: in a batch, a transaction must see the effects of those before it.
    """

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        calls: CallMethods,
        pending: PendingState,
        *,
        oracle: PriceOracle,
        estimates_on: BlockParameter,
        changing: "DevelopmentChain | None" = None,
        allows_zero_fees: bool = False,
    ) -> None:
        """Make a filler; gas is estimated on block `estimates_on`, and nothing is read while `changing` is
        not quiet.
        """
        self._chain = chain
        self._pool = pool
        self._calls = calls
        self._pending = pending
        self._estimates_on = estimates_on
        self._changing = changing
        self._oracle = oracle
        self._allows_zero_fees = allows_zero_fees

    def fill(self, params: TransactionParameters) -> Generator[Step, Any, dict[str, Any]]:
        """Return `{raw, tx}`: the completed transaction without a signature, encoded and as an object."""
        call = params.transaction
        call.sender = call.sender or NOBODY
        transaction = yield from self.completed(call.sender, call)
        return (yield from made_of(transaction, _filled))

    def completed(self, sender: Address, call: CallObject) -> Generator[Step, Any, UnsignedTransaction]:
        """Return the completed transaction of `sender`.

        Raises:
            RpcError: It cannot be completed or sent.
        """
        yield from self._quiet()
        with self._chain.snapshot() as view:
            fees = self.fees(view, call)
            # As in geth, gas is estimated at these fees, which the sender must be able to pay.
            call.max_fee, call.max_priority_fee = fees.max_fee, fees.max_priority_fee
            is_estimated = call.gas is None
            gas = yield from self._gas(view, call)
        if is_estimated:
            yield from self._quiet()
        with self._chain.snapshot() as view:
            nonce = self._pool.next_nonce(sender, view) if call.nonce is None else call.nonce
        return unsigned(call, chain_id=self._chain.spec.chain_id, nonce=nonce, gas=gas, fees=fees)

    def fees(self, view: Snapshot, call: CallObject) -> FeeFields:
        """Return the fees of a call; missing ones are those suggested for the next block.

        Raises:
            RpcError: They contradict each other.
        """
        return self.fees_at(view, call)(self._pending.advised_base_fee(head_header(view)))

    def fees_at(self, view: Snapshot, call: CallObject) -> Callable[[int | None], FeeFields]:
        """Return a function of a base fee, in wei, that returns the fees of a call in a block with it.

        It raises RpcError as `fees` does.
        """
        tip = self._oracle.tip(view)
        return lambda base_fee: filled_fees(
            call, tip=tip, base_fee=base_fee, allows_zero_fees=self._allows_zero_fees
        )

    def _gas(self, view: Snapshot, call: CallObject) -> Generator[Step, Any, int]:
        if call.gas is None:
            return (yield from self._calls.estimated(view, CallParameters(call, self._estimates_on)))
        check_arguments(call, view.spec.chain_id)
        return call.gas

    def _quiet(self) -> Generator[Step, Any, None]:
        if self._changing is not None and not self._changing.is_quiet:
            yield Await(self._changing.wait_quiet)


def made_of(
    transaction: UnsignedTransaction, make: Callable[[UnsignedTransaction], Result]
) -> Generator[Step, Any, Result]:
    """Return `make(transaction)`, computed in a worker thread if the transaction is large."""
    if transaction.size <= LARGE_BYTES:
        return make(transaction)
    made: Result = yield short_work(lambda _cancel: make(transaction))
    return made


def _filled(transaction: UnsignedTransaction) -> dict[str, Any]:
    raw = encoded(transaction)
    return {"raw": hexadecimal(raw), "tx": rendered(transaction, keccak256(raw))}


def add_methods(registry: Registry, completion: TransactionFiller) -> None:
    """Register this module's method."""
    method = registry.method(
        "eth_fillTransaction",
        view=False,
        result=record({"raw": BYTES, "tx": reference("UnsignedTransaction")}),
        errors=CALL_ERRORS,
        contracts=targets_of_transaction,
    )
    method(completion.fill)
