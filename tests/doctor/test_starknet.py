"""Each table of a Starknet chain's folder is damaged in turn, and the damage named."""

from contextlib import closing
from pathlib import Path

import pytest
import trio

from tests.doctor.damage import Damage, Silence, add, cut, damaged, drop, last_row
from tests.vector_files import find_vectors, require_vectors
from wsnode.doctor.examine import examine
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import (
    BLOCKS,
    BODIES,
    CLASSES,
    COMPILED_AT,
    DROPPED,
    EVENT_BLOOMS,
    META,
    MISSING,
    TABLES,
    TRANSACTIONS,
)
from wsnode.store.environment import Environment
from wsnode.store.table import Table
from wsnode.sync.starknet_folder import import_folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor")
    with StarknetChain.open(folder, writer=True) as chain:
        trio.run(import_folder, chain, require_vectors("starknet/mainnet"), find_vectors("starknet/classes"))
    return folder


@pytest.fixture(
    params=[
        table
        for table in TABLES
        if table not in (META, DROPPED, COMPILED_AT, BODIES, EVENT_BLOOMS, TRANSACTIONS)
    ],
    ids=lambda table: table.name,
)
def row(data: Path, request: pytest.FixtureRequest) -> tuple[Table, bytes, bytes]:
    with closing(Environment(data / "alt/chain", TABLES, writer=False)) as store, store.read() as reader:
        if not reader.entries(request.param):
            pytest.skip("the vectors leave this table empty")
    return request.param, *last_row(data / "alt/chain", TABLES, request.param)


def faults(data: Path) -> set[str]:
    return set(examine(data, Silence())["alt"].faults)


def test_a_sound_folder_has_no_fault(data: Path) -> None:
    found = examine(data, Silence())["alt"]
    assert found.faults == {}
    assert found.checked["blocks"] == found.checked["state roots"] == 10
    assert found.notes == []


@pytest.mark.slow
@pytest.mark.parametrize("damage", [drop, cut, add])
def test_a_damaged_row_is_named_by_its_table(
    data: Path, row: tuple[Table, bytes, bytes], damage: Damage
) -> None:
    table, key, value = row
    # A class that is neither there nor listed as missing is looked for among the classes.
    wanted = CLASSES if (table, damage) == (MISSING, drop) else table
    with damaged(data / "alt/chain", TABLES, table, damage, key, value):
        assert wanted.name in faults(data)


def test_a_root_that_its_diffs_do_not_make_is_a_fault(data: Path) -> None:
    key, value = last_row(data / "alt/chain", TABLES, BLOCKS)
    root = value.index(examine_root(data))
    changed = value[:root] + bytes(32) + value[root + 32 :]
    with damaged(data / "alt/chain", TABLES, BLOCKS, lambda w, t, k, _: w.put(t, k, changed), key, value):
        assert faults(data) == {"roots"}


def examine_root(data: Path) -> bytes:
    with StarknetChain.open(data, writer=False) as chain, chain.snapshot() as view:
        block = view.block(view.head or 0)
        assert block is not None
        return block.new_root
