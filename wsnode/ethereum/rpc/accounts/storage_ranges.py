"""debug_storageRangeAt: pages of a contract's slots, as they were before a transaction of a block."""

from collections.abc import Generator
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields, transaction_count
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.common.block_rows import block_rows, check_parent
from wsnode.ethereum.rpc.common.decoding import kind, mismatch
from wsnode.ethereum.rpc.common.errors import HISTORY_ERRORS
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.param_contracts import account_of
from wsnode.ethereum.rpc.common.parameters import BlockParameter, Data
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.schemas import HASH
from wsnode.ethereum.rpc.common.worker_thread import in_worker
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import storage_range
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import mapping_of, or_null, record
from wsnode.jsonrpc.work import JsonText, Step

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
    """`[block, transaction index, address, first hash, most results]`."""

    block: BlockParameter
    index: JsonInteger
    address: Address
    start: Data
    count: JsonInteger


class StorageRangeMethods:
    """The method within its limits."""

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


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's method."""
    ranges = StorageRangeMethods(limits, pending)
    registry.method(
        "debug_storageRangeAt",
        result=_RANGE,
        errors=HISTORY_ERRORS,
        contracts=account_of,
        deadline=limits.trace_max_seconds,
        timeout_error=ranges.timed_out,
    )(ranges.storage_range_at)
