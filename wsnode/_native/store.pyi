"""LMDB files of named tables of bytes: snapshots to read from, and one change at a time.

A table is any object with a `name`; an environment knows it by identity.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar, final

from typing_extensions import disjoint_base

_T = TypeVar("_T")

class _Table(Protocol):
    @property
    def name(self) -> str: ...

class StoreError(Exception):
    """Error of reading or writing a store; the text names the folder and the reason."""

class DiskFullError(StoreError):
    """Error of a change for which the file system has no room; the change was undone."""

class SnapshotLostError(StoreError):
    """Error of a snapshot that has ended, because it or the file was closed."""

class DamagedRowError(StoreError):
    """Error of a row with a wrong checksum, missing where one must be, or behind a damaged page.

    `table` is the table's name; `key` is empty if the page was met while entries were listed.
    """

    table: str
    key: bytes

class StoreMovedError(StoreError):
    """Error of an open file that was deleted, moved or replaced: writes to it would be lost."""

class StoreFailedError(StoreError):
    """Error of a file after a failed write of its meta page, until LMDB can open it again."""

class TooManySnapshotsError(StoreError):
    """Error of a snapshot beyond the 16,384 read transactions of all processes of a folder."""

@final
class Environment:
    """Open LMDB file of named tables. One process writes; any number read beside it.

    With `durable` each change is on the disk when `write` returns, without it at the next `sync`: a power
    failure (not a killed process) before that may destroy the file. `map_size` is the first size of the map
    in bytes, up to which the file grows; a larger file has a larger map. A writer creates the folder, the
    file and its tables.

    Raises:
        StoreError: The file is cut short; or it or a table is missing, and this is no writer; or LMDB cannot
            open it.
    """

    def __new__(
        cls, path: Path, tables: Sequence[_Table], *, writer: bool, durable: bool = True, map_size: int = ...
    ) -> Environment: ...
    def read(self) -> Reader:
        """Return a snapshot of the last commit by any process.

        All snapshots of one version share one of LMDB's read transactions, of which a folder has 16,384 for
        all its processes together.

        Raises:
            TooManySnapshotsError: No read transaction is left.
            StoreError: Another process has enlarged the file beyond the map, and the map could not grow
                because values in it were viewed for a second.
            SnapshotLostError: The file is closed.
        """

    def write(self, change: Callable[[Writer], _T], /) -> _T:
        """Call `change`, commit all its writes as one, and return its result.

        `change` runs in the calling thread, with the interpreter's lock; waiting for the turn, for another
        process and for the disk releases the lock. `change` may be called again from the start when the map
        has to grow, so it must touch only the store. Its exceptions are raised, and undo all its writes.

        Raises:
            DiskFullError: The file system is full.
            StoreMovedError: The file was deleted, moved or replaced.
            StoreFailedError: The file cannot be opened again after a failed write.
            StoreError: The map has to grow, but values in it were viewed for six seconds; or LMDB failed.
            SnapshotLostError: The file is closed.
        """

    def copy(self, descriptor: int) -> None:
        """Copy the last commit to the open file `descriptor`, as a store without free pages.

        If the file is a pipe, the call takes as long as the pipe's reader; until then the copied version
        keeps its pages from being reused. Releases the interpreter's lock.

        Raises:
            StoreError: The file cannot be written, or the pipe has no reader any more.
            SnapshotLostError: The store is closed.
        """

    def require_usable(self) -> None:
        """Check that the file is in its place and usable: open, or soon open again after a failed write.

        Raises:
            StoreMovedError: The file was deleted, moved or replaced; a change raises this too.
            StoreFailedError: The file cannot be opened again after a failed write.
            SnapshotLostError: The file is closed.
        """

    def require_undamaged(self) -> None:
        """Check that no read has met a damaged row since the file was opened.

        Raises:
            DamagedRowError: A read has; the error names the first damaged row.
            SnapshotLostError: The file is closed.
        """

    @property
    def damaged(self) -> int:
        """Return the number of reads of damaged rows since the file was opened."""

    @property
    def versions(self) -> int:
        """Return the number of versions of the file read by open snapshots of this process."""

    @property
    def map_size(self) -> int:
        """Return the size of the map in bytes, up to which the file can grow.

        Raises:
            SnapshotLostError: The file is closed.
        """

    def sync(self) -> None:
        """Flush all committed changes to the disk. Releases the interpreter's lock.

        Raises:
            SnapshotLostError: The file is closed.
            StoreError: The disk failed; a DiskFullError if it is full.
        """

    def close(self) -> None:
        """Close the file; snapshots still open are lost with it. A second time does nothing."""

@disjoint_base
class Reader:
    """Snapshot of all tables; close it soon, since it keeps its pages from being reused.

    Its methods raise SnapshotLostError once it has ended, StoreError for a table not given to the
    environment, and DamagedRowError for a row with a wrong checksum.
    """

    @property
    def version(self) -> int:
        """Return the version of the store in this snapshot: the number of the last change before it."""

    def get(self, table: _Table, key: bytes, /) -> bytes | None: ...
    def view(self, table: _Table, key: bytes, /) -> bytes | memoryview | None:
        """Return a view of the value at `key`, None if there is none; it is valid as long as the snapshot.

        A copy of a large value costs more than a look-up in it, mostly because it is not in the processor's
        cache. A writer returns a copy. While a view exists the map cannot grow.
        """

    def missing(self, table: _Table, key: bytes, /) -> DamagedRowError:
        """Record a missing row that must exist as damaged, and return the error for it."""

    def cursor(self, table: _Table, /) -> Cursor:
        """Return a cursor without a position."""

    def entries(self, table: _Table, /) -> int: ...
    def check_rows(
        self, table: _Table, progress: Callable[[int, int], object], damaged: Callable[[bytes], object], /
    ) -> None:
        """Check the checksum of each row of a table; a damaged page ends the check.

        `progress` is called with the number of checked rows and of all rows, after each 4,096 and the last.
        `damaged` is called with the key of each damaged row, or the last key before a damaged page. Neither
        may use this snapshot.
        """

    def close(self) -> None:
        """End the snapshot; a second call does nothing. A writer's change continues."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Writer(Reader):
    """Change of a file, invisible to others until it is committed; a file has one change at a time.

    Only the thread of the change may use it, or a cursor of it; another thread gets a StoreError. All methods
    raise SnapshotLostError once the change has ended.
    """

    def put(self, table: _Table, key: bytes, value: bytes, /) -> None: ...
    def append(self, table: _Table, key: bytes, value: bytes, /) -> None:
        """Set the value at `key`, which must be greater than every key of the table.

        Raises:
            StoreError: The table has `key` or a greater key.
        """

    def delete(self, table: _Table, key: bytes, /) -> bool:
        """Remove the entry at `key`; return false if there was none."""

    def clear(self, table: _Table, /) -> None: ...
    def pop(self, table: _Table, key: bytes, /) -> bytes | None: ...

