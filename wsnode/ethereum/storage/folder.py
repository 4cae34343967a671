"""The folder of a chain: where its parts lie, its genesis, and the lock of its one writer."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from wsnode.ethereum.storage.errors import ChainBusyError, NoChainError, OtherConfigurationError
from wsnode.store.environment import release_free_pages

FOLDER: Final = "eth"
"""The name of a chain's folder in that of its network."""
MAKERS = ("wsnode demo", "wsnode dev")
"""Commands that put their name into the extra data of their chains' genesis."""
IMPORT = "wsnode import eth"


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
        """
        try:
            return self.genesis.read_bytes()
        except FileNotFoundError:
            raise NoChainError(self.path) from None

    def keep_genesis(self, text: bytes, *, durable: bool) -> None:
        """Write the genesis whole or not at all; if it is to be `durable`, it is on the disk then.

        Raises:
            OSError: It cannot be written; names the file.
        """
        draft = self.genesis.with_suffix(".draft")
        with _named(draft), draft.open("wb") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(self.genesis)

    def maker(self) -> str:
        """Return the command that made the chain: a development chain's genesis names it."""
        extra = str(msgspec.json.decode(self.read_genesis()).get("extraData", ""))
        return next((name for name in MAKERS if extra == f"0x{name.encode().hex()}"), IMPORT)

    def require_configuration(self, text: bytes) -> None:
        """Refuse a genesis whose fork schedule is not the stored one's.

        Raises:
            OtherConfigurationError: when it differs.
        """
        if _configuration(text) != _configuration(self.read_genesis()):
            raise OtherConfigurationError(self.path)

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
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / "lock"
        file = path.open("a+")
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


def _configuration(genesis: bytes) -> Any:
    return msgspec.json.decode(genesis).get("config")
