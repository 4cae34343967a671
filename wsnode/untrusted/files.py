"""Reading of files that others may have replaced: only regular files, within a bound of bytes."""

import errno
import os
import stat
from pathlib import Path
from typing import IO, Final

KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class IrregularFileError(OSError):
    """Error of a path at which there is no regular file: a pipe, for instance, would make its reader wait for
    ever.
    """

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind} and not a file", str(path))
        self.path, self.kind = path, kind


class OversizedFileError(OSError):
    """Error of a file with more bytes than its reader allows."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(errno.EFBIG, f"it has more than {most} bytes", str(path))
        self.path, self.most = path, most


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Return the descriptor of a regular file.

    A pipe does not block the call: it is opened without blocking, and refused.

    Raises:
        IrregularFileError: The path is no regular file.
        OSError: It cannot be opened.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError:
        # os.open fails for a socket, and for writing to a pipe without a reader: IrregularFileError then
        # names the kind of file.
        if path.exists():
            _require_regular(path, os.stat(path).st_mode)
        raise
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise IrregularFileError(path, next((kind for is_it, kind in KINDS if is_it(mode)), "something else"))


def open_for_reading(path: Path) -> IO[bytes]:
    """Return a regular file, open for reading bytes.

    Raises:
        IrregularFileError: The path is no regular file.
        OSError: It cannot be opened.
    """
    return os.fdopen(open_regular(path), "rb")


def read_file(path: Path, most: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        OversizedFileError: The file has more than `most` bytes.
        IrregularFileError: The path is no regular file.
        OSError: It cannot be read.
    """
    with open_for_reading(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OversizedFileError(path, most)
    return content
