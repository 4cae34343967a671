"""The header of a block's RLP, read without decoding the rest."""

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.primitives.values import Hash32

_SHORT_LIST = 0xC0
_LONG_LIST = 0xF7


def block_hash(encoded: bytes) -> Hash32 | None:
    """Return the hash of the header in a block's RLP, None when there is no header at its start."""
    block = _list(encoded, 0)
    if block is None:
        return None
    header = _list(encoded, block[0])
    if header is None:
        return None
    return Hash32(keccak256(encoded[block[0] : header[1]]))


def _list(encoded: bytes, start: int) -> tuple[int, int] | None:
    """Return where the content of the list at `start` begins and ends."""
    if start >= len(encoded) or encoded[start] < _SHORT_LIST:
        return None
    first, begin = encoded[start], start + 1
    size = first - _SHORT_LIST
    if first > _LONG_LIST:
        begin += first - _LONG_LIST
        size = int.from_bytes(encoded[start + 1 : begin], "big")
    end = begin + size
    return (begin, end) if end <= len(encoded) else None
