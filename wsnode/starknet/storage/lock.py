"""The lock that allows one writer for each folder."""

import fcntl
import os
from pathlib import Path

from wsnode.starknet.errors import BusyError


class WriterLock:
    """Held from construction to `close`, or until the process ends."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            BusyError: Another process has it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise BusyError(path.parent) from None

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)
