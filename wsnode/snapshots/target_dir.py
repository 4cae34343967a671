"""Folders that are being filled: by one process at a time, and on the disk before anything counts."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from wsnode.snapshots.errors import FolderBusyError, FolderNotEmptyError
from wsnode.store.private import make_private_folder, private

OF_THE_FILE_SYSTEM: Final = "lost+found"
"""What an empty volume may hold."""
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def claimed(folder: Path, is_left_over: Callable[[str], bool]) -> Iterator[list[Path]]:
    """Have a folder to be filled for oneself, made if absent; yield what an unfinished attempt left in it.

    Raises:
        FolderNotEmptyError: It holds something else.
        FolderBusyError: Another process has claimed it.
        OSError: What is done to it meanwhile fails; it is named if there is no room in it.
    """
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(folder, descriptor)
        yield _left_over(folder, is_left_over)
    except OSError as error:
        if error.errno in FULL:
            # A file that is open fails without its name.
            error.filename = error.filename or str(folder)
        raise
    finally:
        os.close(descriptor)


def _lock(folder: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FolderBusyError(folder) from None


def _left_over(folder: Path, is_left_over: Callable[[str], bool]) -> list[Path]:
    found = [path for path in sorted(folder.iterdir()) if path.name != OF_THE_FILE_SYSTEM]
    for path in found:
        if not is_left_over(path.name):
            raise FolderNotEmptyError(folder, path.name)
    return found


def sync_folder(folder: Path) -> None:
    """Return once the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file whole or not at all; it is on the disk then."""
    draft = file.with_name(f"{file.name}.part")
    with open(draft, "wb", opener=private) as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    sync_folder(file.parent)
