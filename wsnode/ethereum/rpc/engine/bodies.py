"""engine_getPayloadBodies: transactions and withdrawals of stored blocks, for clients that keep none."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import render_payload_body
from wsnode.ethereum.codec.rows import Row
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.engine.errors import too_large_request
from wsnode.ethereum.rpc.engine.schemas import BODIES
from wsnode.ethereum.rpc.form.decoding import decode_quantity
from wsnode.ethereum.rpc.form.schemas import ANY_QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Pieces, Steps

MOST_BODIES: Final = 1024
"""At once, as with geth (eth/catalyst/api.go)."""
MOST_BYTES: Final = 32 << 20
"""Of their text; what goes beyond is asked for in smaller parts."""


class Count(int):
    """A number below 2**64."""


class HashesParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[block hashes]`."""

    hashes: tuple[Hash32, ...]


class RangeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[number of the first block, how many]`."""

    start: Count
    count: Count


def get_bodies_by_hash(view: Snapshot, params: HashesParameters) -> Steps:
    """Return the bodies of blocks, canonical or not; null for those that are unknown."""
    if len(params.hashes) > MOST_BODIES:
        raise too_large_request(MOST_BODIES)
    found = (view.block_rows(block_hash) for block_hash in params.hashes)
    return _bodies(None if rows is None else rows[1] for rows in found)


def get_bodies_by_range(view: Snapshot, params: RangeParameters) -> Steps:
    """Return the bodies of canonical blocks, as far as there are any."""
    if params.start < 1 or params.count < 1:
        raise invalid_params("start and count are at least 1")
    if params.count > MOST_BODIES:
        raise too_large_request(MOST_BODIES)
    numbers = range(params.start, min(params.start + params.count, view.number + 1))
    return _bodies(view.view_body(number) for number in numbers)


def _bodies(bodies: Iterator[Row | None]) -> Steps:
    pieces, size = Pieces((b"[",)), 0
    for body in bodies:
        text = b"null" if body is None else render_payload_body(body)
        pieces += (text,) if len(pieces) == 1 else (b",", text)
        size += len(text)
        if size > MOST_BYTES:
            raise too_large_request(len(pieces) // 2)
        yield size
    pieces.append(b"]")
    return pieces


def _decode_count(value: Any) -> Count:
    return Count(decode_quantity(value, 64, "hexutil.Uint64"))


def add_methods(registry: Registry) -> None:
    """Register this module's methods."""
    method = partial(registry.method, result=BODIES, errors=(too_large_request(MOST_BODIES),))
    method("engine_getPayloadBodiesByHashV1")(get_bodies_by_hash)
    method("engine_getPayloadBodiesByRangeV1")(get_bodies_by_range)


register_type(Count, _decode_count, ANY_QUANTITY)
