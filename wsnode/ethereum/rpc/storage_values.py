"""eth_getStorageValues: many slots of many accounts at once."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.answers import header_not_found
from wsnode.ethereum.rpc.lookup import state_block
from wsnode.ethereum.rpc.parameters import LATEST_BLOCK, BlockParameter, decode_address, decode_hash
from wsnode.ethereum.rpc.words import kind, mismatch
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.registry import Registry

MAX_SLOTS: Final = 1024
TOO_MUCH_ASKED: Final = -38026


class SlotsByAccount(dict[Address, list[Hash32]]):
    """Slots by account."""


class StorageValuesParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[slots by account, block]`; without `block`, the latest."""

    slots: SlotsByAccount
    block: BlockParameter = LATEST_BLOCK


def get_storage_values(view: Snapshot, params: StorageValuesParameters) -> dict[str, list[str]]:
    """Return the 32 bytes in each slot, in the order asked for."""
    count = sum(map(len, params.slots.values()))
    if count > MAX_SLOTS:
        raise RpcError(TOO_MUCH_ASKED, f"too many slots (max {MAX_SLOTS})")
    if count == 0:
        raise invalid_params("empty request")
    block, storage = state_block(view, params.block), view.state.storage
    try:
        return {
            f"0x{address.hex()}": [f"0x{storage(address, slot, block).hex()}" for slot in slots]
            for address, slots in params.slots.items()
        }
    except ReorganisedError:
        raise header_not_found() from None


def _decode_slots(value: Any) -> SlotsByAccount:
    if type(value) is not dict:
        raise mismatch(kind(value), "map[common.Address][]common.Hash")
    return SlotsByAccount({decode_address(name): _decode_keys(keys) for name, keys in value.items()})


def _decode_keys(value: Any) -> list[Hash32]:
    if value is None:
        return []
    if type(value) is not list:
        raise mismatch(kind(value), "[]common.Hash")
    return [decode_hash(key) for key in value]


def add_methods(registry: Registry) -> None:
    """Register this module's method."""
    registry.method("eth_getStorageValues")(get_storage_values)


register_type(SlotsByAccount, _decode_slots)
