"""A row without its checksum is an error to each kind of read, and counted; writing it again mends it."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.store.damaged_bytes import flipped, flipped_at
from tests.store.damaged_pages import DUPLICATES, NODE_FLAGS, entries_of, followed_bytes
from wsnode.store.environment import DamagedRowError, Environment, Reader, StoreError, Writer
from wsnode.store.table import Table, scan

FRUIT = Table("fruit")
TREES = Table("trees")
KEYS = [b"apple", b"banana", b"cherry"]
SHORT, LONG = 40, 20_000
"""Bytes of a value among others on a page, and of one with pages of its own."""

Read = Callable[[Reader], object]


@pytest.fixture(params=[SHORT, LONG])
def values(request: pytest.FixtureRequest) -> dict[bytes, bytes]:
    return {key: Random(key).randbytes(request.param) for key in KEYS}


@pytest.fixture
def store(tmp_path: Path, values: dict[bytes, bytes]) -> Iterator[Environment]:
    environment = Environment(tmp_path, [FRUIT, TREES], writer=True)
    environment.write(partial(fill, FRUIT, values))
    yield environment
    environment.close()


def before(reader: Reader) -> object:
    cursor = reader.cursor(FRUIT)
    return cursor.last() and cursor.prev()


READS = [
    pytest.param(lambda reader: reader.get(FRUIT, b"banana"), id="get"),
    pytest.param(lambda reader: reader.view(FRUIT, b"banana"), id="view"),
    pytest.param(lambda reader: reader.cursor(FRUIT).set_range(b"b"), id="set_range"),
    pytest.param(before, id="prev"),
    pytest.param(lambda reader: list(scan(reader, FRUIT, b"")), id="scan"),
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("place", [0, -1])
def test_no_read_returns_a_damaged_row(
    store: Environment, tmp_path: Path, values: dict[bytes, bytes], read: Read, place: int
) -> None:
    value = values[b"banana"]
    with store.read() as reader:
        whole = read(reader)
        with flipped(tmp_path / "data.mdb", value, place % len(value)):
            with pytest.raises(DamagedRowError, match="table fruit, row 0x62616e616e61") as raised:
                read(reader)
            assert (raised.value.table, raised.value.key) == ("fruit", b"banana")
            assert reader.get(FRUIT, b"apple") == values[b"apple"]
        assert type(whole) is type(read(reader))
    assert store.damaged == 1


def test_a_store_with_a_damaged_row_is_known_by_the_first_read(
    store: Environment, tmp_path: Path, values: dict[bytes, bytes]
) -> None:
    with flipped(tmp_path / "data.mdb", values[b"cherry"]), store.read() as reader:
        store.require_undamaged()
        assert store.damaged == 0
        for _ in range(3):
            with pytest.raises(DamagedRowError):
                reader.get(FRUIT, b"cherry")
    with pytest.raises(
        DamagedRowError, match="the store is damaged: table fruit, row 0x636865727279"
    ) as raised:
        store.require_undamaged()
    assert raised.value.key == b"cherry"
    assert store.damaged == 3


def test_a_row_that_is_written_again_is_whole(
    store: Environment, tmp_path: Path, values: dict[bytes, bytes]
) -> None:
    with flipped(tmp_path / "data.mdb", values[b"apple"]):
        with pytest.raises(DamagedRowError):
            store.write(lambda writer: writer.pop(FRUIT, b"apple"))
        store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
        with store.read() as reader:
            assert reader.get(FRUIT, b"apple") == b"red"


def test_a_check_of_all_rows_lists_the_damaged_ones(
    store: Environment, tmp_path: Path, values: dict[bytes, bytes]
) -> None:
    steps, damaged = list[tuple[int, int]](), list[bytes]()

    def progress(done: int, total: int) -> None:
        steps.append((done, total))

    file = tmp_path / "data.mdb"
    with flipped(file, values[b"apple"]), flipped(file, values[b"cherry"]), store.read() as reader:
        reader.check_rows(FRUIT, progress, damaged.append)
        reader.check_rows(TREES, progress, damaged.append)
    assert damaged == [b"apple", b"cherry"]
    assert steps == [(3, 3)]
    with store.read() as reader:
        reader.check_rows(FRUIT, progress, damaged.append)
    assert len(damaged) == 2


def test_what_a_caller_of_a_check_raises_ends_it(store: Environment) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with store.read() as reader, pytest.raises(KeyboardInterrupt):
        reader.check_rows(FRUIT, stop, lambda _key: None)


def test_a_row_that_is_missed_counts_as_damaged(store: Environment) -> None:
    with store.read() as reader:
        error = reader.missing(FRUIT, b"plum")
    assert isinstance(error, DamagedRowError)
    assert (error.table, error.key, store.damaged) == ("fruit", b"plum", 1)


def test_a_table_is_emptied_whatever_its_rows_are(
    store: Environment, tmp_path: Path, values: dict[bytes, bytes]
) -> None:
    store.write(lambda writer: writer.put(TREES, b"oak", b"tall"))
    with flipped(tmp_path / "data.mdb", values[b"apple"]):
        store.write(lambda writer: writer.clear(FRUIT))
    with store.read() as reader:
        assert (reader.entries(FRUIT), reader.get(TREES, b"oak")) == (0, b"tall")


FLAGS, ROOT = range(4, 6), range(42, 48)
"""Bytes of the flags and of the root's page number, without its lowest two, in a table's record in LMDB."""


@pytest.mark.parametrize("offset", [*FLAGS, *ROOT])
def test_a_damaged_record_of_a_table_is_damage_to_each_read_of_a_transaction(
    tmp_path: Path, offset: int
) -> None:
    with closing(Environment(tmp_path, [FRUIT, TREES], writer=True)) as written:
        written.write(partial(fill, FRUIT, dict.fromkeys(KEYS, b"1" * SHORT)))
    file = tmp_path / "data.mdb"
    whole = file.read_bytes()
    for bit in range(7):
        content = bytearray(whole)
        for found in re.finditer(b"fruit", whole):
            content[found.end() + offset] ^= 1 << bit
        with closing(Environment(tmp_path, [FRUIT, TREES], writer=False)) as store:
            file.write_bytes(content)
            with store.read() as reader:
                for _ in range(2):
                    with pytest.raises(DamagedRowError, match="table fruit"):
                        reader.get(FRUIT, b"apple")
        file.write_bytes(whole)


@pytest.mark.parametrize("read", READS)
def test_an_entry_flagged_as_having_several_values_is_damage_to_each_read(
    store: Environment, tmp_path: Path, read: Read
) -> None:
    file = tmp_path / "data.mdb"
    with ExitStack() as stack, store.read() as reader:
        whole = read(reader)
        for entry in entries_of(file.read_bytes(), b"banana"):
            stack.enter_context(flipped_at(file, entry + NODE_FLAGS, DUPLICATES))
        with pytest.raises(DamagedRowError, match="table fruit"):
            read(reader)
        stack.close()
        assert type(read(reader)) is type(whole)


def all_rows(reader: Reader, table: Table) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows that each way of reading finds, unless a row or a page on its way is damaged."""
    for key in KEYS:
        with suppress(StoreError):
            if (value := reader.get(table, key)) is not None:
                yield key, value
    with suppress(StoreError):
        yield from scan(reader, table, b"")
    with suppress(StoreError):
        cursor = reader.cursor(table)
        found = cursor.last()
        while found:
            yield cursor.item()
            found = cursor.prev()


