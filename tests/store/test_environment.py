from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.store.environment import Environment, Writer
from wsnode.store.errors import SnapshotLostError, StoreError
from wsnode.store.table import Table, last_key, scan

FRUIT = Table("fruit")
TREES = Table("trees")


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


def test_nothing_can_be_viewed_after_the_map_has_grown(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)
    store.write(lambda writer: writer.put(FRUIT, b"apple", b"red"))
    with store.read() as viewing, store.read() as new:
        assert viewing.view(FRUIT, b"apple") == b"red"
        store.write(lambda writer: writer.put(FRUIT, b"a", bytes(1 << 20)))
        for reader in (viewing, new):
            with pytest.raises(SnapshotLostError):
                reader.view(FRUIT, b"apple")
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


def test_put_new_counts_and_keeps_what_is_there(store: Environment) -> None:
    store.write(lambda writer: writer.put(FRUIT, b"a", b"1"))
    added = store.write(lambda writer: writer.put_new(FRUIT, [(b"a", b"2"), (b"b", b"2")]))
    assert added == 1
    with store.read() as reader:
        assert list(scan(reader, FRUIT, b"")) == [(b"a", b"1"), (b"b", b"2")]


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


def test_a_snapshot_open_while_the_map_grows_says_so(tmp_path: Path) -> None:
    store = Environment(tmp_path, [FRUIT], writer=True, map_size=1 << 16)
    with store.read() as reader:
        store.write(lambda writer: writer.put(FRUIT, b"a", bytes(1 << 20)))
        with pytest.raises(SnapshotLostError):
            reader.get(FRUIT, b"a")
    store.close()


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
