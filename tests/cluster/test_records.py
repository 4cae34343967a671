"""Records come back as they were written, or with an error of their own."""

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.drawn import GENESIS, head, record, records, standing
from wsnode.cluster.journal import Lease
from wsnode.cluster.records import (
    MAX_BYTES,
    VERSION,
    BlockRecord,
    BrokenLinkError,
    ChainIdRecord,
    ChainMismatchError,
    ChainState,
    Change,
    FinalityRecord,
    PatchRecord,
    Record,
    RecordId,
    RecordTooLargeError,
    ReorgRecord,
    Rollback,
    UnreadableRecordError,
    decode_record,
    encode_record,
)
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Address, BlockNumber, Hash32

HASHES = st.binary(min_size=32, max_size=32).map(Hash32)
NUMBERS = st.integers(0, 2**64 - 1)
HEADS = st.builds(Head, NUMBERS.map(BlockNumber), HASHES)
IDS = st.builds(RecordId, NUMBERS, NUMBERS)
STANDINGS = st.builds(ChainState, HEADS, HASHES, NUMBERS, st.none() | HEADS, st.none() | HEADS)
ADDRESSES = st.binary(min_size=20, max_size=20).map(Address)
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(BlockRecord, st.binary(), st.dictionaries(st.integers(0, 10_000), ADDRESSES), st.booleans()),
    st.builds(PatchRecord, st.binary()),
    st.sampled_from([Rollback(), FinalityRecord(), ChainIdRecord()]),
    st.builds(
        ReorgRecord,
        STANDINGS,
        st.lists(st.builds(BlockRecord, st.binary()), min_size=1, max_size=3).map(tuple),
        st.lists(st.builds(PatchRecord, st.binary()), max_size=2).map(tuple),
    ),
)
RECORDS = st.builds(Record, st.just(GENESIS), IDS, st.none() | IDS, STANDINGS, STANDINGS, CHANGES)
LEASE = Lease("one", 1)


@given(RECORDS)
def test_a_record_is_decoded_as_it_was(written: Record) -> None:
    read = decode_record(encode_record(written), GENESIS)
    assert read == written
    assert type(read.after.head.hash) is Hash32


@given(RECORDS, st.data())
def test_a_record_with_a_flipped_bit_is_refused(written: Record, data: st.DataObject) -> None:
    content = bytearray(encode_record(written))
    place = data.draw(st.integers(0, 8 * len(content) - 1))
    content[place // 8] ^= 1 << place % 8
    try:
        read = decode_record(bytes(content), GENESIS)
    except UnreadableRecordError:
        return
    # A bit of a frame's header that says nothing about its content.
    assert read == written


@given(st.binary(max_size=200), st.booleans())
def test_any_other_bytes_are_refused(content: bytes, has_version: bool) -> None:
    with pytest.raises(UnreadableRecordError):
        decode_record(VERSION + content if has_version else content, GENESIS)


@pytest.mark.parametrize("says_size", [True, False])
def test_a_record_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(*, says_size: bool) -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=says_size).compress(bytes(MAX_BYTES + 1))
    with pytest.raises(UnreadableRecordError, match=f"{MAX_BYTES} at most are allowed"):
        decode_record(VERSION + bomb, GENESIS)


def test_a_record_of_another_version_is_refused_with_the_version() -> None:
    content = encode_record(record(LEASE, 1, None))
    with pytest.raises(UnreadableRecordError, match=r"its version is 01$"):
        decode_record(b"\x01" + content[1:], GENESIS)


def test_a_record_that_nobody_could_read_is_not_written() -> None:
    with pytest.raises(RecordTooLargeError) as raised:
        encode_record(record(LEASE, 1, None, PatchRecord(bytes(MAX_BYTES))))
    assert raised.value.size > MAX_BYTES


def test_a_record_of_another_chain_says_both_genesis_blocks() -> None:
    with pytest.raises(ChainMismatchError) as raised:
        decode_record(encode_record(record(LEASE, 1, None)), b"o" * 32)
    assert (raised.value.expected, raised.value.found) == (b"o" * 32, GENESIS)


def test_a_change_of_a_kind_to_come_is_refused() -> None:
    class Unheard(msgspec.Struct, tag="unheard"):
        pass

    written = msgspec.structs.replace(record(LEASE, 1, None), change=Unheard())
    with pytest.raises(UnreadableRecordError, match="unheard"):
        decode_record(encode_record(written), GENESIS)


@pytest.mark.parametrize(
    ("change", "blocks"),
    [
        (BlockRecord(b""), "1"),
        (ReorgRecord(standing(1), (BlockRecord(b""), BlockRecord(b""))), "2"),
        (Rollback(), "0"),
    ],
)
def test_a_record_counts_its_blocks_as_redis_reads_them(change: Change, blocks: str) -> None:
    assert str(record(LEASE, 1, None, change).blocks) == blocks


def test_records_that_do_not_follow_one_another_are_told_with_both_values() -> None:
    first, second, third = records(LEASE, [1, 2, 3])
    second.require_next_to(first)
    with pytest.raises(BrokenLinkError) as raised:
        third.require_next_to(first)
    assert (raised.value.expected, raised.value.found) == (first.id, second.id)
    moved = msgspec.structs.replace(second, before=msgspec.structs.replace(second.before, head=head(9)))
    with pytest.raises(BrokenLinkError) as raised:
        moved.require_next_to(first)
    assert (raised.value.expected, raised.value.found) == (first.after, moved.before)


@given(IDS)
def test_an_id_is_parsed_as_it_is_shown(name: RecordId) -> None:
    assert RecordId.parse(str(name)) == name


@pytest.mark.parametrize("text", ["", "1", "1-", "-1", "a-1", "1-2-3", "²-1", "1- 2", "9" * 5000 + "-1"])
def test_a_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(UnreadableRecordError):
        RecordId.parse(text)
