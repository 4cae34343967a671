"""Target folders: filled by one process at a time, and synced to the disk."""

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
"""Folder that an empty volume may have."""
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def claimed(folder: Path, is_left_over: Callable[[str], bool]) -> Iterator[list[Path]]:
    """Lock a folder to fill, made if absent; yield the paths that an unfinished attempt left in it.

    Raises:
        FolderNotEmptyError: It has other contents.
        FolderBusyError: Another process has locked it.
        OSError: An operation on it fails; without room in it, the error names the folder.
    """
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(folder, descriptor)
        yield _left_over(folder, is_left_over)
    except OSError as error:
        if error.errno in FULL:
            # An error of a write to an open file names no file.
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
    """Write a file whole or not at all, and sync it to the disk."""
    draft = file.with_name(f"{file.name}.part")
    with open(draft, "wb", opener=private) as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    sync_folder(file.parent)
