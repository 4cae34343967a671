"""The log index, and reading without it, against brute force; rows are made without the engine."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from struct import pack

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.slices import result_of
from wsnode.ethereum.codec.chain_tables import ITSELF, locate_logs
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.index import (
    LOGS_A_SLICE,
    LogMatches,
    first_logs,
    first_of,
    is_read_sooner,
    look_up_logs,
    read_logs,
    search_logs,
)
from wsnode.ethereum.storage import log_entries
from wsnode.ethereum.storage.tables import LOG_BLOCKS, LOG_INDEX, RECEIPTS, TABLES, TOTALS, number_key
from wsnode.store.environment import Environment, Reader, Writer
from wsnode.store.table import scan

Log = tuple[bytes, tuple[bytes, ...]]
Block = Sequence[Log]

ADDRESSES = [bytes([n]) * 20 for n in range(3)]
TOPICS = [bytes([n]) * 32 for n in range(4)]

logs = st.tuples(st.sampled_from(ADDRESSES), st.lists(st.sampled_from(TOPICS), max_size=4).map(tuple))
blocks = st.lists(st.lists(logs, max_size=6), min_size=1, max_size=8)
criteria = st.builds(
    LogFilter,
    addresses=st.lists(st.sampled_from(ADDRESSES), max_size=2, unique=True),
    topics=st.lists(st.lists(st.sampled_from(TOPICS), max_size=3, unique=True), max_size=4),
)


def entries_of(block_logs: Sequence[Log], first: int) -> list[tuple[bytes, bytes]]:
    """What the engine's `log_entries` gives for these logs."""
    found: dict[bytes, list[int]] = {}
    for number, (address, topics) in enumerate(block_logs, first):
        values = [b"\0" + address, *(bytes([place]) + topic for place, topic in enumerate(topics, 1))]
        for value in [*values, bytes([5, len(topics)])]:
            found.setdefault(value + (number >> 16).to_bytes(4, "big"), []).append(number & 0xFFFF)
    return [(key, array("I", positions).tobytes()) for key, positions in sorted(found.items())]


def receipts_of(block_logs: Sequence[Log]) -> bytes:
    """Return a receipts row of these logs and no receipts."""
    rows = [
        pack("<IB", 0, len(topics)) + address + b"".join(topics) + b"data" for address, topics in block_logs
    ]
    ends = accumulate(map(len, rows))
    return pack(f"<BII{len(rows)}I", 1, 0, len(rows), *ends) + b"".join(rows)


def fill(writer: Writer, chain: Sequence[Block], first_log: int) -> None:
    """Index a chain whose block 0 has `first_log` logs that no criterion finds."""
    writer.append(TOTALS, number_key(0), number_key(first_log))
    if first_log:
        writer.append(LOG_BLOCKS, number_key(first_log), number_key(0) + number_key(0))
    before = first_log
    for number, block in enumerate(chain, 1):
        log_entries.add(writer, entries_of(block, before))
        through = before + len(block)
        writer.append(TOTALS, number_key(number), number_key(through))
        writer.append(RECEIPTS, number_key(number), receipts_of(block))
        if block:
            writer.append(LOG_BLOCKS, number_key(through), number_key(number) + number_key(before))
        before = through


def matches(log: Log, wanted: LogFilter) -> bool:
    address, topics = log
    if wanted.addresses and address not in wanted.addresses:
        return False
    if len(wanted.topics) > len(topics):
        return False
    return all(not values or topic in values for topic, values in zip(topics, wanted.topics, strict=False))


def brute_force(chain: Sequence[Block], wanted: LogFilter, first: int, last: int) -> list[tuple[int, int]]:
    return [
        (number, index)
        for number, block in enumerate(chain, 1)
        for index, log in enumerate(block)
        if first <= number <= last and matches(log, wanted)
    ]


def run(reader: Reader, wanted: LogFilter, first: int, last: int, limit: int | None = None) -> LogMatches:
    return result_of(search_logs(reader, wanted.criteria, first, last, limit=limit))


def flat(found: LogMatches, chain: Sequence[Block]) -> list[tuple[int, int]]:
    return [
        (block.number, index)
        for block in found.blocks
        for index in (range(len(chain[block.number - 1])) if block.indices is None else block.indices)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Environment]:
    environment = Environment(tmp_path, TABLES, writer=True, durable=False)
    yield environment
    environment.close()


