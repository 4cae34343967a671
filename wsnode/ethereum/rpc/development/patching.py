"""anvil_set… and hardhat_set…: methods that change accounts directly, impersonate, and drop transactions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.primitives.values import Address, Hash32, hexadecimal
from wsnode.ethereum.rpc.common.results import NULL, data
from wsnode.ethereum.rpc.common.schemas import HASH
from wsnode.ethereum.rpc.development.mining import TRUE, Steps, SwitchParameters, boolean, done
from wsnode.ethereum.rpc.development.parameters import LenientBytes, LenientCount, LenientNumber
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE, NOTHING
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, or_null
from wsnode.jsonrpc.work import JsonText


class AddressParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address]`."""

    address: Address


class AmountParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, number]`: an amount of wei for an account's balance."""

    address: Address
    amount: LenientNumber


class NonceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, nonce]`."""

    address: Address
    nonce: LenientCount


class CodeParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, code]`."""

    address: Address
    code: LenientBytes


class SlotParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, slot, value]`; the value is whole, 32 bytes."""

    address: Address
    slot: LenientNumber
    value: Hash32


class DropTransactionParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[transaction hash]`."""

    hash: Hash32


class PatchMethods:
    """Handlers that change accounts, the pool or impersonation without a transaction; methods without a value
    return `answer`: null, or true for hardhat_ methods.
    """

    def __init__(self, control: DevelopmentChain, answer: bytes) -> None:
        self._control = control
        self._answer = answer

    def set_balance(self, params: AmountParameters) -> Steps:
        """Return null (hardhat: true) once the account's balance is `amount` wei."""
        return (yield from self._patch(params.address, {"balance": hex(params.amount)}))

    def add_balance(self, params: AmountParameters) -> Steps:
        """Return null (hardhat: true) once the account's balance has grown by `amount` wei."""
        yield from done(lambda: self._control.add_balance(params.address, params.amount))
        return self._answer

    def set_nonce(self, params: NonceParameters) -> Steps:
        """Return null (hardhat: true) once the account's nonce is `nonce`."""
        return (yield from self._patch(params.address, {"nonce": hex(params.nonce)}))

    def set_code(self, params: CodeParameters) -> Steps:
        """Return null (hardhat: true) once the account's code is `code`."""
        return (yield from self._patch(params.address, {"code": hexadecimal(params.code)}))

    def set_storage(self, params: SlotParameters) -> Steps:
        """Return true once the storage slot has this value."""
        slot = hexadecimal(params.slot.to_bytes(32, "big"))
        yield from self._patch(params.address, {"stateDiff": {slot: hexadecimal(params.value)}})
        return TRUE

    def set_fee_recipient(self, params: AddressParameters) -> JsonText:
        """Return null (hardhat: true); the address is the fee recipient of the next blocks."""
        self._control.fee_recipient = params.address
        return self._answer

    def impersonate(self, params: AddressParameters) -> JsonText:
        """Return null (hardhat: true); the account's transactions need no signature from now on."""
        self._control.impersonation.begin(params.address)
        return self._answer

    def stop_impersonating(self, params: AddressParameters) -> JsonText:
        """Return null (hardhat: whether the account was impersonated); its transactions need a signature
        again.
        """
        was_named = self._control.impersonation.end(params.address)
        return boolean(was_named) if self._answer == TRUE else self._answer

    def impersonate_all(self, params: SwitchParameters) -> JsonText:
        """Return null (hardhat: true); from now on no transaction needs a signature, or all do."""
        self._control.impersonation.is_general = params.enabled.is_set
        return self._answer

    def drop(self, params: DropTransactionParameters) -> Steps:
        """Return the hash of the transaction removed from the pool, or null (hardhat: whether it was
        there).
        """
        dropped = yield from done(lambda: self._control.drop(params.hash))
        if self._answer == TRUE:
            return boolean(dropped)
        return data(params.hash) if dropped else NULL

    def drop_sent_by(self, params: AddressParameters) -> Steps:
        """Return null once the pool holds no transaction of the account."""
        yield from done(lambda: self._control.drop_sent_by(params.address))
        return self._answer

    def drop_all(self) -> Steps:
        """Return null (hardhat: true) once the pool is empty."""
        yield from done(self._control.drop_all)
        return self._answer

    def _patch(self, address: Address, changes: dict[str, Any]) -> Steps:
        yield from done(lambda: self._control.patch(address, changes))
        return self._answer


def add_methods(registry: Registry, control: DevelopmentChain) -> None:
    """Register this module's methods."""
    method = partial(registry.method, view=False)
    of_anvil, of_hardhat = PatchMethods(control, NULL), PatchMethods(control, TRUE)
    for prefix, patching, result in (("anvil", of_anvil, NOTHING), ("hardhat", of_hardhat, ALWAYS_TRUE)):
        handlers: dict[str, Callable[..., Any]] = {
            "setBalance": patching.set_balance,
            "setNonce": patching.set_nonce,
            "setCode": patching.set_code,
            "setCoinbase": patching.set_fee_recipient,
            "impersonateAccount": patching.impersonate,
            "autoImpersonateAccount": patching.impersonate_all,
            "dropAllTransactions": patching.drop_all,
        }
        for name, handler in handlers.items():
            method(f"{prefix}_{name}", result=result)(handler)
        method(f"{prefix}_setStorageAt", result=ALWAYS_TRUE)(patching.set_storage)
    method("anvil_stopImpersonatingAccount", result=NOTHING)(of_anvil.stop_impersonating)
    method("hardhat_stopImpersonatingAccount", result=BOOLEAN)(of_hardhat.stop_impersonating)
    method("anvil_dropTransaction", result=or_null(HASH))(of_anvil.drop)
    method("hardhat_dropTransaction", result=BOOLEAN)(of_hardhat.drop)
    method("evm_setAccountNonce", result=NOTHING)(of_anvil.set_nonce)
    for prefix in ("anvil", "hardhat", "tenderly"):
        method(f"{prefix}_addBalance", result=NOTHING)(of_anvil.add_balance)
    method("tenderly_setBalance", result=NOTHING)(of_anvil.set_balance)
    method("anvil_removePoolTransactions", result=NOTHING)(of_anvil.drop_sent_by)
