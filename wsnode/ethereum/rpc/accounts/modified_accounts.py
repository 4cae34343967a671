"""debug_getModifiedAccounts…: the accounts that a range of blocks changed."""

from collections.abc import Generator
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.decoding import kind, mismatch
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept
from wsnode.ethereum.rpc.common.parameters import BlockHash, NumberOrTag
from wsnode.ethereum.rpc.common.results import HISTORY_ERRORS, PRUNED
from wsnode.ethereum.rpc.common.schemas import ADDRESS
from wsnode.ethereum.rpc.common.worker_thread import in_worker
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import modified_accounts
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import COUNT, list_of
from wsnode.jsonrpc.work import Step


class JsonBlockNumber(NumberOrTag):
    """Number of a block as a JSON number below 2**64."""


class NumberRangeParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[first, last]`, numbers of blocks; the changes after `first`, up to `last`. Without `last`, the
    changes of block `first` itself.
    """

    first: JsonBlockNumber
    last: JsonBlockNumber | None = None


class HashRangeParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[first, last]`, hashes of blocks; the changes after `first`, up to `last`. Without `last`, the changes
    of block `first` itself.
    """

    first: BlockHash
    last: BlockHash | None = None


Modified = Generator[Step, Any, list[str]]


class ModifiedAccountsMethods:
    """Handlers of debug_getModifiedAccounts…, within the limits of calls."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self.timed_out = server_error("execution timeout")

    def by_number(self, view: Snapshot, params: NumberRangeParameters) -> Modified:
        """Return the addresses of accounts that exist after block `last` and changed since block `first`."""
        first, last = params.first, params.last
        require_kept(view, first)
        if view.hash_of(first) is None:
            raise server_error(f"start block {first:x} not found")
        if last is not None and view.hash_of(last) is None:
            raise server_error(f"end block {last} not found")
        return self._modified(view, first, last)

    def by_hash(self, view: Snapshot, params: HashRangeParameters) -> Modified:
        """Return the addresses of accounts that exist after block `last` and changed since block `first`."""
        first = _number(view, params.first, "start")
        return self._modified(view, first, None if params.last is None else _number(view, params.last, "end"))

    def _modified(self, view: Snapshot, first: int, last: int | None) -> Modified:
        if last is None:
            if first == 0:
                raise server_error("block 0 has no parent")
            first, last = first - 1, first
            require_kept(view, first)
        if first >= last:
            raise server_error(f"start block height ({first}) must be less than end block height ({last})")
        blocks = _named(view, first), _named(view, last)
        changes = self._limits.history_bytes
        found = yield from in_worker(
            lambda flag: modified_accounts(view.state, *blocks, changes=changes, cancel=flag),
            self.timed_out,
        )
        return [f"0x{address.hex()}" for address in found]


def _number(view: Snapshot, block_hash: Hash32, name: str) -> int:
    number = view.number_of(block_hash)
    if number is None:
        if view.side_header(block_hash) is not None:
            raise server_error("hash is not currently canonical")
        raise server_error(f"{name} block {block_hash.hex()} not found")
    return number


def _named(view: Snapshot, number: int) -> tuple[int, bytes]:
    row = view.header(number)
    assert row is not None, "the block was looked up"
    return number, header_fields(row).hash


def _decode_number(value: Any) -> JsonBlockNumber:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise mismatch(f"number {value}" if type(value) in {int, float} else kind(value), "uint64")
    return JsonBlockNumber(value)


register_type(JsonBlockNumber, _decode_number, COUNT)


def add_methods(registry: Registry, limits: CallLimits) -> None:
    """Register this module's methods."""
    modified = ModifiedAccountsMethods(limits)
    method = partial(
        registry.method,
        result=list_of(ADDRESS),
        errors=(*HISTORY_ERRORS, PRUNED),
        deadline=limits.trace_max_seconds,
        timeout_error=modified.timed_out,
    )
    method("debug_getModifiedAccountsByNumber")(modified.by_number)
    method("debug_getModifiedAccountsByHash")(modified.by_hash)