# Numbers near the end of a chunk, so that blocks lie across its border.
@given(chain=blocks, wanted=criteria, before=st.sampled_from([0, 65_530, 3 * 65_536 - 5]), data=st.data())
def test_a_search_finds_what_brute_force_finds(
    tmp_path_factory: pytest.TempPathFactory,
    chain: list[list[Log]],
    wanted: LogFilter,
    before: int,
    data: st.DataObject,
) -> None:
    first = data.draw(st.integers(1, len(chain)))
    last = data.draw(st.integers(first, len(chain)))
    store = Environment(tmp_path_factory.mktemp("index"), TABLES, writer=True, durable=False)
    store.write(lambda writer: fill(writer, chain, before))
    expected = brute_force(chain, wanted, first, last)
    with store.read() as reader:
        found = run(reader, wanted, first, last)
        assert flat(found, chain) == expected
        assert (found.count, found.exceeded) == (len(expected), False)
        assert run(reader, wanted, first, last, limit=len(expected)) == found
        if expected:
            assert run(reader, wanted, first, last, limit=len(expected) - 1).exceeded
    store.close()


@pytest.mark.slow
@given(
    chain=blocks,
    wanted=criteria,
    before=st.sampled_from([0, 65_530, 3 * 65_536 - 5]),
    others=st.integers(0, 20),
    data=st.data(),
)
def test_reading_finds_what_the_index_finds(
    tmp_path_factory: pytest.TempPathFactory,
    chain: list[list[Log]],
    wanted: LogFilter,
    before: int,
    others: int,
    data: st.DataObject,
) -> None:
    # More values than are compared one by one.
    more = [bytes([100 + n]) * 20 for n in range(others)] if wanted.addresses else []
    criteria = LogFilter([*wanted.addresses, *more], wanted.topics).criteria
    assume(criteria.groups())
    numbers = st.integers(before, before + sum(map(len, chain)))
    begin, end = sorted((data.draw(numbers), data.draw(numbers)))
    store = Environment(tmp_path_factory.mktemp("index"), TABLES, writer=True, durable=False)
    store.write(lambda writer: fill(writer, chain, before))
    with store.read() as reader:
        found = result_of(look_up_logs(reader, criteria, begin, end))
        read = result_of(read_logs(reader, criteria, begin, end))
        assert (read.count, flat(read, chain)) == (found.count, flat(found, chain))
        for limit in range(found.count + 1):
            exceeded = limit < found.count
            assert result_of(look_up_logs(reader, criteria, begin, end, limit)).exceeded == exceeded
            assert result_of(read_logs(reader, criteria, begin, end, limit)).exceeded == exceeded
            if limit:
                first = result_of(first_logs(reader, criteria, begin, end, limit))
                assert (first.count, first.exceeded) == (limit, exceeded)
                assert flat(first, chain) == flat(first_of(read, limit), chain) == flat(read, chain)[:limit]
    store.close()


def test_what_takes_less_is_known_before() -> None:
    assert is_read_sooner(values=1_000, logs=200, blocks=1)
    assert not is_read_sooner(values=1, logs=200, blocks=1)
    assert not is_read_sooner(values=10, logs=100, blocks=1_000)
    assert is_read_sooner(values=1, logs=0, blocks=1_000)


def test_reading_many_logs_pauses_between_slices(store: Environment) -> None:
    count = 3 * LOGS_A_SLICE
    chain: list[list[Log]] = [[(ADDRESSES[n == 0], ()) for n in range(count)], [(ADDRESSES[1], ())]]
    store.write(lambda writer: fill(writer, chain, 0))
    with store.read() as reader:
        criteria = LogFilter(
            [ADDRESSES[1], *(number.to_bytes(20, "big") for number in range(1, 1_000))]
        ).criteria
        assert len(list(read_logs(reader, criteria, 0, count + 1))) >= 3
        assert flat(result_of(search_logs(reader, criteria, 1, 2)), chain) == [(1, 0), (2, 0)]
        # An end within a block, and the two ends of one block in different slices.
        assert flat(result_of(read_logs(reader, criteria, 1, count)), chain) == []
        every = LogFilter([*ADDRESSES]).criteria
        assert flat(result_of(read_logs(reader, every, 1, count)), chain) == [(1, n) for n in range(1, count)]


