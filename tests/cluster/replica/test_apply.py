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
from tests.ethereum.tree.watching import watched_heads
from wsnode.cluster.journal_diff import EthereumSource
from wsnode.cluster.leader_session import PublishedChain
from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    ChainState,
    FinalityRecord,
    PatchRecord,
    Record,
    ReorgRecord,
    Rollback,
)
from wsnode.cluster.replica.apply import GapError, LogApplier, RefusedRecordError, is_reachable
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

    def repeats(self, records: list[Record]) -> bool:
        """Apply records; return False at the first whose end the chain did not store when it left it.

        A patch that was taken back and a chain id that no block had are such states: a follower begins with
        a later record then.
        """
        for record in records:
            before = standing_of(self.chain)
            try:
                self.applier.apply(record)
            except GapError:
                with self.chain.snapshot() as view:
                    assert not is_reachable(view, record.after)
                assert standing_of(self.chain) == before
                return False
        return True


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
            if both.repeats(both.journal.written[start:]):
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


def blocks_of(record: Record) -> tuple[BlockRecord, ...]:
    assert isinstance(record.change, ReorgRecord)
    return record.change.blocks


def with_reorg(record: Record, **members: object) -> Record:
    assert isinstance(record.change, ReorgRecord)
    return forged(record, change=msgspec.structs.replace(record.change, **members))


def with_ancestor(record: Record, **members: object) -> Record:
    assert isinstance(record.change, ReorgRecord)
    return with_reorg(record, ancestor=msgspec.structs.replace(record.change.ancestor, **members))


def with_old_mark(record: Record) -> Record:
    """Return a record that marks a block which leaves the chain."""
    return forged(record, after=msgspec.structs.replace(record.after, safe=record.before.head))


def flipped_last_block(record: Record) -> Record:
    """Return a record whose last block breaks a rule that only its execution shows."""
    first, last = blocks_of(record)
    assert isinstance(last, BlockRecord)
    return with_reorg(record, blocks=(first, BlockRecord(flip(last.rlp, len(last.rlp) // 2))))


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
    ("reorg", other_root),
    ("reorg", other_head),
    ("reorg", other_id),
    ("reorg", other_mark),
    ("reorg", with_old_mark),
    ("reorg", lambda record: with_reorg(record, blocks=())),
    ("reorg", lambda record: with_reorg(record, blocks=blocks_of(record)[1:])),
    ("reorg", lambda record: with_reorg(record, blocks=blocks_of(record)[:1])),
    ("reorg", lambda record: with_reorg(record, blocks=(blocks_of(record)[0],) * 2)),
    ("reorg", flipped_last_block),
    ("reorg", lambda record: with_ancestor(record, state_root=OTHER)),
    ("reorg", lambda record: with_ancestor(record, head=Head(BlockNumber(2), OTHER))),
    ("reorg", lambda record: with_ancestor(record, head=Head(BlockNumber(2**64 - 1), OTHER))),
    ("reorg", lambda record: with_ancestor(record, chain_id=77)),
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
        case "reorg":
            growing.replace(1, 2)


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


def commits(chain: Chain, work: Callable[[], None]) -> int:
    """Return the number of commits that work makes."""
    before = chain.version
    work()
    return chain.version - before


@pytest.mark.parametrize("patched", [False, True], ids=["a plain ancestor", "a patched ancestor"])
def test_a_reorganisation_is_one_commit(*, patched: bool) -> None:
    with pair() as both:
        both.growing.extend(2)
        if patched:
            both.growing.patch(4096, 1)
        both.growing.extend(3)
        both.repeat()
        both.growing.replace(3, 5)
        both.growing.chain.mark_final(both.growing.chain.head)
        (record,) = both.records()
        assert isinstance(record.change, ReorgRecord)
        assert commits(both.chain, lambda: both.applier.apply(record)) == 1
        assert standing_of(both.chain) == standing_of(both.growing.chain)
        assert commits(both.chain, lambda: both.applier.apply(record)) == 0


def test_a_reorganisation_replaces_blocks_beyond_the_journal_too() -> None:
    with pair() as both:
        both.growing.extend(4)
        both.repeat()
        lost = both.journal.written[-1]
        both.journal.lose(1)
        both.growing.replace(2, 1)
        (record,) = both.records()
        assert record.before == lost.before
        assert commits(both.chain, lambda: both.applier.apply(record)) == 1
        assert standing_of(both.chain) == standing_of(both.growing.chain)


def test_patches_of_an_ancestor_are_made_where_they_are_missing() -> None:
    with pair() as both:
        both.growing.extend(2)
        both.growing.patch(4096, 1)
        both.growing.extend(1)
        both.repeat()
        both.growing.unwind(1)
        both.growing.patch(4097, 1)
        both.growing.extend(2)
        (record,) = both.records()
        assert isinstance(record.change, ReorgRecord)
        assert len(record.change.patches) == 2
        strict = LogApplier(both.chain, both.tree, is_development=False)
        before = standing_of(both.chain)
        with pytest.raises(RefusedRecordError, match="a change that only development chains may have"):
            strict.apply(record)
        assert standing_of(both.chain) == before
        with pytest.raises(RefusedRecordError, match="its patches lead to"):
            both.applier.apply(with_reorg(record, patches=(PatchRecord(b"{}"),)))
        both.applier.apply(record)
        assert standing_of(both.chain) == standing_of(both.growing.chain)


def test_a_reorganisation_from_another_chain_id_is_repeated() -> None:
    with pair() as both:
        both.growing.extend(2)
        both.repeat()
        both.growing.replace(1, 2)
        (record,) = both.records()
        # As after a loss of the journal's end: the chain has an id that its writer has not given it again.
        both.chain.set_chain_id(7)
        both.applier.apply(record)
        assert standing_of(both.chain) == standing_of(both.growing.chain)


def test_a_reorganisation_of_blocks_that_are_not_here_is_a_gap() -> None:
    with pair() as both:
        both.growing.extend(3)
        both.records()
        both.growing.replace(1, 2)
        (record,) = both.records()
        with pytest.raises(GapError, match="the journal continues after block 2 0x"):
            both.applier.apply(record)
        assert both.chain.head.number == 0


@pytest.mark.slow
@pytest.mark.parametrize("reorgs", [100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_other_processes_see_the_head_before_a_reorganisation_or_after_it(reorgs: int) -> None:
    with pair() as both:
        both.growing.extend(3)
        both.repeat()
        heads = {both.chain.head.hash}
        with watched_heads(both.chain.folder.path) as seen:
            for number in range(reorgs):
                both.growing.replace(1 + number % 3, 1 + number % 4)
                both.growing.extend(1)
                both.repeat()
                heads |= {record.after.head.hash for record in both.journal.written[-2:]}
        assert seen <= heads


def test_a_block_of_another_branch_replaces_those_beyond_the_journal_in_one_commit() -> None:
    with pair() as both:
        both.growing.extend(2)
        both.repeat()
        shared = both.journal.entries
        both.growing.extend(3)
        both.repeat()
        # The journal lost the blocks, and its writer the chain: another branch follows what both have.
        both.journal.lose(both.journal.entries - shared)
        both.growing.replace(3, 1)
        (record,) = both.records()
        assert isinstance(record.change, BlockRecord)
        assert commits(both.chain, lambda: both.applier.apply(record)) == 1
        assert standing_of(both.chain) == standing_of(both.growing.chain)
