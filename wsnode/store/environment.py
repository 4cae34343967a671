"""One LMDB file: snapshots to read from, and write transactions as single function calls."""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import disk_usage
from types import TracebackType
from typing import Final, Self, TypeVar

import lmdb

from wsnode.store.errors import DiskFullError, SnapshotLostError, StoreError
from wsnode.store.table import Cursor, Table

# Addresses, not memory or disk: the file grows only with what is written.
MAP_SIZE: Final = 1 << 38
MAX_READERS: Final = 1024
_FULL_DISK: Final = 1 << 20

T = TypeVar("T")


class Reader:
    """A snapshot of all tables; close it soon, since it keeps the pages it sees from being reused."""

    __slots__ = ("_environment", "_get", "_handles", "_transaction", "_view", "_viewing")

    def __init__(
        self,
        transaction: "lmdb.Transaction[bytes]",
        handles: "dict[Table, lmdb._Database]",
        environment: lmdb.Environment | None = None,
    ) -> None:
        self._transaction = transaction
        self._get = transaction.get
        self._handles = handles
        self._environment = environment
        self._view: Callable[..., bytes | memoryview | None] | None = None
        self._viewing: lmdb.Transaction[memoryview] | None = None

    @property
    def version(self) -> int:
        """Return what the last change before this snapshot has made the store's version."""
        return self._transaction.id()

    def get(self, table: Table, key: bytes) -> bytes | None:
        """Return the value at `key`, None when there is none."""
        try:
            return self._get(key, None, self._handles[table])
        except lmdb.Error as error:
            raise _translated(error) from error

    def view(self, table: Table, key: bytes) -> bytes | memoryview | None:
        """Return the value at `key`, None when there is none; it is good until the snapshot is closed.

        To copy a large value costs more than to look something up in it, mostly because it is not in the
        processor's cache.
        """
        try:
            view = self._view or self._begin_viewing()
            return view(key, None, self._handles[table])
        except lmdb.Error as error:
            raise _translated(error) from error

    def _begin_viewing(self) -> "Callable[..., bytes | memoryview | None]":
        self._view = self._get
        if self._environment is None:
            return self._view
        # A transaction gives copies or views, never both; another one sees the same if nobody has committed
        # since this one began. Where that fails, copies will do.
        with suppress(lmdb.Error):
            viewing = self._environment.begin(buffers=True)
            if viewing.id() == self._transaction.id():
                self._viewing, self._view = viewing, viewing.get
            else:
                viewing.abort()
        return self._view

    def cursor(self, table: Table) -> Cursor:
        """Return a cursor that stands nowhere yet."""
        try:
            return self._transaction.cursor(self._handles[table])
        except lmdb.Error as error:
            raise _translated(error) from error

    def entries(self, table: Table) -> int:
        """Return how many entries the table has."""
        return self._transaction.stat(self._handles[table])["entries"]

    def close(self) -> None:
        """End the snapshot; a second time does nothing."""
        self._transaction.abort()
        if self._viewing is not None:
            self._viewing.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Writer(Reader):
    """The one write transaction of a file, seen by nobody else until it ends well."""

    __slots__ = ()

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        """Set the value at `key`."""
        self._transaction.put(key, value, db=self._handles[table])

    def append(self, table: Table, key: bytes, value: bytes) -> None:
        """Set the value at `key`, which is greater than every key of the table.

        Raises:
            StoreError: when it is not.
        """
        # Pages filled in order stay full; a plain put leaves them half empty.
        if not self._transaction.put(key, value, append=True, db=self._handles[table]):
            raise StoreError(f"{table.name}: key {key.hex()} is not beyond the last one")

    def put_new(self, table: Table, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Set the values of those keys that have none yet; return how many these were."""
        with self._transaction.cursor(self._handles[table]) as cursor:
            return cursor.putmulti(entries, overwrite=False)[1]

    def delete(self, table: Table, key: bytes) -> bool:
        """Remove the entry at `key`; false when there was none."""
        return self._transaction.delete(key, db=self._handles[table])

    def pop(self, table: Table, key: bytes) -> bytes | None:
        """Remove and return the value at `key`, None when there was none."""
        return self._transaction.pop(key, db=self._handles[table])


class Environment:
    """An open LMDB file of named tables. One process writes, any number read beside it.

    With `durable` each write is on the disk when it returns; without, at the next `sync`, and a power
    failure (not a killed process) before that may cost the file.
    """

    def __init__(
        self,
        path: Path,
        tables: Sequence[Table],
        *,
        writer: bool,
        durable: bool = True,
        map_size: int = MAP_SIZE,
    ) -> None:
        if writer:
            path.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._translating():
            self._environment = lmdb.Environment(
                str(path),
                map_size=map_size,
                max_dbs=len(tables),
                max_readers=MAX_READERS,
                max_spare_txns=4,
                readonly=not writer,
                create=writer,
                sync=durable,
                readahead=False,
            )
            self._environment.reader_check()
            self._handles = {
                table: self._environment.open_db(table.name.encode(), create=writer) for table in tables
            }

    def read(self) -> Reader:
        """Return a snapshot of what is committed now, by any process."""
        try:
            return Reader(self._environment.begin(), self._handles, self._environment)
        except lmdb.MapResizedError:
            self._environment.set_mapsize(0)
            return Reader(self._environment.begin(), self._handles, self._environment)
        except lmdb.Error as error:
            raise _translated(error) from error

    def write(self, change: Callable[[Writer], T]) -> T:
        """Return what `change` returned, once all that it wrote is committed, or nothing of it is.

        `change` may be called again from the start when the map has to grow, so it touches only the store.
        """
        while True:
            try:
                with self._translating(), self._environment.begin(write=True) as transaction:
                    return change(Writer(transaction, self._handles))
            except _MapTooSmallError as small:
                self._environment.set_mapsize(0 if small.by_another else 2 * self.map_size)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except lmdb.MapFullError as error:
            raise _MapTooSmallError(by_another=False) from error
        except lmdb.MapResizedError as error:
            raise _MapTooSmallError(by_another=True) from error
        except lmdb.Error as error:
            raise _translated(error, self._path) from error

    @property
    def map_size(self) -> int:
        """How far the file can grow before its map has to."""
        return self._environment.info()["map_size"]

    def sync(self) -> None:
        """Return when all committed changes are on the disk."""
        with self._translating():
            self._environment.sync(True)

    def close(self) -> None:
        """Close the file; snapshots still open end with it."""
        self._environment.close()


class _MapTooSmallError(Exception):
    def __init__(self, *, by_another: bool) -> None:
        super().__init__()
        self.by_another = by_another


def _translated(error: lmdb.Error, path: Path | None = None) -> StoreError:
    text = f"{path}: {error}" if path else str(error)
    if "closed/deleted/dropped" in text:
        return SnapshotLostError(text)
    # LMDB calls a write that the file system cut short an input/output error.
    if path is not None and error.code in (errno.ENOSPC, errno.EIO) and disk_usage(path).free < _FULL_DISK:
        return DiskFullError(f"{path}: no space is left on the disk")
    return StoreError(text)
