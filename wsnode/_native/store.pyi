"""LMDB files of named tables of bytes: snapshots to read from, and one change at a time.

A table is any object with a `name`; an environment knows it by identity.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar, final

from typing_extensions import disjoint_base

_T = TypeVar("_T")

class _Table(Protocol):
    @property
    def name(self) -> str: ...

class StoreError(Exception):
    """The store cannot be read or written; the text names the folder and the reason."""

class DiskFullError(StoreError):
    """The file system has no room for the change; nothing of it was kept."""

class SnapshotLostError(StoreError):
    """The snapshot has ended: it or the file was closed."""

class DamagedRowError(StoreError):
    """A row of the file does not have its checksum, is missing where it must be, or is behind a damaged page.

    `table` is the table's name; `key` is empty where a walk met a damaged page.
    """

    table: str
    key: bytes

class StoreMovedError(StoreError):
    """The open file was deleted, moved or replaced: what is written to it would be lost."""

class StoreFailedError(StoreError):
    """A write of the file's meta page failed, and LMDB cannot open the file again, or not yet."""

class TooManySnapshotsError(StoreError):
    """The processes of the folder read as many versions of the file as there can be (16,384)."""

@final
class Environment:
    """An open LMDB file of named tables. One process writes, any number read beside it.

    With `durable` each change is on the disk when `write` returns; without, at the next `sync`, and a power
    failure (not a killed process) before that may cost the file. `map_size`, in bytes, is how far the file
    can grow before its map has to; a larger file has a larger map. A writer creates the folder, the file and
    its tables.

    Raises:
        StoreError: The file is missing, cut short, or has not all tables, and this is no writer; or LMDB
            refuses.
    """

    def __new__(
        cls, path: Path, tables: Sequence[_Table], *, writer: bool, durable: bool = True, map_size: int = ...
    ) -> Environment: ...
    def read(self) -> Reader:
        """Return a snapshot of what is committed now, by any process.

        All snapshots of one version share one of LMDB's read transactions, of which a folder has 16,384 for
        all its processes together.

        Raises:
            TooManySnapshotsError: None is left.
            StoreError: Another process has enlarged the file beyond the map, where values were viewed for
                a second.
            SnapshotLostError: The file is closed.
        """

    def write(self, change: Callable[[Writer], _T], /) -> _T:
        """Return what `change` returned, once all that it wrote is committed, or nothing of it is.

        `change` runs in the calling thread, with the interpreter's lock; waiting for the turn, for another
        process and for the disk releases it. `change` may be called again from the start when the map has to
        grow, so it touches only the store. What it raises is raised, and undoes it.

        Raises:
            DiskFullError: The file system is full.
            StoreMovedError: The file is not where it was opened any more.
            StoreFailedError: The file cannot be opened again after a failed write.
            StoreError: The map has to grow, but values in it were viewed for five seconds; or LMDB failed.
            SnapshotLostError: The file is closed.
        """

    def copy(self, descriptor: int) -> None:
        """Write what is committed at some moment of the call to an open file, as a store without free pages.

        It takes as long as the reader of that file, a pipe say; until then its version is read. Releases the
        interpreter's lock.

        Raises:
            StoreError: The file cannot be written, or nobody reads it any more.
            SnapshotLostError: The store is closed.
        """

    def require_usable(self) -> None:
        """Return if changes of the file are kept, and can be made as far as is known.

        Raises:
            StoreMovedError: The path that it was opened by leads to it no more; a change raises this too.
            StoreFailedError: The file cannot be opened again after a failed write.
            SnapshotLostError: The file is closed.
        """

    def require_undamaged(self) -> None:
        """Return if no read has met a damaged row since the file was opened.

        Raises:
            DamagedRowError: One has; this names the first.
            SnapshotLostError: The file is closed.
        """

    @property
    def damaged(self) -> int:
        """Return how often a read has met a damaged row since the file was opened."""

    @property
    def versions(self) -> int:
        """Return how many versions of the file the open snapshots of this process see."""

    @property
    def map_size(self) -> int:
        """Return how far the file can grow before its map has to, in bytes.

        Raises:
            SnapshotLostError: The file is closed.
        """

    def sync(self) -> None:
        """Return when all committed changes are on the disk. Releases the lock.

        Raises:
            SnapshotLostError: The file is closed.
            StoreError: The disk failed; a DiskFullError where it is full.
        """

    def close(self) -> None:
        """Close the file; snapshots still open are lost with it. A second time does nothing."""

