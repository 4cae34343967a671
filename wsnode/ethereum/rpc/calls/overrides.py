"""State and block overrides: checked with geth's errors, then passed to the engine as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wsnode.ethereum.codec.addresses import are_hashes, checksummed
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.schemas import (
    BLOCK_OVERRIDES,
    MAX_ACCOUNTS,
    MAX_SLOTS,
    MAX_WITHDRAWALS,
    STATE_OVERRIDES,
)
from wsnode.ethereum.rpc.common.decoding import (
    ARGUMENT,
    decode_array,
    decode_bytes,
    decode_quantity,
    field,
    kind,
    mismatch,
)
from wsnode.ethereum.rpc.common.parameters import decode_address, decode_hash
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.session_limits import check_count

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
    has_base_fee: bool = False
    """True if the base fee is overridden."""


NO_STATE_OVERRIDES = StateOverrides()
NO_BLOCK_OVERRIDES = BlockOverrides()


def decode_state_overrides(value: Any) -> StateOverrides:
    """Return the overridden accounts.

    Raises:
        ValueError: One is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "override.StateOverride")
    check_overrides([value])
    accounts = {decode_address(name): _account(account) for name, account in value.items()}
    if not accounts:
        return NO_STATE_OVERRIDES
    text = msgspec.json.encode({f"0x{address.hex()}": account for address, account in accounts.items()})
    overrides = StateOverrides(text)
    if not any("code" in account for account in accounts.values()):
        # The accounts are recorded here, because parsing the text again takes long.
        overrides.contracts = list(accounts)
    return overrides


def check_overrides(values: Sequence[Any]) -> None:
    """Check the number of accounts and slots that state overrides have together, before they are decoded.

    Raises:
        ValueError: There are more than one request may have.
    """
    objects = [value for value in values if type(value) is dict]
    check_count(sum(map(len, objects)), MAX_ACCOUNTS, "overridden accounts")
    slots = sum(_slots(account) for value in objects for account in value.values())
    check_count(slots, MAX_SLOTS, "overridden slots")


def _slots(account: Any) -> int:
    if type(account) is not dict:
        return 0
    tables = (table for name, table in account.items() if name.lower() in {"state", "statediff"})
    return sum(len(table) for table in tables if type(table) is dict)


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
    # Slots that are written as hashes already are passed on as they are: decoding and writing each anew takes
    # 4 us.
    if are_hashes(value):
        return value
    return {_hash(slot, place): _hash(content, place) for slot, content in value.items()}


def check_account_names(value: Any) -> None:
    """Check that state overrides name members of accounts only, and none twice, as geth's simulations do.

    Raises:
        ValueError: They do not.
    """
    for name, account in value.items() if type(value) is dict else ():
        _check_names(account, _ACCOUNT_NAMES, f"state override for {checksummed(decode_address(name))}")


def check_block_names(value: Any) -> None:
    """Check that block overrides name members of headers only, and none twice, as geth's simulations do.

    Raises:
        ValueError: They do not.
    """
    _check_names(value, _BLOCK_NAMES, "block override")


def _check_names(value: Any, known: Mapping[str, str], what: str) -> None:
    found: dict[str, str] = {}
    for name in sorted(value) if type(value) is dict else ():
        if name.lower() not in known:
            raise ValueError(f'unknown field "{name}" in {what}')
        if (before := found.setdefault(name.lower(), name)) != name:
            raise ValueError(f'keys "{before}" and "{name}" in {what} name the same field')


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
    overrides.has_base_fee = "baseFeePerGas" in block
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
        decode_array(value, "types.Withdrawals", place)
        check_count(len(value), MAX_WITHDRAWALS, "withdrawals")
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
