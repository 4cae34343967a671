"""The records that a journal lacks of a Starknet chain follow from its store: blocks and classes."""

from pathlib import Path

import msgspec
import pytest
import trio

from tests.cluster.starknet.growing import GrowingStarknet, new_starknet_chain, sierra
from tests.vector_files import find_vectors, require_vectors
from wsnode.cluster.records import ChainState, ClassesRecord, ReorgRecord, StarknetBlockRecord
from wsnode.cluster.starknet import source as subject
from wsnode.cluster.starknet.chain_states import EMPTY, standing_at
from wsnode.cluster.starknet.documents import (
    UnreadableDocumentError,
    block_document,
    read_block,
    read_classes,
)
from wsnode.cluster.starknet.source import first_standing, next_steps
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.state_diff import StateDiff
from wsnode.sync.starknet_folder import import_folder


def kinds(chain: StarknetChain, known: ChainState = EMPTY) -> list[str]:
    with chain.snapshot() as view:
        return [type(step.change).__name__ for step in next_steps(view, known)]


def test_the_classes_of_a_block_go_before_it() -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.declare([0, 1], are_found=True)
        growing.declare([0], are_found=True)
        with chain.snapshot() as view:
            steps = next_steps(view, EMPTY)
        assert [type(step.change) for step in steps] == [
            StarknetBlockRecord,
            ClassesRecord,
            StarknetBlockRecord,
            StarknetBlockRecord,
        ]
        classes = steps[1].change
        assert isinstance(classes, ClassesRecord)
        assert set(read_classes(classes.document)) == {sierra(0).class_hash, sierra(1).class_hash}
        assert [step.change.chain_id for step in steps if isinstance(step.change, StarknetBlockRecord)] == [
            "TEST",
            "",
            "",
        ]


def test_a_class_that_is_found_late_goes_by_itself_and_once() -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.declare([0, 1], are_found=False)
        growing.extend(1)
        assert kinds(chain) == ["StarknetBlockRecord"] * 3
        with chain.snapshot() as view:
            before = next_steps(view, EMPTY)[-1].after
        growing.find([1])
        with chain.snapshot() as view:
            (late,) = next_steps(view, before)
            assert next_steps(view, late.after) == []
            # Readers may have all blocks already, of which they read none again.
            assert [type(each.change) for each in next_steps(view, EMPTY)] == [
                *[StarknetBlockRecord] * 3,
                ClassesRecord,
            ]
        assert isinstance(late.change, ClassesRecord)
        assert set(read_classes(late.change.document)) == {sierra(1).class_hash}


def test_a_class_that_only_dropped_blocks_name_is_not_published() -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.declare([0], are_found=False)
        with chain.snapshot() as view:
            before = next_steps(view, EMPTY)[-1].after
        growing.find([0])
        growing.replace(1, 1)
        with chain.snapshot() as view:
            assert [type(step.change) for step in next_steps(view, before)] == [ReorgRecord]


def test_the_steps_never_end_between_classes_and_their_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "STEPS_AT_ONCE", 1)
    monkeypatch.setattr(subject, "CLASS_BYTES", 1)
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.declare([0, 1, 2], are_found=True)
        assert kinds(chain) == ["StarknetBlockRecord"]
        with chain.snapshot() as view:
            first = standing_at(view, 0)
        assert kinds(chain, first) == ["ClassesRecord"] * 3 + ["StarknetBlockRecord"]


def test_the_classes_of_blocks_that_replace_others_go_before_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.extend(2)
        with chain.snapshot() as view:
            known = standing_at(view, 2)
        growing.replace(2, 1)
        growing.declare([0], are_found=True)
        growing.declare([1], are_found=True)
        assert kinds(chain, known) == ["ClassesRecord", "ReorgRecord"]
        monkeypatch.setattr(subject, "REORG_CLASS_BYTES", len(sierra(0).rendered))
        assert kinds(chain, known) == ["ClassesRecord", "ReorgRecord", "ClassesRecord", "StarknetBlockRecord"]
        monkeypatch.setattr(subject, "REORG_BLOCKS", 1)
        assert kinds(chain, known) == ["ReorgRecord", *["ClassesRecord", "StarknetBlockRecord"] * 2]
        monkeypatch.setattr(subject, "REORG_BLOCKS", 9)
        monkeypatch.setattr(subject, "REORG_BYTES", 1)
        assert kinds(chain, known)[0] == "ReorgRecord"
        chain.append([], [], after=0)
        assert kinds(chain, known) == ["Rollback"]


def test_an_empty_journal_begins_so_many_blocks_below_the_head_or_with_all() -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        with chain.snapshot() as view:
            assert first_standing(view, 9) == EMPTY
        growing.begin()
        growing.extend(3)
        with chain.snapshot() as view:
            assert first_standing(view, 4) == EMPTY
            assert first_standing(view, 3) == standing_at(view, 0)
            assert first_standing(view, 1) == standing_at(view, 2)


def test_a_real_block_is_read_as_it_is_stored(tmp_path: Path) -> None:
    mainnet = require_vectors("starknet/mainnet")
    with StarknetChain.open(tmp_path, writer=True) as chain:
        trio.run(import_folder, chain, mainnet, find_vectors("starknet/classes"))
        with chain.snapshot() as view:
            for number in range(10):
                row, block = view.block(number), read_block(block_document(view, number))
                assert row is not None
                assert (row.hash, row.parent_hash) == (block.hash, block.header.parent_hash)
                assert (row.old_root, row.new_root) == (block.old_root, block.new_root)
                assert (row.timestamp, row.version) == (block.header.timestamp, block.header.version)
                assert block.diff.deployed or block.diff != StateDiff()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"block_hash":"0x1","old_root":"0x0","new_root":"0x0","state_diff":{"storage_diffs":[]}}',
        b'{"block_hash":"0x1","block_number":-1,"old_root":"0x0","new_root":"0x0",'
        b'"state_diff":{"storage_diffs":[]}}',
        b'{"block_hash":"0x1","block_number":1,"timestamp":18446744073709551616,"old_root":"0x0",'
        b'"new_root":"0x0","state_diff":{"storage_diffs":[]}}',
        b'{"block_hash":"0x1","block_number":1,"old_root":"0x0","new_root":"0x0",'
        b'"state_diff":{"storage_diffs":[{"address":"0x1","storage_entries":[{"key":"0x1","value":"zz"}]}]}}',
    ],
)
def test_what_holds_no_block_is_not_read(text: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        read_block(text)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"zz":{}}', b'{"0x1":'])
def test_what_holds_no_classes_is_not_read(text: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        read_classes(text)


def test_a_count_of_another_store_is_not_gone_on_with() -> None:
    with new_starknet_chain() as chain:
        growing = GrowingStarknet(chain)
        growing.begin()
        growing.declare([0, 1], are_found=False)
        growing.find([0])
        with chain.snapshot() as view:
            others = msgspec.structs.replace(standing_at(view, 1), late=7)
            (late,) = next_steps(view, others)
            assert (type(late.change), late.after.late) == (ClassesRecord, 1)
            assert next_steps(view, late.after) == []
