"""Bytes of LMDB's pages that it follows: numbers, flags and bounds of pages, places and sizes of entries."""

import struct
from collections.abc import Iterator

PAGE = 4096
HEADER = 16
"""Bytes of a page's header (`MDB_page` in LMDB's mdb.c): number, padding, flags, lower and upper bound."""
NODE = 8
"""Bytes of an entry before its key (`MDB_node`): its value's size, flags, and its key's size."""
NODE_FLAGS = 4
DUPLICATES = 0x04
"""Flag of an entry with several values (`F_DUPDATA`)."""
LEAF, OVERFLOW = 0x02, 0x04
"""Flags of a page: its entries have values, or it continues one value."""
PAGE_NUMBER, TABLE_RECORD = 8, 48
"""Bytes in place of a value: the number of its pages, and the record of a table (`MDB_db`)."""


def entries_of(content: bytes, key: bytes) -> list[int]:
    """Return where the entries of a key begin, in all versions of their page."""
    found = []
    for page in range(0, len(content), PAGE):
        places = entry_places(content, page)
        found += [entry for entry in places if key_of(content, entry) == key]
    return found


def key_of(content: bytes, entry: int) -> bytes:
    """Return the key of the entry that begins at a place of the file."""
    (size,) = struct.unpack_from("=H", content, entry + 6)
    return content[entry + NODE : entry + NODE + size]


def entry_places(content: bytes, page: int) -> list[int]:
    """Return where the entries of a page begin in the file; empty if it has none or is unused."""
    number, _, flags, lower, upper = struct.unpack_from("=QHHHH", content, page)
    if flags & OVERFLOW or number != page // PAGE or not HEADER <= lower <= upper <= PAGE:
        return []
    return [page + place for (place,) in struct.iter_unpack("=H", content[page + HEADER : page + lower])]


def followed_bytes(content: bytes) -> Iterator[int]:
    """Yield the places of all bytes that LMDB follows behind the file's two meta pages."""
    for page in range(2 * PAGE, len(content), PAGE):
        entries = entry_places(content, page)
        if not entries:
            continue
        yield from range(page, page + HEADER + 2 * len(entries))
        (flags,) = struct.unpack_from("=H", content, page + 10)
        for entry in entries:
            yield from range(entry, entry + NODE)
            key_size = len(key_of(content, entry))
            (node_flags,) = struct.unpack_from("=H", content, entry + NODE_FLAGS)
            followed = {1: PAGE_NUMBER, 2: TABLE_RECORD}.get(node_flags, 0) if flags & LEAF else 0
            yield from range(entry + NODE + key_size, entry + NODE + key_size + followed)
