"""An import of another branch, in place of the chain's last blocks."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.starknet.branches import branch, write_dump
from wsnode.demo.starknet_chain import StarknetBlockMaker
from wsnode.starknet import importer
from wsnode.starknet.block import StateDiff, UnverifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import number_felt
from wsnode.starknet.storage.tables import (
    CLASS_AT,
    COMPILED_AT,
    DROPPED,
    NONCE_AT,
    STORAGE_AT,
    TABLES,
    number_key,
)
from wsnode.store.table import scan
from wsnode.sync.starknet_folder import import_folder

Rows = dict[str, list[tuple[bytes, bytes]]]

OLD = branch([[1, 2], [3], [4, 5], [6], [7, 8]])
NEW = branch([[1, 2], [3], [9], [0, 10, 11]])
"""Both have the first two blocks."""


def rows(chain: StarknetChain) -> Rows:
    """Return all that is stored, but for what is known of replaced blocks."""
    with chain.reader() as reader:
        return {table.name: list(scan(reader, table, b"")) for table in TABLES if table is not DROPPED}


def dropped(chain: StarknetChain, blocks: list[UnverifiedStarknetBlock]) -> list[tuple[int, bytes] | None]:
    with chain.snapshot() as view:
        return [view.dropped(block.hash) for block in blocks]


async def test_another_branch_is_refused_unless_it_is_to_replace(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    await import_folder(fresh, write_dump(tmp_path / "old.jsonl", OLD))
    before = rows(fresh)
    new = write_dump(tmp_path / "new.jsonl", NEW)
    with pytest.raises(InvalidStarknetBlockError, match=r"block 2 .*: block_hash: expected .* as stored"):
        await import_folder(fresh, new)
    assert rows(fresh) == before
    outcome = await import_folder(fresh, new, replace=True)
    assert outcome.roots_verified
    assert (outcome.blocks, outcome.head) == (2, (3, NEW[3].hash))
    assert dropped(fresh, OLD) == [
        None,
        None,
        *((block.number, under.hash) for under, block in pairwise(OLD[1:])),
    ]


async def test_the_other_branch_may_lack_what_both_have(fresh: StarknetChain, tmp_path: Path) -> None:
    await import_folder(fresh, write_dump(tmp_path / "old.jsonl", OLD))
    outcome = await import_folder(fresh, write_dump(tmp_path / "new.jsonl", NEW[2:]), replace=True)
    assert outcome.head == (3, NEW[3].hash)
    assert (await import_folder(fresh, tmp_path / "new.jsonl", replace=True)).blocks == 0


async def test_a_chain_with_no_block_in_common_is_never_replaced(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    await import_folder(fresh, write_dump(tmp_path / "old.jsonl", OLD))
    before = rows(fresh)
    with pytest.raises(InvalidStarknetBlockError, match=r"block 0 .*: block_hash"):
        await import_folder(fresh, write_dump(tmp_path / "new.jsonl", branch([[5]])), replace=True)
    assert rows(fresh) == before


async def test_nobody_sees_the_chain_without_one_of_the_branches(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    await import_folder(fresh, write_dump(tmp_path / "old.jsonl", OLD))
    before = rows(fresh)
    seen: list[bool] = []

    def look(*_progress: int) -> None:
        seen.append(rows(fresh) == before)

    await import_folder(fresh, write_dump(tmp_path / "new.jsonl", NEW), replace=True, progress=look)
    assert seen == [True, True]


@pytest.mark.parametrize("broken", [2, 3])
async def test_a_broken_branch_replaces_nothing_or_as_far_as_it_is_whole(
    fresh: StarknetChain, tmp_path: Path, broken: int
) -> None:
    await import_folder(fresh, write_dump(tmp_path / "old.jsonl", OLD))
    before = rows(fresh)
    spoilt = [
        msgspec.structs.replace(block, old_root=b"\x01" * 32) if block.number == broken else block
        for block in NEW
    ]
    with pytest.raises(InvalidStarknetBlockError, match=rf"block {broken} .*: old_root"):
        await import_folder(fresh, write_dump(tmp_path / "new.jsonl", spoilt), replace=True)
    if broken == 2:
        assert rows(fresh) == before
    else:
        assert rows(fresh)["blocks"][-1][0] == number_key(2)


contents = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=4)


@pytest.mark.parametrize("batch", [1, 256])
@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(common=contents, old=contents, new=contents)
def test_what_is_stored_is_what_an_import_of_the_new_branch_alone_stores(
    batch: int, common: list[list[int]], old: list[list[int]], new: list[list[int]]
) -> None:
    # The last value keeps the branches apart.
    old_branch = branch([*common, *([*values, 8] for values in old)])
    new_branch = branch([*common, *([*values, 9] for values in new)])
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(importer, "BATCH_BLOCKS", batch)
        folder = Path(name)
        first = write_dump(folder / "old.jsonl", old_branch)
        second = write_dump(folder / "new.jsonl", new_branch)
        with (
            StarknetChain.open(folder / "a", writer=True) as replaced,
            StarknetChain.open(folder / "b", writer=True) as alone,
        ):
            trio.run(import_folder, replaced, first)
            trio.run(partial(import_folder, replaced, second, replace=True))
            trio.run(import_folder, alone, second)
            assert rows(replaced) == rows(alone)
            assert any(rows(replaced)[table.name] for table in (CLASS_AT, NONCE_AT, STORAGE_AT, COMPILED_AT))


async def test_a_contract_of_the_replaced_blocks_can_be_deployed_again(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    contract, class_hash = number_felt(0x77), number_felt(0x88)
    for nonce in (1, 2):
        maker = StarknetBlockMaker()
        blocks = [
            maker.make(diff)
            for diff in (
                StateDiff(),
                StateDiff(deployed=[(contract, class_hash)], nonces=[(contract, number_felt(nonce))]),
                StateDiff(deployed=[(contract, class_hash)]),
            )
        ]
        dump = write_dump(tmp_path / f"{nonce}.jsonl", blocks[:2])
        assert (await import_folder(fresh, dump, replace=True)).head == (1, blocks[1].hash)
        twice = write_dump(tmp_path / "twice.jsonl", blocks)
        with pytest.raises(InvalidStarknetBlockError, match=r"block 2 .*: deployed_contracts"):
            await import_folder(fresh, twice, replace=True)


async def test_a_dump_that_is_refused_is_not_left_open(fresh: StarknetChain, tmp_path: Path) -> None:
    maker = StarknetBlockMaker()
    deployed = StateDiff(deployed=[(number_felt(0x77), number_felt(0x88))])
    dump = write_dump(tmp_path / "twice.jsonl", [maker.make(deployed), maker.make(deployed)])
    # The error has the frames of the import with it.
    with pytest.raises(InvalidStarknetBlockError) as refused:
        await import_folder(fresh, dump)
    assert dump not in open_files()
    assert "deployed_contracts" in str(refused.value)


def open_files() -> list[Path]:
    """Return the paths of this process's open files."""
    # The descriptor of the folder itself is gone by the time it is looked at.
    return [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