@pytest.mark.slow
@given(chain=blocks, more=st.lists(logs, min_size=1, max_size=40), before=st.sampled_from([0, 65_530]))
def test_removing_the_last_block_restores_the_index(
    tmp_path_factory: pytest.TempPathFactory, chain: list[list[Log]], more: list[Log], before: int
) -> None:
    store = Environment(tmp_path_factory.mktemp("index"), TABLES, writer=True, durable=False)
    store.write(lambda writer: fill(writer, chain, before))
    entries = entries_of(more, before + sum(map(len, chain)))
    with store.read() as reader:
        before_it = positions_by_key(reader)
    store.write(lambda writer: log_entries.add(writer, entries))
    store.write(lambda writer: log_entries.remove(writer, entries))
    with store.read() as reader:
        assert positions_by_key(reader) == before_it
    store.close()


def positions_by_key(reader: Reader) -> dict[bytes, BitMap]:
    return {key: log_entries.decode_positions(row) for key, row in scan(reader, LOG_INDEX, b"")}


@pytest.mark.parametrize("count", range(1, 40))
def test_positions_in_a_run_survive_their_encoding(count: int) -> None:
    positions = BitMap(range(7, 7 + count))
    assert log_entries.decode_positions(log_entries.encode_positions(positions)) == positions


@given(st.sets(st.integers(0, 65_535), min_size=1, max_size=3000))
def test_positions_survive_their_encoding(positions: set[int]) -> None:
    row = log_entries.encode_positions(BitMap(positions))
    assert set(log_entries.decode_positions(row)) == positions


@pytest.mark.slow
def test_a_rare_value_costs_few_slices_in_a_long_chain(store: Environment) -> None:
    common, rare = ADDRESSES[0], TOPICS[1]
    chain: list[list[Log]] = [[(common, ())] * 5_000 for _ in range(40)]
    chain[30] = [(common, (rare,)) for _ in range(3)]
    store.write(lambda writer: fill(writer, chain, 0))
    with store.read() as reader:
        wanted = LogFilter(addresses=[common], topics=[[rare]])
        slices = len(list(search_logs(reader, wanted.criteria, 1, 40)))
        assert flat(run(reader, wanted, 1, 40), chain) == [(31, 0), (31, 1), (31, 2)]
    assert slices == 0


def test_a_search_that_finds_a_log_here_and_there_pauses_between_slices(store: Environment) -> None:
    def change(writer: Writer) -> None:
        writer.append(TOTALS, number_key(0), number_key(0))
        for number in range(1, 1_001):
            log = number << 16
            log_entries.add(writer, entries_of([(ADDRESSES[0], ())], log))
            writer.append(LOG_BLOCKS, number_key(log + 1), number_key(number) + number_key(log))
            writer.append(TOTALS, number_key(number), number_key(log + 1))

    store.write(change)
    wanted = LogFilter(addresses=[ADDRESSES[0]])
    with store.read() as reader:
        # 128 at a time are found, and then their blocks.
        assert len(list(search_logs(reader, wanted.criteria, 1, 1_000))) == 2 * (1_000 // 128)
        assert run(reader, wanted, 1, 1_000).blocks == [(number, range(1)) for number in range(1, 1_001)]


def test_a_search_of_many_values_pauses_between_slices(store: Environment) -> None:
    store.write(lambda writer: fill(writer, [[(ADDRESSES[0], ())]], 0))
    with store.read() as reader:
        wanted = LogFilter(addresses=[number.to_bytes(20, "big") for number in range(1_000)])
        assert len(list(look_up_logs(reader, wanted.criteria, 0, 1))) >= 5


def test_positions_of_many_values_in_one_chunk_are_united_between_pauses(store: Environment) -> None:
    addresses = [number.to_bytes(20, "big") for number in range(1_000)]
    chain: list[list[Log]] = [[(address, ()) for address in addresses]]
    store.write(lambda writer: fill(writer, chain, 0))
    with store.read() as reader:
        wanted = LogFilter(addresses=addresses)
        # 128 values at a time are looked up, and then their positions read.
        assert len(list(look_up_logs(reader, wanted.criteria, 0, 1_000))) == 2 * (1_000 // 128)
        assert flat(run(reader, wanted, 1, 1), chain) == [(1, index) for index in range(1_000)]


def test_positions_are_whole_numbers(store: Environment) -> None:
    with store.read() as reader, pytest.raises(ValueError, match="four bytes each"):
        locate_logs(reader, 0, ITSELF[:-1], 0, 1)
