"""eth_getStorageValues: several slots of several accounts in one call."""

from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codes import CLIENT_LIMIT
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.primitives.values import Address, BlockNumber, Hash32
from wsnode.ethereum.rpc.common.decoding import decode_array, kind, mismatch
from wsnode.ethereum.rpc.common.errors import STATE_ERRORS
from wsnode.ethereum.rpc.common.lookup import is_pending, state_block
from wsnode.ethereum.rpc.common.param_contracts import numbers
from wsnode.ethereum.rpc.common.parameters import LATEST_BLOCK, BlockParameter, decode_address, decode_hash
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.schemas import ANY_HASH, HASH
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, mapping_of
from wsnode.jsonrpc.work import Steps

MAX_SLOTS: Final = 1024


class SlotsByAccount(dict[Address, list[Hash32]]):
    """Slots by account."""


class StorageValuesParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[slots by account, block]`; without `block`, the latest."""

    slots: SlotsByAccount
    block: BlockParameter = LATEST_BLOCK


class StorageValuesMethods:
    """Handler of eth_getStorageValues, which also reads the pending block."""

    def __init__(self, pending: PendingState) -> None:
        self._pending = pending

    def get_storage_values(
        self, view: Snapshot, params: StorageValuesParameters
    ) -> dict[str, list[str]] | Steps:
        """Return an object: for each address a list of its slots' values, 32 bytes each, in the requested
        order.
        """
        if not any(params.slots.values()):
            raise invalid_params("empty request")
        if is_pending(view, params.block.number):
            return self._pending.read(view, lambda block: _values(view, params.slots, block))
        return _values(view, params.slots, state_block(view, params.block))


def _values(
    view: Snapshot, slots_by_account: SlotsByAccount, block: tuple[BlockNumber, Hash32] | BuiltBlock
) -> dict[str, list[str]]:
    view.pin()
    storage = view.state.storage
    try:
        return {
            f"0x{address.hex()}": [f"0x{storage(address, slot, block).hex()}" for slot in slots]
            for address, slots in slots_by_account.items()
        }
    except ReorganisedError:
        raise header_not_found() from None


def _decode_slots(value: Any) -> SlotsByAccount:
    if type(value) is not dict:
        raise mismatch(kind(value), "map[common.Address][]common.Hash")
    # Accounts without slots count too.
    if sum(len(keys) if keys and type(keys) is list else 1 for keys in value.values()) > MAX_SLOTS:
        raise RpcError(CLIENT_LIMIT, f"too many slots (max {MAX_SLOTS})")
    return SlotsByAccount({decode_address(name): _decode_keys(keys) for name, keys in value.items()})


def _decode_keys(value: Any) -> list[Hash32]:
    if value is None:
        return []
    decode_array(value, "[]common.Hash")
    return [decode_hash(key) for key in value]


def _accounts_of(params: StorageValuesParameters) -> list[int]:
    return numbers(params.slots)


def add_methods(registry: Registry, pending: PendingState) -> None:
    """Register this module's method."""
    method = registry.method(
        "eth_getStorageValues",
        result=mapping_of(list_of(HASH)),
        errors=STATE_ERRORS,
        contracts=_accounts_of,
    )
    method(StorageValuesMethods(pending).get_storage_values)


register_type(SlotsByAccount, _decode_slots, mapping_of(list_of(ANY_HASH, most=MAX_SLOTS), most=MAX_SLOTS))
