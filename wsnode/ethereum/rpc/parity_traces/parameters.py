"""Parameters of the trace_ methods: types of traces, places in a tree of calls, filters."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from wsnode.ethereum.live.block_barrier import Awaited, NamedBlock
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.call_object import CallObject, check_accesses, decode_call_object
from wsnode.ethereum.rpc.common.decoding import decode_array, field, kind, mismatch, parse_quantity
from wsnode.ethereum.rpc.common.limits import MAX_VALUES
from wsnode.ethereum.rpc.common.parameters import NumberOrTag, decode_address, decode_block_number
from wsnode.ethereum.rpc.parity_traces.schemas import (
    MAX_TYPES,
    MODES,
    NUMBER,
    TRACE_FILTER,
    TRACE_TYPES,
    TYPES,
)
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.schema import list_of, reference, tuple_of
from wsnode.jsonrpc.session_limits import check_count

MAX_INTEGER: Final = (1 << 64) - 1
MAX_CALLS: Final = 1_000
"""Calls of one trace_callMany: 15 us each to decode."""
MAX_LEVELS: Final = 1_025
"""Levels of a tree of calls: 1,024 below the first."""


class TraceTypes(bytes):
    """The requested types of traces: `trace`, `vmTrace`, `stateDiff`."""

    __slots__ = ()


class TracePath(list[int]):
    """A place in the tree of a transaction's calls: an index on each level below the first."""

    __slots__ = ()


class TracedCalls(list[tuple[CallObject, TraceTypes]]):
    """Calls that run in sequence, each with its requested types of traces."""

    __slots__ = ()


class TraceFilter:
    """A filter of traces: a range of blocks, senders and recipients, and a page of the matches."""

    __slots__ = ("after", "count", "from_addresses", "from_block", "mode", "to_addresses", "to_block")

    def __init__(self) -> None:
        self.from_block: NumberOrTag | None = None
        self.to_block: NumberOrTag | None = None
        self.from_addresses: list[Address] = []
        self.to_addresses: list[Address] = []
        self.mode = MODES[0]
        self.after = 0
        self.count: int | None = None

    def named_blocks(self) -> Iterator[Awaited]:
        """Yield the blocks that it names by number."""
        bounds = (self.from_block, self.to_block)
        yield from (NamedBlock(bound) for bound in bounds if bound is not None and bound >= 0)

    def encoded(self) -> bytes:
        """Return the senders, the recipients and the mode that combines them, as JSON for the native code."""
        return msgspec.json.encode(
            {
                "fromAddress": [f"0x{address.hex()}" for address in self.from_addresses],
                "toAddress": [f"0x{address.hex()}" for address in self.to_addresses],
                "mode": self.mode,
            }
        )


def decode_trace_types(value: Any) -> TraceTypes:
    """Return the types that a list names, without duplicates.

    Raises:
        ValueError: It is no list, or names an unknown type.
    """
    decode_array(value, "[]string")
    check_count(len(value), MAX_TYPES, "trace types")
    for name in value:
        if type(name) is not str:
            raise mismatch(kind(name), "string")
        if name not in TYPES:
            raise ValueError(f'unknown trace type "{name[:32]}", want one of {", ".join(TYPES)}')
    return TraceTypes(msgspec.json.encode(sorted(set(value))))


def decode_trace_filter(value: Any) -> TraceFilter:
    """Return the filter that a JSON object describes; names match in any case, unknown ones are ignored.

    Raises:
        ValueError: A member is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "TraceFilter")
    members = {name.lower(): member for name, member in value.items() if member is not None}
    wanted = TraceFilter()
    if (from_block := members.get("fromblock")) is not None:
        wanted.from_block = decode_block_number(from_block)
    if (to_block := members.get("toblock")) is not None:
        wanted.to_block = decode_block_number(to_block)
    senders, recipients = members.get("fromaddress", []), members.get("toaddress", [])
    named = sum(len(each) for each in (senders, recipients) if type(each) is list)
    check_count(named, MAX_VALUES, "addresses in the filter")
    wanted.from_addresses = _addresses(senders, "fromAddress")
    wanted.to_addresses = _addresses(recipients, "toAddress")
    if (mode := members.get("mode", MODES[0])) not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}")
    wanted.mode = mode
    wanted.after = decode_count(members.get("after", 0))
    wanted.count = None if "count" not in members else decode_count(members["count"])
    return wanted


def decode_count(value: Any) -> int:
    """Return the number below 2**64 that a JSON number or a quantity writes.

    Raises:
        ValueError: It is no such number.
    """
    if type(value) is str:
        return parse_quantity(value, 64)
    if type(value) is not int:
        raise mismatch(kind(value), "uint64")
    if not 0 <= value <= MAX_INTEGER:
        raise mismatch(f"number {value}", "uint64")
    return value


def _addresses(value: Any, name: str) -> list[Address]:
    place = field("TraceFilter", name)
    return [decode_address(item, place) for item in decode_array(value, "[]common.Address", place)]


def _decode_place(value: Any) -> TracePath:
    decode_array(value, "[]hexutil.Uint64")
    check_count(len(value), MAX_LEVELS, "levels of calls")
    return TracePath(map(decode_count, value))


def _decode_calls(value: Any) -> TracedCalls:
    decode_array(value, "[]TraceCallParam")
    check_count(len(value), MAX_CALLS, "calls")
    check_accesses(pair[0] for pair in value if type(pair) is list and pair)
    return TracedCalls(map(_decode_traced_call, value))


def _decode_traced_call(value: Any) -> tuple[CallObject, TraceTypes]:
    if type(value) is not list or len(value) != 2:
        raise ValueError("each call must be a list of two: the call, and the types of its traces")
    return decode_call_object(value[0]), decode_trace_types(value[1])


register_type(TraceTypes, decode_trace_types, TRACE_TYPES)
register_type(TracePath, _decode_place, list_of(NUMBER, most=MAX_LEVELS))
register_type(
    TracedCalls,
    _decode_calls,
    list_of(tuple_of([reference("CallObject"), TRACE_TYPES]), most=MAX_CALLS),
)
register_type(TraceFilter, decode_trace_filter, TRACE_FILTER)
