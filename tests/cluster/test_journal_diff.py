"""Whatever was done to a chain, its steps lead another one to the same standing."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.growing import DoneTo, Growing, doings, new_chain
from tests.cluster.replaying import Replayed, standing_of
from tests.drawing import examples
from tests.ethereum.development.playground import playground
from wsnode.cluster import journal_diff
from wsnode.cluster.journal_diff import STEPS_AT_ONCE, ChainOrigin, JournalStep, first_standing, next_steps
from wsnode.cluster.records import (
    BlockRecord,
    ChainIdRecord,
    FinalityRecord,
    PatchRecord,
    ReorgRecord,
    Rollback,
)
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import block_rlp, transaction_count
from wsnode.ethereum.live.branches import canonical_rows
from wsnode.ethereum.primitives.values import hexadecimal

ORIGIN = ChainOrigin(1, is_development=True)


def follow(chain: Chain, replayed: Replayed, most: int = STEPS_AT_ONCE) -> list[JournalStep]:
    """Make the first steps, and return them."""
    with chain.snapshot() as view:
        steps = next_steps(view, ORIGIN, standing_of(replayed.chain))[:most]
    for step in steps:
        replayed.apply(step.change, step.after)
    return steps


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(doings(), st.booleans(), st.integers(1, STEPS_AT_ONCE)), max_size=12))
def test_a_chain_that_follows_now_and_then_comes_to_stand_as_the_other(
    history: list[tuple[DoneTo, bool, int]],
) -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        for do, follows, most in history:
            do(growing)
            if follows:
                follow(chain, replayed, most)
        while follow(chain, replayed):
            pass
        assert standing_of(other) == standing_of(chain)


def test_a_record_is_a_block_unless_something_else_happened() -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        growing.extend(3)
        steps = follow(chain, replayed)
        assert [type(step.change) for step in steps] == [BlockRecord, BlockRecord, BlockRecord]
        growing.replace(2, 3)
        growing.patch(4096, 1)
        growing.set_chain_id(5)
        steps = follow(chain, replayed)
        assert [type(step.change) for step in steps] == [
            ReorgRecord,
            PatchRecord,
            ChainIdRecord,
        ]
        chain.mark_final(chain.head)
        assert [type(step.change) for step in follow(chain, replayed)] == [FinalityRecord]
        assert follow(chain, replayed) == []


def test_a_patch_is_not_repeated_and_one_that_was_undone_is() -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        growing.patch(4096, 1)
        assert [type(step.change) for step in follow(chain, replayed)] == [PatchRecord]
        growing.patch(4097, 1)
        assert [type(step.change) for step in follow(chain, replayed)] == [PatchRecord]
        growing.undo(0)
        assert [type(step.change) for step in follow(chain, replayed)] == [Rollback, PatchRecord]


def changes_after_replacing(chain: Chain, blocks: int) -> list[type]:
    """Return the changes by which a known chain comes to others in the place of its last two blocks."""
    growing = Growing(chain)
    known = standing_of(chain)
    growing.replace(2, blocks)
    with chain.snapshot() as view:
        steps = next_steps(view, ORIGIN, known)
    assert steps[-1].after.agrees_with(standing_of(chain))
    return [type(step.change) for step in steps]


def test_blocks_that_replace_others_are_one_record_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_diff, "REORG_BLOCKS", 3)
    with new_chain() as chain:
        Growing(chain).extend(4)
        assert changes_after_replacing(chain, 3) == [ReorgRecord]
        assert changes_after_replacing(chain, 4) == [ReorgRecord, BlockRecord]
        with chain.snapshot() as view:
            sizes = [len(block_rlp(*canonical_rows(view, number)[:2])) for number in (1, 2)]
        monkeypatch.setattr(journal_diff, "REORG_BYTES", 2 * max(sizes) + min(sizes) - 1)
        assert changes_after_replacing(chain, 2) == [ReorgRecord]
        assert changes_after_replacing(chain, 3) == [ReorgRecord, BlockRecord]


def test_a_block_beyond_the_bound_of_a_reorg_follows_a_rollback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_diff, "REORG_BYTES", 1)
    with new_chain() as chain:
        Growing(chain).extend(2)
        assert changes_after_replacing(chain, 2) == [Rollback, BlockRecord, BlockRecord]


def test_a_reorg_has_the_patches_of_its_ancestor_and_ends_with_those_of_a_block() -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        growing.extend(1)
        growing.patch(4096, 1)
        growing.extend(2)
        follow(chain, replayed)
        growing.replace(2, 2)
        growing.patch(4097, 1)
        growing.extend(1)
        reorg, *rest = follow(chain, replayed)
        assert isinstance(reorg.change, ReorgRecord)
        assert (len(reorg.change.patches), len(reorg.change.blocks)) == (1, 2)
        assert [type(step.change) for step in rest] == [PatchRecord, BlockRecord]
        assert standing_of(other) == standing_of(chain)


def test_a_reorg_has_no_block_of_another_chain_id() -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        growing.extend(2)
        follow(chain, replayed)
        growing.replace(2, 1)
        growing.set_chain_id(5)
        growing.extend(1)
        assert [type(step.change) for step in follow(chain, replayed)] == [
            ReorgRecord,
            ChainIdRecord,
            BlockRecord,
        ]
        growing.unwind(2)
        growing.set_chain_id(6)
        growing.extend(1)
        assert [type(step.change) for step in follow(chain, replayed)] == [
            Rollback,
            ChainIdRecord,
            BlockRecord,
        ]


def test_chosen_fees_and_limits_are_told() -> None:
    with new_chain() as chain:
        growing = Growing(chain)
        growing.extend(1)
        growing.extend(1, base_fee=10**9)
        growing.extend(1, gas_limit=10_000_000)
        with chain.snapshot() as view:
            steps = next_steps(view, ORIGIN, first_standing(view, ORIGIN, 9))
    assert [step.change.is_free for step in steps if isinstance(step.change, BlockRecord)] == [
        False,
        True,
        True,
    ]


def test_an_empty_journal_begins_below_the_head() -> None:
    with new_chain() as chain:
        growing = Growing(chain)
        growing.patch(4096, 1)
        growing.set_chain_id(7)
        growing.extend(2)
        growing.patch(4096, 2)
        at_two = standing_of(chain)
        growing.extend(3)
        with chain.snapshot() as view:
            genesis, second = (first_standing(view, ORIGIN, most) for most in (9, 3))
            steps = next_steps(view, ORIGIN, second)
    # Who begins with the genesis block has yet to make its patches.
    assert (genesis.head.number, genesis.chain_id) == (0, 1)
    assert (second.head, second.state_root, second.chain_id) == (at_two.head, at_two.state_root, 7)
    assert [step.after.head.number for step in steps] == [3, 4, 5]


def test_steps_come_in_portions() -> None:
    with new_chain() as chain, new_chain() as other:
        growing, replayed = Growing(chain), Replayed(other)
        growing.extend(STEPS_AT_ONCE + 3)
        assert len(follow(chain, replayed)) == STEPS_AT_ONCE
        assert len(follow(chain, replayed)) == 3


def test_senders_without_a_signature_are_told(tmp_path: Path) -> None:
    strange = [bytes(19) + b"\1", b"\xaa" * 20]
    with playground(tmp_path) as chain:
        chain("evm_setAutomine", False)
        for sender in map(hexadecimal, strange):
            chain("anvil_setBalance", sender, hex(10**18))
            chain("anvil_impersonateAccount", sender)
            chain.send(sender)
        chain.send()
        chain("evm_mine")
    with Chain.open(tmp_path / "eth", writer=False) as stored, stored.snapshot() as view:
        *_, step = next_steps(view, ORIGIN, first_standing(view, ORIGIN, 9))
        _header, body, _receipts = canonical_rows(view, 1)
    assert isinstance(step.change, BlockRecord)
    assert sorted(step.change.senders.values()) == sorted(strange)
    assert len(step.change.senders) == 2 < transaction_count(body)
