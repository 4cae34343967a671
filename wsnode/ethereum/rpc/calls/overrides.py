"""State and block overrides: checked with geth's errors, then passed to the engine as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from wsnode.ethereum.codec.hashes import are_hashes
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.schemas import BLOCK_OVERRIDES, STATE_OVERRIDES
from wsnode.ethereum.rpc.form.decoding import ARGUMENT, decode_bytes, decode_quantity, field, kind, mismatch
from wsnode.ethereum.rpc.form.parameters import decode_address, decode_hash
from wsnode.jsonrpc.codec import register_type

UINT64 = "hexutil.Uint64"
BIG = "*hexutil.Big"


class StateOverrides(bytes):
    """State overrides by address: `balance`, `nonce`, `code`, `state`, `stateDiff`,
    `movePrecompileToAddress`.

    Held as JSON text with lower-case names and plain quantities.
    """

    contracts: Sequence[Address] | None = None
    """The overridden accounts; None if one gets code, which can read any other."""


class BlockOverrides(bytes):
    """Header members that a call sees in place of its block's, under geth's names.

    Held as JSON text; `unsupported` names a member that only simulations accept.
    """

    unsupported: str | None = None


NO_STATE_OVERRIDES = StateOverrides()
NO_BLOCK_OVERRIDES = BlockOverrides()


def decode_state_overrides(value: Any) -> StateOverrides:
    """Return the overridden accounts.

    Raises:
        ValueError: One is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "override.StateOverride")
    accounts = {decode_address(name): _account(account) for name, account in value.items()}
    if not accounts:
        return NO_STATE_OVERRIDES
    text = msgspec.json.encode({f"0x{address.hex()}": account for address, account in accounts.items()})
    overrides = StateOverrides(text)
    if not any("code" in account for account in accounts.values()):
        # Recorded here, because parsing the text again takes long.
        overrides.contracts = list(accounts)
    return overrides


def _account(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise mismatch(kind(value), "override.OverrideAccount")
    members = {
        _ACCOUNT_NAMES.get(name.lower()): member for name, member in value.items() if member is not None
    }
    return {name: _account_member(name, member) for name, member in members.items() if name is not None}


def _account_member(name: str, value: Any) -> Any:
    place = field("OverrideAccount", name)
    if name == "nonce":
        return hex(decode_quantity(value, 64, UINT64, place))
    if name == "balance":
        return hex(decode_quantity(value, 256, BIG, place))
    if name == "code":
        return f"0x{decode_bytes(value, place=place).hex()}"
    if name == "movePrecompileToAddress":
        return f"0x{decode_address(value, place).hex()}"
    if type(value) is not dict:
        raise mismatch(kind(value), "map[common.Hash]common.Hash", place)
    # To decode each and write it again takes 4 us a slot, and there may be 20,000.
    if are_hashes(value):
        return value
    return {_hash(slot, place): _hash(content, place) for slot, content in value.items()}


def decode_block_overrides(value: Any) -> BlockOverrides:
    """Return the overridden members of the header.

    Raises:
        ValueError: One is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "override.BlockOverrides")
    members = {_BLOCK_NAMES.get(name.lower()): member for name, member in value.items() if member is not None}
    block = {name: _block_member(name, member) for name, member in members.items() if name is not None}
    if not block:
        return NO_BLOCK_OVERRIDES
    overrides = BlockOverrides(msgspec.json.encode(block))
    overrides.unsupported = next((name for name in ("beaconRoot", "withdrawals") if name in block), None)
    return overrides


def _block_member(name: str, value: Any) -> Any:
    place = field("BlockOverrides", name[0].upper() + name[1:])
    if name in {"time", "gasLimit"}:
        return hex(decode_quantity(value, 64, UINT64, place))
    if name == "feeRecipient":
        return f"0x{decode_address(value, place).hex()}"
    if name in {"prevRandao", "beaconRoot"}:
        return _hash(value, place)
    if name == "withdrawals":
        if type(value) is not list:
            raise mismatch(kind(value), "types.Withdrawals", place)
        return [_withdrawal(item, place) for item in value]
    return hex(decode_quantity(value, 256, BIG, place))


def _withdrawal(value: Any, place: str) -> dict[str, str]:
    if value is not None and type(value) is not dict:
        raise mismatch(kind(value), "types.Withdrawal", place)
    members = {name.lower(): member for name, member in (value or {}).items() if member is not None}
    address = decode_address(members.get("address", "0x" + "00" * 20), f"{place}.address")
    numbers = {
        name: hex(decode_quantity(members.get(name.lower(), "0x0"), 64, UINT64, f"{place}.{name}"))
        for name in ("index", "validatorIndex", "amount")
    }
    return {"address": f"0x{address.hex()}", **numbers}


def _hash(value: Any, place: str = ARGUMENT) -> str:
    return f"0x{decode_hash(value, place).hex()}"


_ACCOUNT_NAMES = {
    name.lower(): name
    for name in ("nonce", "code", "balance", "state", "stateDiff", "movePrecompileToAddress")
}
_BLOCK_NAMES = {
    name.lower(): name
    for name in (
        "number",
        "difficulty",
        "time",
        "gasLimit",
        "feeRecipient",
        "prevRandao",
        "baseFeePerGas",
        "blobBaseFee",
        "beaconRoot",
        "withdrawals",
    )
}

register_type(StateOverrides, decode_state_overrides, STATE_OVERRIDES)
register_type(BlockOverrides, decode_block_overrides, BLOCK_OVERRIDES)
