import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.node_process import PATIENCE
from wsnode.store.environment import (
    Environment,
    Reader,
    SnapshotLostError,
    StoreError,
    TooManySnapshotsError,
    Writer,
)
from wsnode.store.table import Table, last_key, scan

FRUIT = Table("fruit")
TREES = Table("trees")
MAX_VERSIONS = 16_384


def fill(writer: Writer, entries: dict[bytes, bytes]) -> None:
    for key, value in entries.items():
        writer.put(FRUIT, key, value)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Environment]:
    environment = Environment(tmp_path / "store", [FRUIT, TREES], writer=True)
    yield environment
    environment.close()


def test_a_snapshot_sees_the_moment_it_was_opened_at(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as before:
        store.write(lambda writer: writer.put(FRUIT, b"apple", b"green"))
        with store.read() as after:
            assert before.get(FRUIT, b"apple") == b"red"
            assert after.get(FRUIT, b"apple") == b"green"


def test_each_change_makes_another_version(store: Environment) -> None:
    def fail(writer: Writer) -> None:
        writer.put(FRUIT, b"apple", b"red")
        raise ZeroDivisionError

    with store.read() as before, store.read() as beside:
        assert before.version == beside.version
        with pytest.raises(ZeroDivisionError):
            store.write(fail)
        with store.read() as after_nothing:
            assert after_nothing.version == before.version
        store.write(lambda writer: writer.put(FRUIT, b"apple", b"green"))
        with store.read() as after:
            assert after.version > before.version == beside.version


def test_snapshots_of_one_version_share_it_and_end_one_by_one(store: Environment) -> None:
    assert store.versions == 0
    first, second = store.read(), store.read()
    assert store.versions == 1
    first.close()
    with pytest.raises(SnapshotLostError):
        first.get(FRUIT, b"apple")
    assert second.get(FRUIT, b"apple") is None
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as after:
        assert store.versions == 2
        assert (second.get(FRUIT, b"apple"), after.get(FRUIT, b"apple")) == (None, b"red")
        second.close()
        assert store.versions == 1
    assert store.versions == 0


@pytest.mark.slow
def test_a_snapshot_begun_after_another_process_wrote_sees_what_it_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = Environment(folder, [FRUIT], writer=True)
    with closing(store), store.read() as before:
        program = (
            "import sys; from tests.store.test_environment import write_from_outside as w; w(sys.argv[1])"
        )
        subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=PATIENCE)
        with store.read() as after:
            assert (before.get(FRUIT, b"apple"), after.get(FRUIT, b"apple")) == (None, b"outside")


def write_from_outside(folder: str) -> None:
    with closing(Environment(Path(folder), [FRUIT], writer=True)) as store:
        store.write(lambda writer: writer.put(FRUIT, b"apple", b"outside"))


def put_number(writer: Writer, number: int) -> None:
    writer.put(FRUIT, b"apple", b"%d" % number)


@pytest.mark.slow
def test_more_versions_than_there_are_places_for_is_a_refusal_that_passes(tmp_path: Path) -> None:
    store = Environment(tmp_path / "store", [FRUIT], writer=True, durable=False)
    readers = list[Reader]()
    with closing(store):
        for number in range(MAX_VERSIONS):
            readers.append(store.read())
            store.write(partial(put_number, number=number))
        with pytest.raises(TooManySnapshotsError):
            store.read()
        readers.pop().close()
        with store.read() as reader:
            assert reader.get(FRUIT, b"apple") == b"%d" % (MAX_VERSIONS - 1)
        for reader in readers:
            reader.close()


