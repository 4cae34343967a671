"""Tables by name: iteration over their entries in key order, and a check of their checksums."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from wsnode.store.environment import Environment

ReportFault = Callable[[str, str], object]
"""Function called with the name of a table and the fault of one of its rows."""


class Table:
    """Name of a table in a store. It equals only itself, and a store finds its handle of the table by it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Table({self.name!r})"


class RowCursor(Protocol):
    """Position in a table; after a move that returned True, `item()` is the key and the value there."""

    def set_range(self, key: bytes, /) -> bool:
        """Move to the first entry at or after `key` and return True; return False if there is none."""

    def next(self) -> bool:
        """Move to the following entry and return True; return False at the end."""

    def prev(self) -> bool:
        """Move to the entry before and return True; return False at the start."""

    def last(self) -> bool:
        """Move to the last entry and return True; return False if the table is empty."""

    def key(self) -> bytes: ...

    def value(self) -> bytes: ...

    def item(self) -> tuple[bytes, bytes]: ...


class HasCursors(Protocol):
    """Transaction that can make cursors without a position."""

    def cursor(self, table: Table, /) -> RowCursor: ...


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


class Progress(Protocol):
    """Display of the progress of long work in several parts, one after another."""

    def advanced(self, part: str, done: int, total: int) -> None:
        """Show that `done` of `total` blocks, rows or bytes of a part are done; `total` may be estimated."""


def check_rows(store: Environment, tables: Sequence[Table], progress: Progress, fault: ReportFault) -> None:
    """Check the checksums of all rows of some tables, and call `fault` for each damaged row.

    Raises:
        StoreError: The store cannot be read.
    """
    with store.read() as reader:
        for table in tables:
            reader.check_rows(
                table,
                partial(progress.advanced, f"checksums: {table.name}"),
                partial(_report, fault, table.name),
            )


def _report(fault: ReportFault, table: str, key: bytes) -> None:
    fault(table, f"row 0x{key.hex()} does not have its checksum")
