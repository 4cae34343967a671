"""Files that lie where others can put something else."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from wsnode.untrusted.files import (
    IrregularFileError,
    OversizedFileError,
    open_for_reading,
    open_regular,
    read_file,
)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"), [(os.mkfifo, "a pipe"), (os.mkdir, "a folder"), (make_socket, "a socket")]
)
def test_what_is_no_file_is_refused_and_not_waited_for(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    path = tmp_path / "it"
    make(path)
    for use in (open_regular, open_for_reading, lambda path: read_file(path, 10)):
        with pytest.raises(IrregularFileError, match=f"it is {kind} and not a file"):
            use(path)


def test_a_pipe_is_refused_for_writing_too(tmp_path: Path) -> None:
    path = tmp_path / "it"
    os.mkfifo(path)
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(IrregularFileError, match="a pipe"):
            open_regular(path, flags)


def test_a_device_is_refused() -> None:
    with pytest.raises(IrregularFileError, match="a device"):
        read_file(Path("/dev/zero"), 10)


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"0123456789")
    assert read_file(path, 10) == b"0123456789"
    with pytest.raises(OversizedFileError, match="it has more than 9 bytes"):
        read_file(path, 9)


def test_what_is_not_there_is_said_as_ever(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "it", 10)


def test_a_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "it"
    os.close(open_regular(path, os.O_RDWR | os.O_CREAT))
    assert path.read_bytes() == b""
    assert path.stat().st_mode & 0o777 == 0o600
