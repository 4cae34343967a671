"""Transactions of a Starknet chain are damaged in turn, and the damage named."""

from pathlib import Path

import pytest
import trio

from tests.doctor.damage import Damage, Silence, add, cut, damaged, drop, last_row
from tests.vector_files import CHECKOUT
from wsnode.doctor.examine import examine
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import BODIES, EVENT_BLOOMS, TABLES, TRANSACTIONS
from wsnode.store.table import Table
from wsnode.sync.starknet_folder import import_folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dump, folder = (tmp_path_factory.mktemp(name) for name in ("dump", "doctor"))
    block, update = (CHECKOUT / "fuzz/corpus/starknet/seed-poseidon").read_bytes().split(b"\0")
    (dump / "block.json").write_bytes(block)
    (dump / "update.json").write_bytes(update)
    with StarknetChain.open(folder, writer=True) as chain:

        async def bring() -> None:
            await import_folder(chain, dump, first_block=9, chain_id="SN_TEST")

        trio.run(bring)
    return folder


def test_a_sound_folder_has_no_fault(data: Path) -> None:
    assert examine(data, Silence())["alt"].faults == {}


@pytest.mark.parametrize("table", [BODIES, EVENT_BLOOMS, TRANSACTIONS], ids=lambda table: table.name)
@pytest.mark.parametrize("damage", [drop, cut, add])
def test_a_damaged_row_is_named_by_its_table(data: Path, table: Table, damage: Damage) -> None:
    key, value = last_row(data / "alt/chain", TABLES, table)
    with damaged(data / "alt/chain", TABLES, table, damage, key, value):
        assert table.name in examine(data, Silence())["alt"].faults
