"""anvil_dealERC20, anvil_setERC20Allowance: find the slot that a token's view reads, and write it."""

from collections.abc import Generator
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.primitives.values import Address, hexadecimal
from wsnode.ethereum.rpc.calls.access_lists import AccessListMethods, AccessListParameters
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import CallParameters
from wsnode.ethereum.rpc.calls.methods import CallMethods
from wsnode.ethereum.rpc.calls.overrides import StateOverrides
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.development.mining import Steps, done
from wsnode.ethereum.rpc.development.parameters import LenientNumber
from wsnode.ethereum.rpc.development.schemas import NOTHING
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RpcError, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Step

BALANCE_OF: Final = bytes.fromhex("70a08231")
"""`balanceOf(address)`."""
ALLOWANCE: Final = bytes.fromhex("dd62ed3e")
"""`allowance(address,address)`."""
MAX_SLOTS: Final = 256
"""Maximum number of slots of one view to try; a token reads a few, behind proxies some more."""
VIEW_GAS: Final = 10_000_000
"""Gas limit of a call to a view function, so that an endless one ends."""
PROBES: Final = (0x5EED_CAFE, 0x0DDB_A115)
"""Values written for a test: the slot is found if the view returns each; neither occurs by chance."""

Slot = tuple[str, str]
"""The account, which need not be the token itself, and the slot."""


class DealParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[owner, token, balance]`: addresses of the owner and of the token's contract, and the new balance in
    the token's smallest unit.
    """

    owner: Address
    token: Address
    balance: LenientNumber


class AllowanceParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[owner, spender, token, allowance]`: three addresses, `token` the contract's, and the new allowance in
    the token's smallest unit.
    """

    owner: Address
    spender: Address
    token: Address
    allowance: LenientNumber


class TokenMethods:
    """Handlers that set ERC-20 balances and allowances in storage. Like anvil, they find the slot in the
    access list of the call that reads the value.
    """

    def __init__(
        self, chain: Chain, control: DevelopmentChain, calls: CallMethods, lists: AccessListMethods
    ) -> None:
        self._chain = chain
        self._control = control
        self._calls = calls
        self._lists = lists
        self.timed_out = calls.timed_out

    def deal(self, params: DealParameters) -> Steps:
        """Return null once the owner's balance is `balance` units of the token; the supply does not
        change.
        """
        call = _view(params.token, BALANCE_OF, params.owner)
        return (yield from self._set(call, params.balance, "balance"))

    def set_allowance(self, params: AllowanceParameters) -> Steps:
        """Return null once the spender may transfer `allowance` of the owner's units."""
        call = _view(params.token, ALLOWANCE, params.owner, params.spender)
        return (yield from self._set(call, params.allowance, "allowance"))

    def _set(self, call: CallObject, amount: int, what: str) -> Steps:
        with self._chain.snapshot() as view:
            slot = yield from self._slot(view, call, amount)
        if slot is None:
            raise _no_slot(what)
        account = Address(bytes.fromhex(slot[0][2:]))
        yield from done(lambda: self._control.patch(account, _change(slot, amount)))
        return NULL

    def _slot(self, view: Snapshot, call: CallObject, amount: int) -> Generator[Step, Any, Slot | None]:
        """Return the slot whose value the view returns, None if there is none."""
        listed = msgspec.json.decode((yield from self._lists.create(view, AccessListParameters(call))))
        slots = [(item["address"], key) for item in listed["accessList"] for key in item["storageKeys"]]
        token = hexadecimal(call.to or b"")
        # The token's own slots come first.
        slots.sort(key=lambda slot: slot[0] != token)
        for slot in slots[:MAX_SLOTS]:
            if (yield from self._holds(view, call, slot, amount)):
                return slot
        return None

    def _holds(self, view: Snapshot, call: CallObject, slot: Slot, amount: int) -> Generator[Step, Any, bool]:
        for value in (*PROBES, amount):
            overrides = StateOverrides(msgspec.json.encode({slot[0]: _change(slot, value)}))
            try:
                returned = yield from self._calls.call(view, CallParameters(call, LATEST_BLOCK, overrides))
            except RpcError:
                # With a probe in this slot the contract fails.
                return False
            if msgspec.json.decode(returned) != hexadecimal(value.to_bytes(32, "big")):
                return False
        return True


def _view(token: Address, selector: bytes, *accounts: Address) -> CallObject:
    call = CallObject()
    call.to, call.gas = token, VIEW_GAS
    call.input = selector + b"".join(account.rjust(32, b"\0") for account in accounts)
    return call


def _change(slot: Slot, value: int) -> dict[str, Any]:
    return {"stateDiff": {slot[1]: hexadecimal(value.to_bytes(32, "big"))}}


def _no_slot(what: str) -> RpcError:
    return server_error(f"Unable to set ERC20 {what}, no slot found")


def add_methods(registry: Registry, tokens: TokenMethods, limits: CallLimits) -> None:
    """Register this module's methods."""
    method = partial(
        registry.method,
        view=False,
        deadline=limits.call_seconds,
        timeout_error=tokens.timed_out,
        result=NOTHING,
    )
    for name in ("anvil_dealERC20", "hardhat_dealERC20", "anvil_setERC20Balance"):
        method(name, errors=(_no_slot("balance"),))(tokens.deal)
    method("anvil_setERC20Allowance", errors=(_no_slot("allowance"),))(tokens.set_allowance)
