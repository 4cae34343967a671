"""Header of a block's RLP, read without decoding the rest."""

from wsnode._native.evm import fork_table
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import LIST, content
from wsnode.ethereum.primitives.values import Hash32

KNOWN_MEMBERS = max(fork.header_members for fork in fork_table())
"""Number of members of a header of the last fork that the engine knows."""
MAX_MEMBERS = 64
_NUMBER_BYTES = 8
_NUMBER = 8
"""Index of the number among the members of a header."""


def block_hash(encoded: bytes) -> Hash32 | None:
    """Return the hash of the header in a block's RLP; None if no header is at its start."""
    block = _list(encoded, 0)
    if block is None:
        return None
    header = _list(encoded, block[0])
    if header is None:
        return None
    return Hash32(keccak256(encoded[block[0] : header[1]]))


def header_members(encoded: bytes) -> int:
    """Return the number of members of the header in a block's RLP; 0 if no header is at its start.

    Counting ends at `MAX_MEMBERS`.
    """
    header = _header(encoded)
    if header is None:
        return 0
    count, (start, end) = 0, header
    while start < end and count < MAX_MEMBERS:
        start, count = _end_of_item(encoded, start), count + 1
    return count


def block_number(encoded: bytes) -> int | None:
    """Return the block number in the header of a block's RLP; None if there is none."""
    header = _header(encoded)
    if header is None:
        return None
    start, end = header
    for _ in range(_NUMBER):
        if start >= end:
            return None
        start = _end_of_item(encoded, start)
    stop = _end_of_item(encoded, start) if start < end else start
    if not start < stop <= start + 1 + _NUMBER_BYTES:
        return None
    # A number below 128 is its own encoding; longer ones have their length in front.
    return int.from_bytes(encoded[content(encoded, start)[0] : stop], "big")


def _header(encoded: bytes) -> tuple[int, int] | None:
    """Return start and end offset of the header's content in a block's RLP; None if there is none."""
    block = _list(encoded, 0)
    return None if block is None else _list(encoded, block[0])


def _end_of_item(encoded: bytes, start: int) -> int:
    """Return the offset at which the item at `start` ends."""
    return sum(content(encoded, start))


def _list(encoded: bytes, start: int) -> tuple[int, int] | None:
    """Return start and end, as offsets, of the content of the list at `start`; None if there is none."""
    if start >= len(encoded) or encoded[start] < LIST:
        return None
    begin, size = content(encoded, start)
    return (begin, begin + size) if begin + size <= len(encoded) else None