@final
class Cursor:
    """Position in a table: at an entry, copied by the cursor, before the first entry, or after the last.

    A cursor is valid as long as its snapshot, and raises the snapshot's errors. One thread may use it at a
    time.
    """

    def set_range(self, key: bytes, /) -> bool:
        """Move to the first entry with `key` or a greater key; return false if there is none."""

    def next(self) -> bool:
        """Move to the next entry, from no position to the first one; return false if there is none."""

    def prev(self) -> bool:
        """Move to the entry before, from no position to the last one; return false if there is none."""

    def last(self) -> bool:
        """Move to the last entry; return false if the table is empty."""

    def key(self) -> bytes:
        """Return the key of the entry, empty if the cursor is at none."""

    def value(self) -> bytes:
        """Return the value of the entry, empty if the cursor is at none."""

    def item(self) -> tuple[bytes, bytes]:
        """Return key and value of the entry, both empty if the cursor is at none."""

def release_free_pages(path: Path, /) -> int:
    """Return the free pages of the file in the folder `path` to the file system, and return their bytes.

    The pages become holes, which take no space on the disk and are filled when the file grows again. Pages of
    older versions that some process reads stay. Nothing is done while this process has the file open, and
    where the file system has no holes (`fallocate(2)`). Writers wait meanwhile, for milliseconds. Releases
    the interpreter's lock.

    Raises:
        StoreError: There is no such file, or LMDB cannot open it.
    """

def inspect_pages(
    path: Path, /
) -> tuple[int, int, int, int, list[tuple[str, int, int]], list[tuple[int, int]]]:
    """Return the use of the pages of the file in the folder `path`, and the file's readers.

    The elements are: page size in bytes; number of pages up to the last used one; number of free pages;
    version; name, entries and pages of each table, and of LMDB's own trees `(tables)` and `(free)`; process
    id and version of each open snapshot of other processes. The two meta pages count only as pages. Releases
    the interpreter's lock.

    Raises:
        StoreError: There is no such file, this process has it open, or LMDB cannot open it.
    """
