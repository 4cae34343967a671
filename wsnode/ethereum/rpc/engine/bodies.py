"""engine_getPayloadBodies: transactions and withdrawals of stored blocks, for clients that keep none."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import render_payload_body
from wsnode.ethereum.codec.rows import Row
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.decoding import decode_quantity
from wsnode.ethereum.rpc.common.parameters import decode_hash, register_list
from wsnode.ethereum.rpc.common.schemas import ANY_HASH, ANY_QUANTITY
from wsnode.ethereum.rpc.engine.errors import too_large_request
from wsnode.ethereum.rpc.engine.schemas import BODIES, BODIES_WITH_LISTS
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import ReplyChunks, Steps

MOST_BODIES: Final = 1024
"""Maximum number of bodies in one call, as in geth (eth/catalyst/api.go)."""
MOST_BYTES: Final = 32 << 20
"""Maximum bytes of the bodies' text; a client has to request larger ranges in parts."""


class Count(int):
    """A number below 2**64."""


class BlockHashes(tuple[Hash32, ...]):
    """Hashes of blocks."""

    __slots__ = ()


class HashesParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[block hashes]`."""

    hashes: BlockHashes


class RangeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[number of the first block, how many]`."""

    start: Count
    count: Count


def get_bodies_by_hash(view: Snapshot, params: HashesParameters) -> Steps:
    """Return the bodies of blocks, canonical or not; null for those that are unknown."""
    found = (view.block_rows(block_hash) for block_hash in params.hashes)
    return _bodies(_rendered(None if rows is None else rows[1]) for rows in found)


def get_bodies_by_range(view: Snapshot, params: RangeParameters) -> Steps:
    """Return the list of the bodies of canonical blocks, which ends at the head; null for pruned ones."""
    return _bodies(_rendered(view.view_body(number)) for number in _numbers(view, params))


def get_bodies_with_lists_by_hash(view: Snapshot, params: HashesParameters) -> Steps:
    """Return the bodies of blocks with their access lists; null for blocks that are unknown."""
    return _bodies(_with_list(view, block_hash) for block_hash in params.hashes)


def get_bodies_with_lists_by_range(view: Snapshot, params: RangeParameters) -> Steps:
    """Return the list of the bodies of canonical blocks with their access lists, which ends at the head.

    It has null for pruned blocks; the access list is null for blocks without one.
    """
    hashes = (view.hash_of(number) for number in _numbers(view, params))
    return _bodies(None if block_hash is None else _with_list(view, block_hash) for block_hash in hashes)


def _with_list(view: Snapshot, block_hash: Hash32) -> bytes | None:
    """Return the JSON of a block's body with its access list, null where there is none; None for an unknown
    block.
    """
    rows = view.block_rows(block_hash)
    if rows is None:
        return None
    return render_payload_body(rows[1], view.access_list(block_hash), with_access_list=True)


def _numbers(view: Snapshot, params: RangeParameters) -> range:
    if params.start < 1 or params.count < 1:
        raise invalid_params("start and count are at least 1")
    if params.count > MOST_BODIES:
        raise too_large_request(MOST_BODIES)
    return range(params.start, min(params.start + params.count, view.number + 1))


def _rendered(body: Row | None) -> bytes | None:
    return None if body is None else render_payload_body(body)


def _bodies(bodies: Iterator[bytes | None]) -> Steps:
    pieces, size = ReplyChunks((b"[",)), 0
    for body in bodies:
        text = b"null" if body is None else body
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
    method = partial(registry.method, errors=(too_large_request(MOST_BODIES),))
    method("engine_getPayloadBodiesByHashV1", result=BODIES)(get_bodies_by_hash)
    method("engine_getPayloadBodiesByRangeV1", result=BODIES)(get_bodies_by_range)
    method("engine_getPayloadBodiesByHashV2", result=BODIES_WITH_LISTS)(get_bodies_with_lists_by_hash)
    method("engine_getPayloadBodiesByRangeV2", result=BODIES_WITH_LISTS)(get_bodies_with_lists_by_range)


register_type(Count, _decode_count, ANY_QUANTITY)
register_list(
    BlockHashes,
    decode_hash,
    ANY_HASH,
    most=MOST_BODIES,
    type_name="[]common.Hash",
    excess=too_large_request(MOST_BODIES),
)
