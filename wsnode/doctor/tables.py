"""Sizes of a data folder's stores: tables, rows, bytes, free pages, and the oldest reader."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.ethereum.storage.errors import NoChainError
from wsnode.store.environment import inspect_pages

STORES: Final = ("eth/chain", "alt/chain", "filters")
"""Paths of the stores that a data folder may have."""
FILE: Final = "data.mdb"
_BRIEF: Final = ("B", "kB", "MB", "GB", "TB")


class TableSize(msgspec.Struct, frozen=True):
    """Rows of a table, and bytes of its pages."""

    rows: int
    bytes: int


class SnapshotHolder(msgspec.Struct, frozen=True):
    """Process (its id) with an open snapshot of a store's version; pages that this version uses are not
    reused until it closes the snapshot.
    """

    process: int
    version: int


class StoreSize(msgspec.Struct, frozen=True):
    """Sizes of a store's file, pages and tables at its last version, and the number of snapshots open in
    other processes.
    """

    bytes: int
    """Bytes of all pages, free ones included."""
    disk: int
    """Bytes of the file on the disk; free pages may be holes."""
    free: int
    """Bytes of free pages."""
    version: int
    """Number of the last change."""
    tables: dict[str, TableSize]
    """Sizes of the tables, and of LMDB's own trees `(tables)` and `(free)`."""
    snapshots: int
    oldest: SnapshotHolder | None
    """Oldest of the snapshots, None if there is none."""


def measure(data: Path) -> dict[str, StoreSize]:
    """Return the sizes of each store in a data folder; other processes may read and write it.

    Raises:
        NoChainError: There is no store.
        StoreError: A store cannot be read, or this process has it open.
    """
    found = {name: _measured(data / name) for name in STORES if (data / name / FILE).exists()}
    if not found:
        raise NoChainError(data)
    return found


def _measured(folder: Path) -> StoreSize:
    page_size, pages, free, version, trees, readers = inspect_pages(folder)
    oldest = min(readers, key=lambda reader: reader[1], default=None)
    return StoreSize(
        bytes=pages * page_size,
        disk=(folder / FILE).stat().st_blocks * 512,
        free=free * page_size,
        version=version,
        tables={name: TableSize(rows, used * page_size) for name, rows, used in trees},
        snapshots=len(readers),
        oldest=None if oldest is None else SnapshotHolder(*oldest),
    )


def lines_of(stores: Mapping[str, StoreSize]) -> Iterator[str]:
    """Yield the lines of a report."""
    for name, store in stores.items():
        yield (
            f"{name}: {_brief(store.bytes)}, of which {_brief(store.free)} are free; "
            f"{_brief(store.disk)} on the disk; version {store.version}; {_readers(store)}"
        )
        width = max(map(len, store.tables))
        for table, size in sorted(store.tables.items(), key=lambda entry: -entry[1].bytes):
            yield f"  {table:<{width}} {size.rows:>14,} rows {_brief(size.bytes):>10}"


def document(data: Path, stores: Mapping[str, StoreSize]) -> dict[str, Any]:
    """Return a report as a JSON object, with sizes in bytes."""
    return {"data": str(data), "stores": msgspec.to_builtins(stores)}


def _readers(store: StoreSize) -> str:
    if store.oldest is None:
        return "no snapshots"
    age = store.version - store.oldest.version
    count = f"{store.snapshots} snapshot" + ("" if store.snapshots == 1 else "s")
    return f"{count}, the oldest {age} changes ago (process {store.oldest.process})"


def _brief(size: int) -> str:
    """Return a number of bytes as text, with three digits or more and a unit."""
    value, unit = float(size), 0
    while value >= 10_000 and unit < len(_BRIEF) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:,.0f} {_BRIEF[unit]}"
