"""Tables by name, and iteration over their entries in key order."""

from collections.abc import Iterator
from typing import Protocol


class Table:
    """Named table; it equals only itself, and a store finds its handle by it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Table({self.name!r})"


class RowCursor(Protocol):
    """Position in a table; after a move that returned true, `item()` is the entry there."""

    def set_range(self, key: bytes, /) -> bool:
        """Move to the first entry at or after `key` and return True; return False if there is none."""

    def next(self) -> bool:
        """Move to the following entry and return True; return False at the end."""

    def prev(self) -> bool:
        """Move to the entry before and return True; return False at the start."""

    def last(self) -> bool:
        """Move to the last entry and return True; return False if the table is empty."""

    def key(self) -> bytes:
        """Return the key of the entry at this position."""

    def value(self) -> bytes:
        """Return the value of the entry at this position."""

    def item(self) -> tuple[bytes, bytes]:
        """Return key and value of the entry at this position."""


class HasCursors(Protocol):
    """Transaction as far as iteration needs it."""

    def cursor(self, table: Table, /) -> RowCursor:
        """Return a cursor without a position."""


def scan(
    reader: HasCursors, table: Table, start: bytes, stop: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries with `start` <= key < `stop` in key order; without `stop`, to the end."""
    cursor = reader.cursor(table)
    found = cursor.set_range(start)
    while found:
        entry = cursor.item()
        if stop is not None and entry[0] >= stop:
            return
        yield entry
        found = cursor.next()


def last_key(reader: HasCursors, table: Table) -> bytes | None:
    """Return the greatest key of the table, None when it is empty."""
    cursor = reader.cursor(table)
    return cursor.key() if cursor.last() else None
