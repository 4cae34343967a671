"""Side blocks by hash: header, body, total difficulty, and receipts if the block was executed."""

from typing import Final

from wsnode.ethereum.storage.tables import SIDE_BLOCKS
from wsnode.store.environment import Reader, Writer

_HEADER: Final = b"h"
_BODY: Final = b"b"
_RECEIPTS: Final = b"r"
_TOTAL_DIFFICULTY: Final = b"t"
_UPSTREAM_RECEIPTS: Final = b"v"
_ACCESS_LIST: Final = b"a"


def header(reader: Reader, block_hash: bytes) -> bytes | None:
    """Return the header row, None if there is no such side block."""
    return reader.get(SIDE_BLOCKS, block_hash + _HEADER)


def body(reader: Reader, block_hash: bytes) -> bytes | None:
    """Return the body row, None if there is no such side block."""
    return reader.get(SIDE_BLOCKS, block_hash + _BODY)


def receipts(reader: Reader, block_hash: bytes) -> bytes | None:
    """Return the receipts row, None if there is no such side block or it was never executed."""
    return reader.get(SIDE_BLOCKS, block_hash + _RECEIPTS)


def access_list(reader: Reader, block_hash: bytes) -> bytes | None:
    """Return the RLP of the block access list, None if it is not known."""
    return reader.get(SIDE_BLOCKS, block_hash + _ACCESS_LIST)


def upstream_receipts(reader: Reader, block_hash: bytes) -> bytes | None:
    """Return a receipts row that other nodes sent of a block never canonical here, None without one."""
    return reader.get(SIDE_BLOCKS, block_hash + _UPSTREAM_RECEIPTS)


def put_upstream_receipts(writer: Writer, block_hash: bytes, receipts_row: bytes) -> None:
    """Store the receipts row that other nodes sent of a side block never canonical here."""
    writer.put(SIDE_BLOCKS, block_hash + _UPSTREAM_RECEIPTS, receipts_row)


def total_difficulty(reader: Reader, block_hash: bytes) -> int | None:
    """Return the total difficulty through the block, None if there is no such side block."""
    stored = reader.get(SIDE_BLOCKS, block_hash + _TOTAL_DIFFICULTY)
    return None if stored is None else int.from_bytes(stored, "big")


def add(
    writer: Writer,
    block_hash: bytes,
    *,
    header_row: bytes,
    body_row: bytes,
    receipts_row: bytes | None,
    difficulty: int,
    access_list: bytes | None = None,
) -> None:
    """Store a side block; `difficulty` is the total difficulty through it."""
    writer.put(SIDE_BLOCKS, block_hash + _HEADER, header_row)
    writer.put(SIDE_BLOCKS, block_hash + _BODY, body_row)
    writer.put(SIDE_BLOCKS, block_hash + _TOTAL_DIFFICULTY, difficulty.to_bytes(32, "big").lstrip(b"\0"))
    if receipts_row is not None:
        writer.put(SIDE_BLOCKS, block_hash + _RECEIPTS, receipts_row)
    if access_list is not None:
        writer.put(SIDE_BLOCKS, block_hash + _ACCESS_LIST, access_list)


def remove(writer: Writer, block_hash: bytes) -> None:
    """Delete a side block; an unknown hash is no error."""
    for kind in (_HEADER, _BODY, _RECEIPTS, _TOTAL_DIFFICULTY, _UPSTREAM_RECEIPTS, _ACCESS_LIST):
        writer.delete(SIDE_BLOCKS, block_hash + kind)
