"""A chain that repeats what another one's journal tells stands as that one does, and refuses all else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.growing import DoneTo, Growing, doings, new_chain
from tests.cluster.memory_journal import MemoryJournal
from tests.cluster.replaying import standing_of
from tests.cluster.tenure.tenures import tenure_of
from tests.drawing import examples
from wsnode.cluster.chain_source import EthereumSource
from wsnode.cluster.leader_session import PublishedChain
from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    ChainState,
    FinalityRecord,
    PatchRecord,
    Record,
    Rollback,
)
from wsnode.cluster.replica.apply import LogApplier
from wsnode.cluster.replica.chain_states import is_reachable
from wsnode.cluster.replica.errors import GapError, RefusedRecordError
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.tree.tree import BlockTree


class Pair:
    """A chain that is written and published, and one that repeats it."""

    def __init__(self, written: Chain, repeated: Chain) -> None:
        self.growing = Growing(written)
        self.chain = repeated
        self.tree = BlockTree(repeated)
        self.applier = LogApplier(repeated, self.tree, is_development=True)
        self.journal = MemoryJournal(written.spec.genesis_hash)
        self._published = PublishedChain(EthereumSource(written, is_development=True), "writer")

    def records(self) -> list[Record]:
        """Return the records from the journal's last one to what is written by now."""
        before = len(self.journal.written)
        trio.run(tenure_of, self._published, self.journal)
        return self.journal.written[before:]

    def repeat(self) -> None:
        for record in self.records():
            self.applier.apply(record)
        assert standing_of(self.chain) == standing_of(self.growing.chain)


@contextmanager
def pair() -> Iterator[Pair]:
    with new_chain() as written, new_chain() as repeated:
        yield Pair(written, repeated)


@settings(max_examples=examples(30))
@given(st.lists(st.lists(doings(), min_size=1, max_size=6), max_size=4))
def test_whatever_is_done_to_a_chain_is_repeated(rounds: list[list[DoneTo]]) -> None:
    with pair() as both:
        for deeds in rounds:
            for do in deeds:
                do(both.growing)
            both.repeat()
        # A chain that is further than the record with which it begins ends the same.
        for start, first in enumerate(both.journal.written):
            with both.chain.snapshot() as view:
                if not is_reachable(view, first.before):
                    continue
            for record in both.journal.written[start:]:
                both.applier.apply(record)
            assert standing_of(both.chain) == standing_of(both.growing.chain)


def forged(record: Record, **members: object) -> Record:
    return msgspec.structs.replace(record, **members)


def flip(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


OTHER = Hash32(keccak256(b"other"))


def other_root(record: Record) -> Record:
    return forged(record, after=msgspec.structs.replace(record.after, state_root=OTHER))


def other_head(record: Record) -> Record:
    head = Head(record.after.head.number, OTHER)
    return forged(record, after=msgspec.structs.replace(record.after, head=head))


def other_id(record: Record) -> Record:
    return forged(record, after=msgspec.structs.replace(record.after, chain_id=77))


def other_mark(record: Record) -> Record:
    return forged(record, after=msgspec.structs.replace(record.after, safe=Head(BlockNumber(1), OTHER)))


def flipped_block(record: Record) -> Record:
    assert isinstance(record.change, BlockRecord)
    return forged(record, change=BlockRecord(flip(record.change.rlp, len(record.change.rlp) // 2)))


def cut_block(record: Record) -> Record:
    assert isinstance(record.change, BlockRecord)
    return forged(record, change=BlockRecord(record.change.rlp[:-1]))


def other_senders(record: Record) -> Record:
    assert isinstance(record.change, BlockRecord)
    return forged(record, change=BlockRecord(record.change.rlp, {0: msgspec.convert(bytes(20), bytes)}))  # type: ignore[dict-item]


FORGERIES: list[tuple[str, Callable[[Record], Record]]] = [
    ("extend", other_root),
    ("extend", other_head),
    ("extend", other_id),
    ("extend", other_mark),
    ("extend", flipped_block),
    ("extend", cut_block),
    ("extend", other_senders),
    ("patch", other_root),
    ("patch", other_id),
    ("unwind", other_root),
    ("unwind", other_head),
    ("chain_id", other_root),
    ("patch", lambda record: forged(record, change=FinalityRecord())),
    ("patch", lambda record: forged(record, change=Rollback())),
    ("patch", lambda record: forged(record, change=ChainIdRecord())),
    ("patch", lambda record: forged(record, change=PatchRecord(b"{"))),
    ("patch", lambda record: forged(record, change=PatchRecord(b"{}"))),
]


@pytest.mark.parametrize(("kind", "forge"), FORGERIES)
def test_a_forged_record_is_refused_and_changes_nothing(kind: str, forge: Callable[[Record], Record]) -> None:
    with pair() as both:
        both.growing.extend(3)
        both.repeat()
        change(both.growing, kind)
        record = both.records()[0]
        before = standing_of(both.chain)
        with pytest.raises(RefusedRecordError, match=f"^record {record.id} is refused: ") as raised:
            both.applier.apply(forge(record))
        assert "\n" not in str(raised.value)
        assert standing_of(both.chain) == before
        # The genuine record still fits.
        both.applier.apply(record)
        assert standing_of(both.chain).head == record.after.head


def change(growing: Growing, kind: str) -> None:
    match kind:
        case "extend":
            growing.extend(1)
        case "patch":
            growing.patch(4096, 5)
        case "unwind":
            growing.unwind(1)
        case "chain_id":
            growing.set_chain_id(5)


@pytest.mark.parametrize("kind", ["patch", "chain_id"])
def test_a_chain_that_is_no_development_one_takes_no_change_without_a_block(kind: str) -> None:
    with pair() as both:
        change(both.growing, kind)
        strict = LogApplier(both.chain, both.tree, is_development=False)
        with pytest.raises(RefusedRecordError, match="a change that only development chains may have"):
            strict.apply(both.records()[0])


def test_a_chain_that_is_no_development_one_takes_no_chosen_fee() -> None:
    with pair() as both:
        both.growing.extend(1, base_fee=123_456)
        strict = LogApplier(both.chain, both.tree, is_development=False)
        record = both.records()[0]
        with pytest.raises(RefusedRecordError, match="a change that only development chains may have"):
            strict.apply(record)
        assert isinstance(record.change, BlockRecord)
        with pytest.raises(RefusedRecordError, match="base_fee: expected 875000000, got 123456"):
            strict.apply(forged(record, change=BlockRecord(record.change.rlp)))


def test_records_after_what_is_missing_are_a_gap() -> None:
    with pair() as both:
        both.growing.extend(3)
        records = both.records()
        before = standing_of(both.chain)
        with pytest.raises(GapError, match=r"restore a snapshot"):
            both.applier.apply(records[-1])
        assert standing_of(both.chain) == before


def test_marks_follow() -> None:
    with pair() as both:
        both.growing.extend(2)
        both.repeat()
        both.growing.chain.mark_final(both.growing.chain.head)
        both.repeat()
        found: ChainState = standing_of(both.chain)
        assert found.finalized == found.head