def fill(table: Table, rows: dict[bytes, bytes], writer: Writer) -> None:
    for key, value in sorted(rows.items()):
        writer.put(table, key, value)


@pytest.mark.parametrize("flips", [2000, pytest.param(None, marks=pytest.mark.nightly)])
def test_no_changed_bit_that_lmdb_follows_ends_the_process(tmp_path: Path, flips: int | None) -> None:
    rows = {b"key %d" % number: b"%d" % number * SHORT for number in range(200)}
    rows |= {key: key * (LONG // len(key)) for key in KEYS}
    with closing(Environment(tmp_path, [FRUIT, TREES], writer=True)) as written:
        for table in (FRUIT, TREES):
            written.write(partial(fill, table, rows))
    file = tmp_path / "data.mdb"
    content, chance = file.read_bytes(), Random(flips)
    bits = [(place, 1 << bit) for place in followed_bytes(content) for bit in range(8)]
    if flips is not None:
        bits = chance.sample(bits, flips)
    errors = 0
    with closing(Environment(tmp_path, [FRUIT, TREES], writer=False)) as store:
        with store.read() as reader:
            whole = list(all_rows(reader, FRUIT))
        for place, bit in bits:
            damaged = store.damaged
            for table in (FRUIT, TREES):
                # LMDB fails all further reads of a transaction that has met a damaged page.
                with flipped_at(file, place, bit), store.read() as reader:
                    assert all(rows[key] == value for key, value in all_rows(reader, table))
            errors += store.damaged != damaged
        assert errors > len(bits) // 20
        with store.read() as reader:
            assert list(all_rows(reader, FRUIT)) == whole
