"""RLP of values that are bytes and lists, and the header of a block's RLP; the engine does all other RLP."""

from typing import Final, TypeAlias

from wsnode._native.evm import fork_table
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.primitives.values import Hash32

Item: TypeAlias = "bytes | list[Item]"

LIST: Final = 0xC0
STRING: Final = 0x80
SHORT: Final = 55
ADDRESS_SIZE: Final = 20


def encode(item: Item) -> bytes:
    """Return an item's RLP."""
    if isinstance(item, list):
        return _with_length(b"".join(map(encode, item)), LIST)
    return item if len(item) == 1 and item[0] < STRING else _with_length(item, STRING)


def encoded_items(encoded: bytes) -> list[bytes]:
    """Return the encoded items of an encoded list."""
    position, length = content(encoded, 0)
    end, items = position + length, []
    while position < end:
        start, length = content(encoded, position)
        items.append(encoded[position : start + length])
        position = start + length
    return items


def content(encoded: bytes, position: int) -> tuple[int, int]:
    """Return offset and length, in bytes, of the content of the item at `position`."""
    first = encoded[position]
    if first < STRING:
        return position, 1
    short = first - (LIST if first >= LIST else STRING)
    if short <= SHORT:
        return position + 1, short
    start = position + 1 + short - SHORT
    return start, int.from_bytes(encoded[position + 1 : start], "big")


def number(value: int) -> bytes:
    """Return a number's bytes, without zeros in front."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def block_transactions(header: bytes, body: bytes) -> list[bytes]:
    """Return a block's transactions as EIP-2718 envelopes, legacy ones as RLP lists; none has blobs."""
    return transactions_of(block_rlp(header, body))


def transactions_of(block: bytes) -> list[bytes]:
    """Return the transactions in a block's RLP, in the form of `block_transactions`."""
    # A typed transaction lies in the block as a string, a legacy one as a list.
    return [
        item if item[0] >= LIST else item[content(item, 0)[0] :]
        for item in encoded_items(encoded_items(block)[1])
    ]


_RECIPIENTS: Final = {1: 4, 2: 5, 3: 5, 4: 5}
"""Index of the recipient among a typed transaction's members, by type; legacy transactions have index 3."""


def recipient_of(encoded: bytes) -> bytes | None:
    """Return the recipient of a signed transaction; None for a creation, and for bytes of another form."""
    is_typed = encoded[:1] < bytes((LIST,))
    place = _RECIPIENTS.get(encoded[0], 0) if encoded and is_typed else 3
    try:
        items = encoded_items(encoded[1:] if is_typed else encoded)
        if items and items[0][0] >= LIST:
            # The transaction is wrapped together with its blobs, and is the first item of the list.
            items = encoded_items(items[0])
        start, length = content(items[place], 0)
    except IndexError:
        return None
    recipient = items[place][start : start + length]
    return recipient if place and len(recipient) == ADDRESS_SIZE else None


def _with_length(payload: bytes, kind: int) -> bytes:
    if len(payload) <= SHORT:
        return bytes((kind + len(payload),)) + payload
    size = number(len(payload))
    return bytes((kind + SHORT + len(size),)) + size + payload


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
    return sum(content(encoded, start))


def _list(encoded: bytes, start: int) -> tuple[int, int] | None:
    """Return start and end, as offsets, of the content of the list at `start`; None if there is none."""
    if start >= len(encoded) or encoded[start] < LIST:
        return None
    begin, size = content(encoded, start)
    return (begin, begin + size) if begin + size <= len(encoded) else None
