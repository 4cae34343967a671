"""Starknet chain of one data folder, and the lock that allows it one writer."""

import fcntl
import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from wsnode.starknet.block import VerifiedStarknetBlock
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.errors import BusyError, StarknetError
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.followed import FollowedState
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import (
    CHAIN_ID_KEY,
    FIRST_BLOCK_KEY,
    HISTORIES,
    META,
    SCHEMA,
    SCHEMA_KEY,
    TABLES,
    WHOLE_STATE_KEY,
    WINDOW_KEY,
    number_key,
)
from wsnode.starknet.storage.writing import (
    prune_first_block,
    put_block,
    put_block_below,
    put_class,
    remove_blocks_above,
)
from wsnode.store import environment
from wsnode.store.environment import DamagedRowError, Environment, Reader, Writer
from wsnode.store.private import FILE_MODE, make_private_folder
from wsnode.untrusted.files import open_regular


class WriterLock:
    """Exclusive lock of a file, held from construction to `close` or to the end of the process."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            BusyError: Another process has it.
            OSError: It cannot be opened, or is no file.
        """
        make_private_folder(path.parent)
        self._file = open_regular(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise BusyError(path.parent) from None

    def close(self) -> None:
        os.close(self._file)


FOLDER: Final = "alt"
# A dump does not name its network; the first block's hash identifies it.
KNOWN_CHAINS: Final = {
    felt_bytes("0x47c3637b57c2b079b93c61539950c17e868a28f46cdef28f88521067f21e943"): "SN_MAIN",
    felt_bytes("0x5c627d4aeb51280058bed93c7889bce78114d63baad1be0f0aeb32496d5f19c"): "SN_SEPOLIA",
}


class StarknetChain:
    """Store of one Starknet chain: its blocks up to the head, the state after each, and their classes."""

    def __init__(self, store: Environment, lock: WriterLock | None, folder: Path) -> None:
        self.store = store
        self._lock = lock
        self.folder = folder
        self.followed: FollowedState | None = None
        """State besides the blocks; None unless this process follows other nodes."""

    @classmethod
    def open(cls, data: Path, *, writer: bool) -> "StarknetChain":
        """Return the chain in `data/alt`; a writer creates it when there is none.

        Raises:
            StarknetError: There is no chain, another process writes it, or its layout is unknown.
            StoreError: The file cannot be read.
        """
        folder = data / FOLDER
        if not writer and not (folder / "chain").is_dir():
            raise StarknetError(f"{folder}: no Starknet chain here; `wsnode import alt` makes one")
        lock = WriterLock(folder / "lock") if writer else None
        # Another layout may lack tables, so the layout's number is read before these tables are opened.
        with closing(Environment(folder / "chain", (META,), writer=writer)) as store:
            _check_schema(store, folder, writer=writer)
        return cls(Environment(folder / "chain", TABLES, writer=writer), lock, folder / "chain")

    @property
    def written_elsewhere(self) -> Path | None:
        """Return the folder of the store if another process may write it, None in the writer."""
        return self.folder if self._lock is None else None

    def require_usable(self) -> None:
        """Check that the store's file is in its place and accepted by LMDB.

        Raises:
            StoreMovedError: The file was deleted, moved or replaced.
            StoreFailedError: A write of the file failed, and it cannot be opened again.
            DamagedRowError: A read has met a damaged row.
        """
        self.store.require_usable()
        self.store.require_undamaged()

    @property
    def damaged(self) -> int:
        """Return the number of reads of this process that met a damaged row."""
        return self.store.damaged

    @property
    def version(self) -> int:
        with self.store.read() as reader:
            return reader.version

    def snapshot(self, caller: object = None) -> StarknetSnapshot:
        """Return a snapshot of the chain; results have the specification's version of the caller's path."""
        return StarknetSnapshot(self.store.read(), getattr(caller, "rpc_version", None), self.followed)

    def reader(self) -> Reader:
        return self.store.read()

    def begin(self, first_block: int, chain_id: str | None) -> None:
        """Store the number of an empty chain's first block, and its name if known."""

        def change(writer: Writer) -> None:
            writer.put(META, FIRST_BLOCK_KEY, number_key(first_block))
            if chain_id:
                writer.put(META, CHAIN_ID_KEY, chain_id.encode())

        self.store.write(change)

    def keep_window(self, window: int) -> None:
        """Store that only the last `window` blocks are kept from now on, and the whole state."""

        def change(writer: Writer) -> None:
            writer.put(META, WINDOW_KEY, number_key(window))
            writer.put(META, WHOLE_STATE_KEY, b"1")

        self.store.write(change)

    def append(
        self,
        blocks: Sequence[VerifiedStarknetBlock],
        classes: Sequence[ContractClass],
        *,
        after: int | None = None,
    ) -> None:
        """Add the next blocks and classes, in one transaction.

        With `after` they replace the blocks above that number. The classes of replaced blocks stay; no
        reader sees an intermediate state.
        """

        def change(writer: Writer) -> None:
            if after is not None:
                remove_blocks_above(writer, after)
            for found in classes:
                put_class(writer, found)
            for block in blocks:
                put_block(writer, block)
                if block.number == 0 and (name := KNOWN_CHAINS.get(block.hash)):
                    writer.put(META, CHAIN_ID_KEY, name.encode())

        self.store.write(change)

    def prepend(self, blocks: Sequence[VerifiedStarknetBlock], classes: Sequence[ContractClass]) -> None:
        """Add the blocks below the first one, highest first, and their classes, in one transaction."""

        def change(writer: Writer) -> None:
            for found in classes:
                put_class(writer, found)
            for block in blocks:
                put_block_below(writer, block)

        self.store.write(change)

    def prune(self, first: int) -> None:
        """Remove the blocks below `first`, in one transaction."""
        with self.snapshot() as view:
            lowest = view.first_block

        def change(writer: Writer) -> None:
            for number in range(lowest, first):
                prune_first_block(writer, number)

        self.store.write(change)

    def begin_with(
        self,
        blocks: Sequence[VerifiedStarknetBlock],
        classes: Sequence[ContractClass],
        chain_id: str,
        window: int,
    ) -> None:
        """Make `blocks`, lowest first, the only blocks of a light folder of the last `window` blocks.

        All earlier blocks are removed, with the state after each; classes stay.
        """

        def change(writer: Writer) -> None:
            remove_blocks_above(writer, -1)
            for table in HISTORIES:
                writer.clear(table)
            writer.put(META, FIRST_BLOCK_KEY, number_key(blocks[0].number))
            writer.put(META, CHAIN_ID_KEY, chain_id.encode())
            writer.put(META, WINDOW_KEY, number_key(window))
            for found in classes:
                put_class(writer, found)
            for block in blocks:
                put_block(writer, block)

        self.store.write(change)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let other writers in."""
        self.store.close()
        if self._lock is not None:
            self._lock.close()


def _check_schema(store: Environment, folder: Path, *, writer: bool) -> None:
    """Check that the store has the layout of this release; a writer records it in a new store.

    Raises:
        StarknetError: The layout is another one.
    """
    try:
        with store.read() as reader:
            schema = reader.get(META, SCHEMA_KEY)
    except DamagedRowError:
        # Older versions wrote no checksums, so each of their rows counts as damaged.
        raise _unknown_schema(folder, "older, or damaged") from None
    if schema is None and writer:
        store.write(lambda transaction: transaction.put(META, SCHEMA_KEY, SCHEMA))
    elif schema != SCHEMA:
        raise _unknown_schema(folder, (schema or b"none").decode())


def _unknown_schema(folder: Path, found: str) -> StarknetError:
    known = SCHEMA.decode()
    return StarknetError(f"{folder}: its layout is {found}, this version knows {known}: import again")


def release_free_pages(data: Path) -> None:
    """Give the free pages of the chain in `data/alt` back to the file system; it must be closed here.

    Nothing is done if another process has begun to write, since it uses free pages again.

    Raises:
        StoreError: There is no chain, or LMDB refuses.
    """
    folder = data / FOLDER
    with suppress(BusyError), closing(WriterLock(folder / "lock")):
        environment.release_free_pages(folder / "chain")
