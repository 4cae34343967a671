"""Slots of contracts: eth_getStorageValues reads some by name, debug_storageRangeAt a page of them."""

from collections.abc import Generator
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields, transaction_count
from wsnode.ethereum.codes import CLIENT_LIMIT
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.common.decoding import decode_array, kind, mismatch
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.parameters import (
    LATEST_BLOCK,
    BlockParameter,
    Data,
    account_of,
    decode_address,
    decode_hash,
    numbers,
)
from wsnode.ethereum.rpc.common.pending_state import PendingState, StateBlock, block_rows, check_parent
from wsnode.ethereum.rpc.common.results import HISTORY_ERRORS, STATE_ERRORS
from wsnode.ethereum.rpc.common.schemas import ANY_HASH, HASH
from wsnode.ethereum.rpc.common.worker_thread import in_worker
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import storage_range
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, mapping_of, or_null, record
from wsnode.jsonrpc.work import JsonText, Step, Steps

_SIGNED: Final = 1 << 63
_RANGE: Final = record(
    {
        "storage": or_null(mapping_of(record({"key": HASH, "value": HASH}), "0x[0-9a-f]{64}")),
        "nextKey": or_null(HASH),
    }
)


class JsonInteger(int):
    """A JSON number without a fraction, in 64 bits."""


class StorageRangeParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block, transaction index, address, first hash, maximum]`: slots of an account before the transaction,
    by their keys' hashes from `first hash` on, at most `maximum`.
    """

    block: BlockParameter
    index: JsonInteger
    address: Address
    start: Data
    count: JsonInteger


class StorageRangeMethods:
    """Handler of debug_storageRangeAt, within the limits of calls."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error("execution timeout")

    def storage_range_at(
        self, view: Snapshot, params: StorageRangeParameters
    ) -> Generator[Step, Any, JsonText]:
        """Return `{storage, nextKey}`: slots of a contract before a transaction, by hash; the next slot's
        hash.
        """
        found = yield from block_rows(view, params.block, self._pending)
        header = header_fields(found[0])
        if header.number == 0:
            raise server_error("no transaction in genesis")
        check_parent(view, found)
        index, transactions = params.index, transaction_count(found[1])
        if not 0 <= index < max(transactions, 1):
            raise server_error(f"transaction index {index} out of range for block 0x{header.hash.hex()}")
        count = min(max(params.count, 0), self._limits.storage_range_results)
        return (
            yield from in_worker(
                lambda flag: storage_range(
                    view.state,
                    found,
                    transactions=index,
                    address=params.address,
                    start=params.start,
                    count=count,
                    cancel=flag,
                ),
                self.timed_out,
            )
        )


def _decode_integer(value: Any) -> JsonInteger:
    if type(value) is not int or not -_SIGNED <= value < _SIGNED:
        raise mismatch(f"number {value}" if type(value) in {int, float} else kind(value), "int")
    return JsonInteger(value)


register_type(JsonInteger, _decode_integer, {"type": "integer"})


MAX_SLOTS: Final = 1024


class SlotsByAccount(dict[Address, list[Hash32]]):
    """Storage slots to read, as an object: arrays of slots by the account's address."""


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
        return self._pending.read_at(view, params.block, lambda block: _values(view, params.slots, block))


def _values(view: Snapshot, slots_by_account: SlotsByAccount, block: StateBlock) -> dict[str, list[str]]:
    view.pin()
    storage = view.state.storage
    return {
        f"0x{address.hex()}": [f"0x{storage(address, slot, block).hex()}" for slot in slots]
        for address, slots in slots_by_account.items()
    }


def _decode_slots(value: Any) -> SlotsByAccount:
    if type(value) is not dict:
        raise mismatch(kind(value), "map[common.Address][]common.Hash")
    # An account without slots counts as one slot.
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


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's methods."""
    ranges = StorageRangeMethods(limits, pending)
    registry.method(
        "debug_storageRangeAt",
        result=_RANGE,
        errors=HISTORY_ERRORS,
        contracts=account_of,
        deadline=limits.trace_max_seconds,
        timeout_error=ranges.timed_out,
    )(ranges.storage_range_at)
    method = registry.method(
        "eth_getStorageValues",
        result=mapping_of(list_of(HASH)),
        errors=STATE_ERRORS,
        contracts=_accounts_of,
    )
    method(StorageValuesMethods(pending).get_storage_values)


register_type(SlotsByAccount, _decode_slots, mapping_of(list_of(ANY_HASH, most=MAX_SLOTS), most=MAX_SLOTS))
