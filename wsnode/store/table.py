"""A table's name, and walks over its entries in key order."""

from collections.abc import Iterator
from typing import Protocol


class Table:
    """A named table; it equals itself alone, by which a store finds its handle."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Table({self.name!r})"


class RowCursor(Protocol):
    """A place in a table; after a move that answered true, `item()` is the entry there."""

    def set_range(self, key: bytes, /) -> bool:
        """Move to the first entry at or after `key`; false when there is none."""

    def next(self) -> bool:
        """Move to the following entry; false at the end."""

    def prev(self) -> bool:
        """Move to the entry before; false at the start."""

    def last(self) -> bool:
        """Move to the last entry; false when the table is empty."""

    def key(self) -> bytes:
        """Return the key of the entry here."""

    def value(self) -> bytes:
        """Return the value of the entry here."""

    def item(self) -> tuple[bytes, bytes]:
        """Return key and value of the entry here."""


class HasCursors(Protocol):
    """The part of a transaction that a walk needs."""

    def cursor(self, table: Table, /) -> RowCursor:
        """Return a cursor that stands nowhere yet."""


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
