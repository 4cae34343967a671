"""Free pages are given back to the file system, and nothing else is."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.store.disk_space import disk_bytes
from wsnode.store.environment import Environment, StoreError, Writer, release_free_pages
from wsnode.store.table import Table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes holes in files")

ENTRIES = Table("entries")
SIZE = 1000
COUNT = 2000
READER = """
import sys
from pathlib import Path
from wsnode.store.environment import Environment
from wsnode.store.table import Table
entries = Table("entries")
reader = Environment(Path(sys.argv[1]), [entries], writer=False).read()
print("reading", flush=True)
for line in sys.stdin:
    found = [reader.get(entries, number.to_bytes(4, "big")) for number in range(int(line))]
    print(all(value == bytes([number % 251]) * 1000 for number, value in enumerate(found)), flush=True)
"""
NARROW = """
import resource
import sys
from pathlib import Path
from wsnode.store.environment import release_free_pages
resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
print(release_free_pages(Path(sys.argv[1])))
"""
"""Has less address space than a writer gives a file."""


def change(folder: Path, values: dict[int, bytes | None]) -> None:
    def put(writer: Writer) -> None:
        for number, value in values.items():
            key = number.to_bytes(4, "big")
            if value is None:
                writer.delete(ENTRIES, key)
            else:
                writer.put(ENTRIES, key, value)

    with closing(Environment(folder, [ENTRIES], writer=True, durable=False)) as store:
        store.write(put)


def content(folder: Path) -> dict[int, bytes]:
    found = {}
    with closing(Environment(folder, [ENTRIES], writer=False)) as store, store.read() as reader:
        cursor = reader.cursor(ENTRIES)
        while cursor.next():
            found[int.from_bytes(cursor.key(), "big")] = cursor.value()
    return found


def value_of(number: int) -> bytes:
    return bytes([number % 251]) * SIZE


def filled(folder: Path) -> None:
    change(folder, {number: value_of(number) for number in range(COUNT)})


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def reading_elsewhere(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", READER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert said(process) == "reading\n"
        yield process


def test_what_was_deleted_takes_no_space(tmp_path: Path) -> None:
    filled(tmp_path)
    before = disk_bytes(tmp_path)
    change(tmp_path, dict.fromkeys(range(1, COUNT)))
    freed = release_free_pages(tmp_path)
    assert freed > COUNT * SIZE
    assert disk_bytes(tmp_path) <= before - COUNT * SIZE
    assert content(tmp_path) == {0: value_of(0)}


def test_a_second_time_there_is_no_more_to_take(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, dict.fromkeys(range(COUNT)))
    release_free_pages(tmp_path)
    once = disk_bytes(tmp_path)
    release_free_pages(tmp_path)
    assert disk_bytes(tmp_path) == once


def test_holes_are_filled_again(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, dict.fromkeys(range(COUNT)))
    # LMDB uses no page that the last change has freed.
    change(tmp_path, {COUNT: value_of(COUNT)})
    release_free_pages(tmp_path)
    size = (tmp_path / "data.mdb").stat().st_size
    filled(tmp_path)
    assert content(tmp_path) == {number: value_of(number) for number in range(COUNT + 1)}
    assert (tmp_path / "data.mdb").stat().st_size < 1.1 * size


def test_a_version_that_another_process_reads_stays(tmp_path: Path) -> None:
    filled(tmp_path)
    with reading_elsewhere(tmp_path) as process:
        change(tmp_path, dict.fromkeys(range(COUNT)))
        assert release_free_pages(tmp_path) < COUNT * SIZE // 10
        assert process.stdin is not None
        print(COUNT, file=process.stdin, flush=True)
        assert said(process) == "True\n"
    assert release_free_pages(tmp_path) > COUNT * SIZE


def test_a_killed_reader_keeps_nothing(tmp_path: Path) -> None:
    filled(tmp_path)
    with reading_elsewhere(tmp_path) as process:
        change(tmp_path, dict.fromkeys(range(COUNT)))
        process.kill()
        process.wait()
        assert release_free_pages(tmp_path) > COUNT * SIZE


def test_nothing_is_done_to_a_file_that_this_process_has_open(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, dict.fromkeys(range(COUNT)))
    before = disk_bytes(tmp_path)
    with closing(Environment(tmp_path, [ENTRIES], writer=False)):
        assert release_free_pages(tmp_path) == 0
    assert disk_bytes(tmp_path) == before


def test_a_file_whose_map_would_not_fit_is_done_too(tmp_path: Path) -> None:
    filled(tmp_path)
    change(tmp_path, dict.fromkeys(range(COUNT)))
    ended = subprocess.run(
        [sys.executable, "-c", NARROW, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert int(ended.stdout) > COUNT * SIZE


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="absent"):
        release_free_pages(tmp_path / "absent")
    with pytest.raises(StoreError, match="No such file"):
        release_free_pages(tmp_path)
    assert list(tmp_path.iterdir()) == []


KEYS = some.integers(0, 300)
VALUES = some.none() | some.integers(1, 9000).map(bytes)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(some.lists(some.dictionaries(KEYS, VALUES, min_size=1), min_size=1, max_size=6))
def test_no_value_changes_whatever_was_written(changes: list[dict[int, bytes | None]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, expected = Path(name), dict[int, bytes | None]()
        for values in changes:
            change(folder, values)
            release_free_pages(folder)
            expected.update(values)
            assert content(folder) == {
                number: value for number, value in expected.items() if value is not None
            }
