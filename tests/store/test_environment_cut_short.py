"""Files that lack pages are refused, but not files that end before free pages."""

import os
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from wsnode.store.environment import Environment, StoreError, Writer
from wsnode.store.table import Table

PAGE = 4096
ENTRIES = Table("entries")
LAST_PAGE, VERSION = 16 + 24 + 2 * 48, 16 + 24 + 2 * 48 + 8
"""Where a meta page of LMDB has the number of the last page, and that of the change that wrote it."""


def change(folder: Path, *works: Callable[[Writer], None]) -> None:
    with closing(Environment(folder, [ENTRIES], writer=True, durable=False)) as store:
        for work in works:
            store.write(work)


def putting(count: int, size: int) -> Callable[[Writer], None]:
    def put(writer: Writer) -> None:
        for number in range(count):
            writer.put(ENTRIES, number.to_bytes(4, "big"), bytes(size))

    return put


def deleting(count: int) -> Callable[[Writer], None]:
    def delete(writer: Writer) -> None:
        for number in range(count):
            writer.delete(ENTRIES, number.to_bytes(4, "big"))

    return delete


def used(folder: Path) -> int:
    """The bytes that the last version's pages take, present or not."""
    content = (folder / "data.mdb").read_bytes()[: 2 * PAGE]
    metas = [
        (
            struct.unpack_from("=Q", content, start + VERSION),
            struct.unpack_from("=Q", content, start + LAST_PAGE),
        )
        for start in (0, PAGE)
    ]
    return int(max(metas)[1][0] + 1) * PAGE


def size(folder: Path) -> int:
    return (folder / "data.mdb").stat().st_size


def cut(folder: Path, kept: int) -> None:
    os.truncate(folder / "data.mdb", kept)


def is_whole(folder: Path) -> bool:
    """Open the store to read; anything but a whole file is refused by its name and its sizes."""
    try:
        Environment(folder, [ENTRIES], writer=False).close()
    except StoreError as error:
        sizes = f"it has {size(folder)} bytes and uses {used(folder)}; "
        if sizes not in str(error):
            raise
        return False
    return True


def test_a_new_file_and_a_filled_one_are_whole(tmp_path: Path) -> None:
    change(tmp_path)
    assert is_whole(tmp_path)
    change(tmp_path, putting(1000, 500), deleting(300))
    assert is_whole(tmp_path)


def test_a_file_that_lacks_a_used_page_is_not_however_little_is_missing(tmp_path: Path) -> None:
    change(tmp_path, putting(5000, 500))
    whole = size(tmp_path)
    assert used(tmp_path) == whole
    for kept in (whole - 1, whole - PAGE, whole // 2, whole // 10, 2 * PAGE):
        cut(tmp_path, kept)
        assert not is_whole(tmp_path)


def test_a_file_that_ends_before_pages_that_were_never_written_is_whole(tmp_path: Path) -> None:
    def give_back(writer: Writer) -> None:
        for work in (putting(10, 400_000), deleting(10)):
            work(writer)

    # With other free pages at hand, those that one change takes and gives back are not written.
    change(tmp_path, putting(3000, 500), deleting(2900), give_back)
    assert used(tmp_path) - size(tmp_path) > 100 * PAGE, "all pages were written, which tests nothing"
    assert is_whole(tmp_path)
    cut(tmp_path, size(tmp_path) // 2)
    assert not is_whole(tmp_path)


@pytest.mark.slow
def test_a_long_list_of_free_pages_is_read_whole(tmp_path: Path) -> None:
    change(tmp_path, putting(20_000, 3000), deleting(20_000), putting(10, 100), deleting(10))
    kept = whole = size(tmp_path)
    assert used(tmp_path) == whole
    while is_whole(tmp_path):
        kept -= 50 * PAGE
        cut(tmp_path, kept)
    assert kept < whole - 1000 * PAGE, "nearly all that is behind the used pages is free"


def test_an_empty_file_is_not_a_store_to_read(tmp_path: Path) -> None:
    change(tmp_path, putting(1, 1))
    cut(tmp_path, 0)
    with pytest.raises(StoreError, match=r"data.mdb: the file is cut short: it has 0 bytes"):
        Environment(tmp_path, [ENTRIES], writer=False)


@pytest.mark.slow
def test_pages_that_hold_anything_are_read_within_their_bounds(tmp_path: Path) -> None:
    change(tmp_path, putting(3000, 2000), deleting(3000), putting(10, 100))
    whole = bytearray((tmp_path / "data.mdb").read_bytes())
    kept = len(whole) - 40 * PAGE
    for step in range(200):
        damaged = whole[:kept]
        # Every third byte of a page, another page each time: links, counts and sizes that lead nowhere.
        start = 2 * PAGE + (step * 37 % (kept // PAGE - 2)) * PAGE
        damaged[start + 8 : start + PAGE : 3] = bytes([(step * 91 + 5) % 256]) * len(
            range(start + 8, start + PAGE, 3)
        )
        (tmp_path / "data.mdb").write_bytes(damaged)
        is_whole(tmp_path)