@disjoint_base
class Reader:
    """A snapshot of all tables; close it soon, since it keeps the pages it sees from being reused.

    Its methods raise SnapshotLostError once it has ended, StoreError for a table that the environment was
    not opened with, and DamagedRowError for a row that does not have its checksum.
    """

    @property
    def version(self) -> int:
        """Return what the last change before this snapshot has made the store's version."""

    def get(self, table: _Table, key: bytes, /) -> bytes | None:
        """Return the value at `key`, None when there is none."""

    def view(self, table: _Table, key: bytes, /) -> bytes | memoryview | None:
        """Return the value at `key` without a copy where that can be; it is good as long as the snapshot.

        To copy a large value costs more than to look something up in it, mostly because it is not in the
        processor's cache. A writer returns a copy. While a view exists the map cannot grow.
        """

    def missing(self, table: _Table, key: bytes, /) -> DamagedRowError:
        """Return the error of a row that must be there and is not found, which counts as damaged."""

    def cursor(self, table: _Table, /) -> Cursor:
        """Return a cursor that stands nowhere yet."""

    def entries(self, table: _Table, /) -> int:
        """Return how many entries the table has."""

    def check_rows(
        self, table: _Table, progress: Callable[[int, int], object], damaged: Callable[[bytes], object], /
    ) -> None:
        """Check the checksum of each row of a table; a damaged page ends it.

        `progress` gets how many of how many rows were checked, after each 4,096 and the last; `damaged` gets
        the key of each damaged row, or the last key before a damaged page. Neither may use this snapshot.
        """

    def close(self) -> None:
        """End the snapshot; a second time does nothing. A writer's change goes on."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Writer(Reader):
    """The one change of a file, invisible to all others until it is committed.

    Only the thread that runs the change may use it, or a cursor of it; any other raises StoreError. All
    methods raise SnapshotLostError once the change has ended.
    """

    def put(self, table: _Table, key: bytes, value: bytes, /) -> None:
        """Set the value at `key`."""

    def append(self, table: _Table, key: bytes, value: bytes, /) -> None:
        """Set the value at `key`, which is greater than every key of the table.

        Raises:
            StoreError: It is not.
        """

    def put_new(self, table: _Table, entries: Iterable[tuple[bytes, bytes]], /) -> int:
        """Set the values of those keys that have none yet; return how many these were."""

    def delete(self, table: _Table, key: bytes, /) -> bool:
        """Remove the entry at `key`; false when there was none."""

    def clear(self, table: _Table, /) -> None:
        """Remove all entries of a table."""

    def pop(self, table: _Table, key: bytes, /) -> bytes | None:
        """Remove and return the value at `key`, None when there was none."""

@final
class Cursor:
    """Stands at an entry of one table, of which it keeps a copy, or before the first or after the last.

    Good as long as its snapshot, whose errors it raises. One thread at a time.
    """

    def set_range(self, key: bytes, /) -> bool:
        """Go to the first entry whose key is not less than `key`; false when there is none."""

    def next(self) -> bool:
        """Go to the next entry, from nowhere to the first one; false when there is none."""

    def prev(self) -> bool:
        """Go to the entry before, from nowhere to the last one; false when there is none."""

    def last(self) -> bool:
        """Go to the last entry; false when the table is empty."""

    def key(self) -> bytes:
        """Return the key of the entry, empty where the cursor stands at none."""

    def value(self) -> bytes:
        """Return the value of the entry, empty where the cursor stands at none."""

    def item(self) -> tuple[bytes, bytes]:
        """Return key and value of the entry, both empty where the cursor stands at none."""

def release_free_pages(path: Path, /) -> int:
    """Give the free pages of the file in the folder `path` back to the file system; return how many bytes.

    They become holes, which take no space on the disk and are filled when the file grows again. Pages of an
    older version that some process reads stay. Nothing is done while this process has the file open, and
    where the file system knows no holes (`fallocate(2)`). Writers wait meanwhile, for milliseconds. Releases
    the interpreter's lock.

    Raises:
        StoreError: There is no such file, or LMDB refuses.
    """

def inspect_pages(
    path: Path, /
) -> tuple[int, int, int, int, list[tuple[str, int, int]], list[tuple[int, int]]]:
    """Return what the pages of the file in the folder `path` are used for, and who reads it.

    Page size in bytes, pages up to the last used one, free pages, and the version; name, entries and pages of
    each table, and of LMDB's own trees `(tables)` and `(free)`; process and version of each open snapshot of
    other processes. The two meta pages are counted in the pages only. Releases the interpreter's lock.

    Raises:
        StoreError: There is no such file, this process has it open, or LMDB refuses.
    """