def test_a_view_of_a_value_is_no_copy(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as reader:
        view = reader.view(FRUIT, b"apple")
        assert isinstance(view, memoryview)
        assert view.readonly
        assert bytes(view) == b"red"
        assert reader.view(FRUIT, b"pear") is None


def test_a_view_is_of_the_snapshot_whatever_was_committed_since(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as late, store.read() as early:
        assert early.view(FRUIT, b"apple") == b"red"
        store.write(lambda writer: writer.put(FRUIT, b"apple", b"green"))
        assert early.view(FRUIT, b"apple") == b"red"
        assert late.view(FRUIT, b"apple") == b"red"


def test_a_snapshot_can_be_viewed_after_the_map_has_grown(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as viewing, store.read() as new:
        assert viewing.view(FRUIT, b"apple") == b"red"
        store.write(lambda writer: fill(writer, {b"a": bytes(1 << 20), b"apple": b"green"}))
        for reader in (viewing, new):
            assert reader.view(FRUIT, b"apple") == b"red"
    store.close()


def test_tables_do_not_share_keys(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as reader:
        assert reader.get(TREES, b"apple") is None


def test_a_change_that_fails_leaves_nothing(store: Environment) -> None:
    def change(writer: Writer) -> None:
        writer.put(FRUIT, b"apple", b"red")
        raise LookupError

    with pytest.raises(LookupError):
        store.write(change)
    with store.read() as reader:
        assert reader.get(FRUIT, b"apple") is None


def test_appending_out_of_order_is_refused(store: Environment) -> None:
    store.write(lambda writer: writer.append(FRUIT, b"b", b""))
    with pytest.raises(StoreError):
        store.write(lambda writer: writer.append(FRUIT, b"a", b""))


def test_pop_and_delete_answer_what_was_there(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"a", b"1"))
    assert store.write(lambda writer: writer.pop(FRUIT, b"a")) == b"1"
    assert store.write(lambda writer: writer.pop(FRUIT, b"a")) is None
    assert not store.write(lambda writer: writer.delete(FRUIT, b"a"))


def test_the_map_grows_when_a_change_needs_more_room(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)
    store.write(lambda writer: fill(writer, {bytes([n]): bytes(20_000) for n in range(50)}))
    assert store.map_size > 1_000_000
    with store.read() as reader:
        assert reader.entries(FRUIT) == 50
    store.close()


def test_snapshots_and_cursors_go_on_while_the_map_grows(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, durable=False, map_size=1 << 16)
    store.write(lambda writer: fill(writer, {b"%03d" % n: b"%d" % n for n in range(300)}))
    readers = []
    for round_ in range(8):
        reader = store.read()
        cursor = reader.cursor(FRUIT)
        assert cursor.set_range(b"100")
        readers.append((round_, reader, cursor))
        room, entries = store.map_size, {b"%03d" % n: bytes([round_]) * 9000 for n in range(200, 300)}
        store.write(partial(fill, entries=entries))
        assert store.map_size >= room
    assert store.map_size > 1 << 22
    for round_, reader, cursor in readers:
        left = bytes([round_ - 1]) * 9000 if round_ else None
        assert [cursor.value() for _ in range(3) if cursor.next()] == [b"101", b"102", b"103"]
        values = {value for key, value in scan(reader, FRUIT, b"200")}
        assert values == ({left} if left else {b"%d" % n for n in range(200, 300)})
        reader.close()
    store.close()


def test_two_threads_read_on_while_a_third_makes_the_map_grow(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, durable=False, map_size=1 << 16)
    store.write(lambda writer: fill(writer, {b"%03d" % n: b"%d" % n for n in range(300)}))
    is_done = Event()

    def read() -> int:
        turns = 0
        with store.read() as before:
            while not is_done.is_set() or not turns:
                with store.read() as now:
                    assert now.get(FRUIT, b"007") == b"7"
                assert len(list(scan(before, FRUIT, b"0", b"1"))) == 100
                turns += 1
        return turns

    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        try:
            for number in range(100):
                store.write(partial(fill, entries={b"x%d" % number: bytes(40_000)}))
        finally:
            is_done.set()
        assert all(found.result() for found in reading)
    assert store.map_size > 1 << 22
    store.close()


def test_eighty_stores_leave_most_addresses_of_a_process_free(tmp_path: Path) -> None:
    stores = [Environment(tmp_path / f"{n}", [FRUIT], writer=True, durable=False) for n in range(80)]
    assert sum(store.map_size for store in stores) < 1 << 41
    for store in stores:
        store.close()


def test_a_map_is_larger_than_the_file_that_is_opened(tmp_path: Path) -> None:
    with closing(Environment(tmp_path, [FRUIT], writer=True, durable=False)) as store:
        store.write(lambda writer: fill(writer, {bytes([n]): bytes(20_000) for n in range(50)}))
    with closing(Environment(tmp_path, [FRUIT], writer=False, map_size=1 << 16)) as store:
        assert store.map_size >= 2 * (tmp_path / "data.mdb").stat().st_size


def test_a_missing_file_is_an_error_for_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        Environment(tmp_path / "nowhere", [FRUIT], writer=False)


def test_the_last_key_of_an_empty_table_is_none(store: Environment) -> None:
    with store.read() as reader:
        assert last_key(reader, FRUIT) is None
    store.write(lambda writer: writer.put(FRUIT, b"a", b""))
    with store.read() as reader:
        assert last_key(reader, FRUIT) == b"a"


@given(
    entries=st.dictionaries(st.binary(min_size=1, max_size=4), st.binary(max_size=8), max_size=30),
    start=st.binary(min_size=1, max_size=4),
    stop=st.none() | st.binary(min_size=1, max_size=4),
)
def test_a_scan_yields_its_range_in_order(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[bytes, bytes], start: bytes, stop: bytes | None
) -> None:
    store = Environment(tmp_path_factory.mktemp("scan"), [FRUIT], writer=True, durable=False)
    store.write(lambda writer: fill(writer, entries))
    with store.read() as reader:
        expected = sorted((k, v) for k, v in entries.items() if k >= start and (stop is None or k < stop))
        assert list(scan(reader, FRUIT, start, stop)) == expected
    store.close()


@given(
    entries=st.dictionaries(st.binary(min_size=1, max_size=2), st.binary(max_size=4), max_size=12),
    moves=st.lists(
        st.sampled_from(["next", "prev", "last"]) | st.binary(max_size=2).map(lambda key: ("set_range", key))
    ),
)
def test_a_cursor_moves_as_over_a_sorted_list(
    tmp_path_factory: pytest.TempPathFactory,
    entries: dict[bytes, bytes],
    moves: list[str | tuple[str, bytes]],
) -> None:
    store = Environment(tmp_path_factory.mktemp("cursor"), [FRUIT], writer=True, durable=False)
    store.write(lambda writer: fill(writer, entries))
    keys = sorted(entries)
    with store.read() as reader:
        cursor = reader.cursor(FRUIT)
        # Before the first entry, at one, or behind the last one; nowhere is both ends.
        place: int | None = None
        for move in moves:
            match move:
                case ("set_range", key):
                    found, place = cursor.set_range(key), bisect_left(keys, key)
                case "next":
                    found, place = cursor.next(), min(len(keys), 0 if place is None else place + 1)
                case "prev":
                    found, place = cursor.prev(), max(-1, (len(keys) if place is None else place) - 1)
                case _:
                    found, place = cursor.last(), len(keys) - 1 if keys else len(keys)
            assert found == (0 <= place < len(keys))
            expected = (keys[place], entries[keys[place]]) if found else (b"", b"")
            assert (cursor.key(), cursor.value()) == cursor.item() == expected
    store.close()


def test_a_table_may_be_written_to_while_a_cursor_walks_it(store: Environment) -> None:
    def change(writer: Writer) -> list[bytes]:
        fill(writer, {bytes([number]): b"" for number in range(1, 100)})
        seen = []
        cursor = writer.cursor(FRUIT)
        while cursor.next():
            seen.append(cursor.key())
            writer.delete(FRUIT, cursor.key())
        return seen

    assert store.write(change) == [bytes([number]) for number in range(1, 100)]


def test_what_has_ended_is_no_longer_read_or_written(store: Environment) -> None:
    kept = store.write(lambda writer: writer)
    with store.read() as reader:
        pass
    for ended in (kept, reader):
        with pytest.raises(SnapshotLostError):
            ended.get(FRUIT, b"apple")
    with pytest.raises(SnapshotLostError):
        kept.put(FRUIT, b"apple", b"red")


def test_a_change_belongs_to_its_thread(store: Environment) -> None:
    def change(writer: Writer) -> None:
        with ThreadPoolExecutor() as pool:
            pool.submit(writer.put, FRUIT, b"apple", b"red").result()

    with pytest.raises(StoreError, match="thread"):
        store.write(change)
    store.write(lambda writer: writer.put(FRUIT, b"pear", b"green"))


def test_a_snapshot_may_go_to_another_thread(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as reader, ThreadPoolExecutor() as pool:
        assert pool.submit(reader.get, FRUIT, b"apple").result() == b"red"


def test_a_change_that_makes_light_of_a_full_map_is_made_once_more(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)

    def change(writer: Writer) -> None:
        for number in range(50):
            with suppress(StoreError):
                writer.put(FRUIT, bytes([number]), bytes(20_000))

    store.write(change)
    with store.read() as reader:
        assert reader.entries(FRUIT) == 50
    store.close()


def test_a_closed_file_loses_its_snapshots_and_can_be_opened_again(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True)
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    reader = store.read()
    store.close()
    with pytest.raises(SnapshotLostError):
        reader.get(FRUIT, b"apple")
    with pytest.raises(StoreError, match="closed"):
        store.read()
    again = Environment(tmp_path, [FRUIT], writer=False)
    with again.read() as reader:
        assert reader.get(FRUIT, b"apple") == b"red"
    again.close()


def test_a_file_is_open_once_in_a_process(tmp_path: Path, store: Environment) -> None:
    with pytest.raises(StoreError, match="already open"):
        Environment(tmp_path / "store", [FRUIT], writer=False)


def test_a_store_has_its_own_tables_only(store: Environment) -> None:
    with store.read() as reader, pytest.raises(StoreError, match="other"):
        reader.get(Table("other"), b"apple")


def test_a_reader_follows_the_map_that_another_process_has_enlarged(tmp_path: Path) -> None:
    Environment(tmp_path, [FRUIT], writer=True).close()
    store = Environment(tmp_path, [FRUIT], writer=False, map_size=1 << 16)
    script = (
        "from pathlib import Path; from wsnode.store.environment import Environment\n"
        "from wsnode.store.table import Table; fruit = Table('fruit')\n"
        f"store = Environment(Path({str(tmp_path)!r}), [fruit], writer=True, map_size=1 << 24)\n"
        "store.write(lambda writer: writer.put(fruit, b'apple', bytes(1 << 20)))"
    )
    with store.read() as before:
        subprocess.run([sys.executable, "-c", script], check=True)
        with store.read() as after:
            assert len(after.get(FRUIT, b"apple") or b"") == 1 << 20
        assert before.get(FRUIT, b"apple") is None
    store.close()


def test_a_view_outlives_the_file(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True)
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red" * 10_000))
    reader = store.read()
    view = reader.view(FRUIT, b"apple")
    store.close()
    assert view == b"red" * 10_000


def test_the_map_grows_when_nobody_views_it_any_more(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with ThreadPoolExecutor() as pool, store.read() as reader:
        view = reader.view(FRUIT, b"apple")
        growing = pool.submit(store.write, lambda writer: writer.put(FRUIT, b"a", bytes(1 << 20)))
        assert wait([growing], 0.05).not_done
        assert view == b"red"
        del view
        growing.result()
        assert reader.get(FRUIT, b"apple") == b"red"
    store.close()


def test_two_threads_may_change_a_store_whose_map_grows(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, durable=False, map_size=1 << 16)

    def put(number: int) -> None:
        store.write(lambda writer: writer.put(FRUIT, b"%d" % number, bytes(20_000)))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, range(200)))
    with store.read() as reader:
        assert reader.entries(FRUIT) == 200
    store.close()


def test_a_change_is_not_ended_by_what_it_calls(store: Environment) -> None:
    def change(writer: Writer) -> None:
        with writer:
            writer.put(FRUIT, b"apple", b"red")
        with ThreadPoolExecutor() as pool:
            pool.submit(writer.close).result()
        writer.put(FRUIT, b"pear", b"green")

    store.write(change)
    with store.read() as reader:
        assert reader.entries(FRUIT) == 2


def test_an_exception_of_a_change_without_room_is_raised(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)

    def change(writer: Writer) -> None:
        with suppress(StoreError):
            writer.put(FRUIT, b"a", bytes(1 << 20))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(change)
    store.close()
