"""The folder of a chain: where its parts lie, its genesis, and the lock of its one writer."""

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
"""The name of a chain's folder in that of its network."""
DEMO = "wsnode demo"
MAKERS = (DEMO, "wsnode dev")
"""Commands that put their name into the extra data of their chains' genesis."""
IMPORT = "wsnode import eth"


MOST_GENESIS_BYTES: Final = 1 << 30
"""Of a genesis file; one with the accounts of a whole chain has hundreds of megabytes."""


class _Genesis(msgspec.Struct, rename="camel"):
    extra_data: Any = None


class ChainFolder(msgspec.Struct, frozen=True):
    """`DATA/eth`."""

    path: Path

    @property
    def chain(self) -> Path:
        """Return where the chain store lies."""
        return self.path / "chain"

    @property
    def state(self) -> Path:
        """Return where the EVM state lies."""
        return self.path / "state"

    @property
    def genesis(self) -> Path:
        """Return where the text of the genesis lies."""
        return self.path / "genesis.json"

    def read_genesis(self) -> bytes:
        """Return the genesis as it was first given.

        Raises:
            NoChainError: when none ever was.
            OSError: It cannot be read, or is no file.
        """
        try:
            return read_file(self.genesis, MOST_GENESIS_BYTES)
        except FileNotFoundError:
            raise NoChainError(self.path) from None

    def keep_genesis(self, text: bytes, *, durable: bool) -> None:
        """Write the genesis whole or not at all; if it is to be `durable`, it is on the disk then.

        Raises:
            OSError: It cannot be written; names the file.
        """
        draft = self.genesis.with_suffix(".draft")
        with _named(draft), open(draft, "wb", opener=private) as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(self.genesis)

    def maker(self) -> str:
        """Return the command that made the chain: a development chain's genesis names it."""
        extra = msgspec.json.decode(self.read_genesis(), type=_Genesis).extra_data
        return next((name for name in MAKERS if extra == f"0x{name.encode().hex()}"), IMPORT)

    def release_free_pages(self) -> None:
        """Give what neither store needs any more back to the file system, once this process has closed them.

        Nothing is done where another process has begun to write: it uses them again.

        Raises:
            OSError: The lock file cannot be written.
            StoreError: A store is missing, or LMDB refuses.
        """
        with suppress(ChainBusyError), self.lock():
            for store in (self.chain, self.state):
                release_free_pages(store)

    def lock(self) -> IO[str]:
        """Return the lock file, locked until it is closed or the process ends, however it ends.

        Raises:
            ChainBusyError: when another process holds it.
            OSError: when it cannot be written; names the file.
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
                # Past the buffer, which would be written once more when the file is closed.
                os.write(file.fileno(), str(os.getpid()).encode())
        except OSError:
            file.close()
            raise
        return file


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have failures to write to an open file name it, as those to open it do."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
