"""Lock that allows one writer for each folder."""

import fcntl
import os
from pathlib import Path

from wsnode.starknet.errors import BusyError
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
