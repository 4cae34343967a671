"""Rows of a store dropped, changed and added behind the program's back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from wsnode.ethereum.storage.tables import STATE_TABLES
from wsnode.store.environment import Environment, Writer
from wsnode.store.table import Table, scan

Damage = Callable[[Writer, Table, bytes, bytes], None]

STATE = STATE_TABLES
"""The tables of a chain's state: accounts first."""


class Silence:
    def advanced(self, part: str, done: int, total: int) -> None:
        pass


def drop(writer: Writer, table: Table, key: bytes, _value: bytes) -> None:
    writer.delete(table, key)


def flip(writer: Writer, table: Table, key: bytes, value: bytes) -> None:
    writer.put(table, key, value[:-1] + bytes([value[-1] ^ 1]))


def cut(writer: Writer, table: Table, key: bytes, value: bytes) -> None:
    writer.put(table, key, value[:-1])


def add(writer: Writer, table: Table, key: bytes, value: bytes) -> None:
    """Put the row under another key too."""
    writer.put(table, bytes([key[0] ^ 1]) + key[1:], value)


def last_row(folder: Path, tables: Sequence[Table], table: Table) -> tuple[bytes, bytes]:
    """Return the last row of a table that has a value, and that a chain cannot do without."""
    with closing(Environment(folder, tables, writer=False)) as store, store.read() as reader:
        return [row for row in scan(reader, table, b"") if row[1] and row[0][-1:] != b"r"][-1]


def first_row(folder: Path, tables: Sequence[Table], table: Table) -> tuple[bytes, bytes]:
    """Return the first row of a table that has a value."""
    with closing(Environment(folder, tables, writer=False)) as store, store.read() as reader:
        return next(row for row in scan(reader, table, b"") if row[1])


@contextmanager
def damaged(
    folder: Path, tables: Sequence[Table], table: Table, damage: Damage, key: bytes, value: bytes
) -> Iterator[None]:
    """Damage a row of a store that nothing has open, and mend it in the end."""
    rows = change(folder, tables, lambda writer: list(scan(writer, table, b"")))
    change(folder, tables, lambda writer: damage(writer, table, key, value))
    try:
        yield
    finally:
        change(folder, tables, lambda writer: _mend(writer, table, dict(rows)))


def change(folder: Path, tables: Sequence[Table], work: Callable[[Writer], Any]) -> Any:
    """Return what one change of a store returned."""
    with closing(Environment(folder, tables, writer=True, durable=False)) as store:
        return store.write(work)


def _mend(writer: Writer, table: Table, rows: dict[bytes, bytes]) -> None:
    for key, _ in list(scan(writer, table, b"")):
        if key not in rows:
            writer.delete(table, key)
    for key, value in rows.items():
        writer.put(table, key, value)
