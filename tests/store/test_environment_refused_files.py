"""What cannot be opened in a folder is named: the file, and why."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from wsnode.store.environment import Environment, StoreError
from wsnode.store.private import write_private
from wsnode.store.table import Table

ENTRIES = Table("entries")
OPENING = """
import sys
from pathlib import Path
from wsnode.store.environment import Environment
from wsnode.store.environment import StoreError
from wsnode.store.table import Table
try:
    Environment(Path(sys.argv[1]), [Table("entries")], writer=sys.argv[2] == "writer", durable=False)
except StoreError as error:
    print(error)
"""
LIMITED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root without the right to write where the mode of a folder forbids it."""
without_rights = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere"
)


def opened(folder: Path, *, writer: bool) -> str:
    """Return the error of another process that opens a store."""
    prefix = LIMITED if os.geteuid() == 0 else ()
    command = (*prefix, sys.executable, "-c", OPENING, str(folder), "writer" if writer else "reader")
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with closing(Environment(tmp_path / "store", [ENTRIES], writer=True, durable=False)):
        return tmp_path / "store"


@without_rights
def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(0o555)
    assert opened(folder, writer=True) == f"{folder}/lock.mdb: Permission denied (os error 13)"
    assert opened(folder / "new", writer=True) == f"{folder}/new: Permission denied (os error 13)"


@without_rights
@pytest.mark.parametrize(
    ("missing", "writer", "reason"),
    [
        ("data.mdb", True, "Permission denied (os error 13)"),
        ("data.mdb", False, "No such file or directory (os error 2)"),
        ("lock.mdb", True, "Permission denied (os error 13)"),
    ],
)
def test_a_missing_file_of_a_folder_that_cannot_be_written_is_named(
    store: Path, missing: str, writer: bool, reason: str
) -> None:
    (store / missing).unlink()
    store.chmod(0o555)
    assert opened(store, writer=writer) == f"{store}/{missing}: {reason}"


@without_rights
@pytest.mark.parametrize(("name", "writer"), [("data.mdb", True), ("data.mdb", False), ("lock.mdb", True)])
def test_a_file_that_cannot_be_opened_is_named(store: Path, name: str, writer: bool) -> None:
    (store / name).chmod(0o000)
    assert opened(store, writer=writer) == f"{store}/{name}: Permission denied (os error 13)"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb"])
@pytest.mark.parametrize("writer", [True, False])
def test_what_is_no_file_is_refused_and_not_waited_for(
    store: Path, make: Callable[[Path], None], name: str, writer: bool
) -> None:
    (store / name).unlink()
    make(store / name)
    with pytest.raises(StoreError) as refused:
        Environment(store, [ENTRIES], writer=writer, durable=False)
    assert str(refused.value) == f"{store}/{name}: it is no regular file"


def test_a_private_file_is_not_written_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it")
    with pytest.raises(OSError, match=f"No such device or address: '{tmp_path}/it'"):
        write_private(tmp_path / "it", b"content")


def test_a_doorbell_that_is_a_pipe_keeps_no_change_waiting(store: Path) -> None:
    with closing(Environment(store, [ENTRIES], writer=True, durable=False)) as environment:
        environment.write(lambda writer: writer.put(ENTRIES, b"1", b"1"))
        (bell,) = {path.name for path in store.iterdir()} - {"data.mdb", "lock.mdb"}
        (store / bell).unlink()
        os.mkfifo(store / bell)
        environment.write(lambda writer: writer.put(ENTRIES, b"2", b"2"))
        assert environment.read().get(ENTRIES, b"2") == b"2"
