"""A file whose first pages were damaged is refused in words; LMDB would divide by its page size."""

import os
import struct
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from wsnode.store.environment import Environment, StoreError, Writer
from wsnode.store.table import Table

PAGE = 4096
ENTRIES = Table("entries")
MAGIC, VERSION, TREES, TREE = 16, 20, 40, 48
"""Offsets in a meta page of LMDB, and the size of a tree's description there."""
OPENING = """
import sys
from pathlib import Path
from wsnode.store.environment import Environment
from wsnode.store.environment import StoreError
from wsnode.store.table import Table
entries = Table("entries")
for folder in sys.argv[1:]:
    try:
        Environment(Path(folder), [entries], writer=False).close()
    except StoreError:
        pass
"""


def put(key: bytes, writer: Writer) -> None:
    writer.put(ENTRIES, key, bytes(5000))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(Environment(tmp_path / "store", [ENTRIES], writer=True, durable=False)) as store:
        for key in (b"0", b"1", b"2"):
            store.write(partial(put, key))
    return tmp_path / "store"


def overwrite(folder: Path, offset: int, value: bytes) -> None:
    with (folder / "data.mdb").open("r+b") as file:
        file.seek(offset)
        file.write(value)


SAME_IN_BOTH = [
    pytest.param(10, b"\0\0", "the page flags 0", id="flags"),
    pytest.param(MAGIC, b"\0", "the magic number 0xbeefc000", id="magic"),
    pytest.param(VERSION, b"\2", "the format version 2", id="version"),
    pytest.param(TREES, bytes(4), "the page size 0", id="page size 0"),
    pytest.param(TREES, b"\1\0\0\0", "the page size 1", id="page size 1"),
    pytest.param(TREES, b"\0\x18\0\0", "the page size 6144", id="page size no power of two"),
    pytest.param(TREES + 4, b"\1", "the flags [1, 0] of trees", id="flags of a tree"),
]
OF_A_VERSION = [
    pytest.param(TREES + 6, b"\x21", "a tree of 33 levels", id="levels"),
    pytest.param(TREES + TREE + 40, b"\1", "a tree at page 1, of ", id="root"),
    pytest.param(TREES + TREE + 46, b"\1", "a tree at page 2814749767", id="root beyond the file"),
    pytest.param(TREES + 2 * TREE + 7, b"\xff", "the last page 18374", id="last page"),
]


def refusal(folder: Path, page: int, *, writer: bool) -> str:
    """Return the fault that a store is refused with."""
    with pytest.raises(StoreError) as refused:
        Environment(folder, [ENTRIES], writer=writer, durable=False)
    before, after = (
        f"{folder}/data.mdb: the file is damaged: meta page {page} has ",
        "; put a whole copy in its place",
    )
    text = str(refused.value)
    assert text.startswith(before)
    assert text.endswith(after)
    return text.removeprefix(before).removesuffix(after)


@pytest.mark.parametrize("writer", [True, False])
@pytest.mark.parametrize("page", [0, 1])
@pytest.mark.parametrize(("offset", "value", "fault"), SAME_IN_BOTH)
def test_a_damaged_meta_page_is_refused_with_its_fault(
    folder: Path, page: int, offset: int, value: bytes, fault: str, writer: bool
) -> None:
    overwrite(folder, page * PAGE + offset, value)
    assert refusal(folder, page, writer=writer) == fault


@pytest.mark.parametrize("writer", [True, False])
@pytest.mark.parametrize(("offset", "value", "fault"), OF_A_VERSION)
def test_trees_that_lead_nowhere_are_refused_in_the_newer_page_only(
    folder: Path, offset: int, value: bytes, fault: str, writer: bool
) -> None:
    # What a failed write leaves in the older page is not used.
    overwrite(folder, PAGE + offset, value)
    with closing(Environment(folder, [ENTRIES], writer=False)) as store, store.read() as reader:
        assert reader.entries(ENTRIES) == 3
    overwrite(folder, offset, value)
    assert refusal(folder, 0, writer=writer).startswith(fault)


def test_another_page_size_leads_to_no_second_meta_page(folder: Path) -> None:
    overwrite(folder, TREES, struct.pack("=I", 2 * PAGE))
    with pytest.raises(StoreError, match="meta page 1 has the page flags"):
        Environment(folder, [ENTRIES], writer=False)


@pytest.mark.parametrize("writer", [True, False])
@pytest.mark.parametrize("size", [1, 100, PAGE])
def test_what_is_shorter_than_two_meta_pages_is_cut_short(folder: Path, size: int, writer: bool) -> None:
    os.truncate(folder / "data.mdb", size)
    with pytest.raises(StoreError, match=f"cut short: it has {size} bytes"):
        Environment(folder, [ENTRIES], writer=writer, durable=False)


def test_no_changed_byte_of_a_meta_page_ends_the_process(folder: Path, tmp_path: Path) -> None:
    content = (folder / "data.mdb").read_bytes()
    copies = []
    for offset in range(152):
        copy = tmp_path / f"{offset}"
        copy.mkdir()
        page = offset % 2 * PAGE
        changed = bytearray(content)
        changed[page + offset] ^= 0x41
        (copy / "data.mdb").write_bytes(changed)
        copies.append(str(copy))
    subprocess.run([sys.executable, "-c", OPENING, *copies], check=True)


def test_an_empty_file_is_filled_by_a_writer(folder: Path) -> None:
    (folder / "data.mdb").write_bytes(b"")
    with closing(Environment(folder, [ENTRIES], writer=True, durable=False)) as store, store.read() as reader:
        assert reader.entries(ENTRIES) == 0
