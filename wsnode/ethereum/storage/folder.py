"""Folder of a chain: paths of its parts, its genesis file, and the lock of its only writer."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from wsnode.ethereum.storage.errors import ChainBusyError, NoChainError
from wsnode.store.environment import release_free_pages
from wsnode.store.private import FILE_MODE, make_private_folder, private
from wsnode.untrusted.files import open_regular, read_file

FOLDER: Final = "eth"
"""Name of a chain's folder in the data folder of its network."""
DEMO = "wsnode demo"
MAKERS = (DEMO, "wsnode dev")
"""Commands that write their name into `extraData` of the genesis of their chains."""
IMPORT = "wsnode import eth"


MAX_GENESIS_BYTES: Final = 1 << 30
"""Maximum bytes of a genesis file; with the accounts of a whole chain it has hundreds of megabytes."""


class _Genesis(msgspec.Struct, rename="camel"):
    extra_data: Any = None


class ChainFolder(msgspec.Struct, frozen=True):
    """Folder of an Ethereum chain, `DATA/eth`: paths of its stores, its genesis file, and its lock."""

    path: Path

    @property
    def chain(self) -> Path:
        return self.path / "chain"

    @property
    def proved(self) -> Path:
        """Return the path of the folder with values of states that are known by proofs."""
        return self.path / "proved"

    @property
    def genesis(self) -> Path:
        return self.path / "genesis.json"

    def read_genesis(self) -> bytes:
        """Return the bytes of the genesis file.

        Raises:
            NoChainError: There is no genesis file.
            OSError: It cannot be read, or is no regular file.
        """
        try:
            return read_file(self.genesis, MAX_GENESIS_BYTES)
        except FileNotFoundError:
            raise NoChainError(self.path) from None

    def keep_genesis(self, text: bytes, *, durable: bool) -> None:
        """Replace the genesis file as a whole; if `durable`, its new content is synced first.

        Raises:
            OSError: The file cannot be written; the error names it.
        """
        draft = self.genesis.with_suffix(".draft")
        with _named(draft), open(draft, "wb", opener=private) as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(self.genesis)

    def maker(self) -> str:
        """Return the command that made the chain, by `extraData` of its genesis, `IMPORT` by default."""
        extra = msgspec.json.decode(self.read_genesis(), type=_Genesis).extra_data
        return next((name for name in MAKERS if extra == f"0x{name.encode().hex()}"), IMPORT)

    def release_free_pages(self) -> None:
        """Return free pages of the store to the file system, after this process has closed the store.

        Nothing is done if another process writes to the folder: it reuses the pages.

        Raises:
            OSError: The lock file cannot be written.
            StoreError: The store is missing, or LMDB cannot open it.
        """
        with suppress(ChainBusyError), self.lock():
            release_free_pages(self.chain)

    def lock(self) -> IO[str]:
        """Return the lock file, locked until it is closed or the process ends, however it ends.

        Raises:
            ChainBusyError: Another process holds the lock.
            OSError: The lock file cannot be written; the error names it.
        """
        make_private_folder(self.path)
        path = self.path / "lock"
        file = os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE), "a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise ChainBusyError(self.path, owner) from None
        try:
            with _named(path):
                file.truncate(0)
                # `os.write` bypasses the file's buffer, which would be written once more when the file is
                # closed.
                os.write(file.fileno(), str(os.getpid()).encode())
        except OSError:
            file.close()
            raise
        return file


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add `path` to errors of writing to an open file, as errors of opening it have."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
