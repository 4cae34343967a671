"""Each table of an EVM chain's folder is damaged in turn, and the damage named."""

import shutil
from pathlib import Path

import pytest

from tests.doctor.damage import (
    STATE,
    Damage,
    Silence,
    add,
    change,
    cut,
    damaged,
    drop,
    first_row,
    flip,
    last_row,
)
from tests.ethereum.development.playground import playground
from tests.ethereum.lighting import light_folder
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain, growing_chain
from tests.node_process import import_chain
from tests.store.damaged_bytes import flipped, stored
from tests.vector_files import require_vectors
from wsnode.doctor.chain.examine import examine as examine_chain
from wsnode.doctor.examine import examine
from wsnode.doctor.faults import MAX_SHOWN, FaultCollector
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.logs.filter import Log
from wsnode.ethereum.storage.tables import ACCESS_LISTS, HEADERS, META, TABLES, TRANSACTIONS, number_key
from wsnode.store.environment import Writer
from wsnode.store.table import Progress, Table

WITHOUT_ROWS = [table for table in STATE if table.name in ("storage", "storage_nodes", "patches")]
"""Tables without rows: the contracts of `data` have no storage, and no state of it was patched."""
LOGS: list[list[Log]] = [
    [(EMITTERS[1], TOPICS[:2]), (EMITTERS[0], ()), (EMITTERS[0], TOPICS[:1])],
    [],
    [(EMITTERS[2], TOPICS[:3])] * 12,
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a chain of a few blocks, and some beside it."""
    folder = tmp_path_factory.mktemp("doctor")
    with growing_chain(folder / "eth") as growing:
        for number in range(8):
            growing.grow(LOGS[number % len(LOGS)])
        growing.reorganise(3, LOGS)
        growing.chain.mark_final(growing.chain.head)
    return folder


def faults(data: Path) -> dict[str, str]:
    """Return the first fault of each table."""
    found = examine(data, Silence())["eth"]
    return {table: str(first[0]) for table, first in found.faults.items()}


def test_a_sound_folder_has_no_fault_and_is_not_changed(data: Path) -> None:
    before = {path: path.read_bytes() for path in data.rglob("data.mdb")}
    found = examine(data, Silence())["eth"]
    assert found.faults == {}
    assert found.range["head"]["number"] == 8
    assert found.checked["blocks"] == 9
    assert found.checked["side blocks"] == 3
    assert found.checked["logs"] == 3 + 12 + 3 + 3 + 12
    assert found.checked["earlier states"] == 8
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("damage", [drop, flip, cut, add])
@pytest.mark.parametrize(
    "table", [each for each in TABLES if each not in (META, ACCESS_LISTS, *STATE)], ids=lambda each: each.name
)
def test_a_damaged_row_is_named_by_its_table(data: Path, table: Table, damage: Damage) -> None:
    row = last_row(data / "eth/chain", TABLES, table)
    with damaged(data / "eth/chain", TABLES, table, damage, *row):
        assert table.name in faults(data)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [drop, flip, cut, add])
def test_a_damaged_access_list_is_named(damage: Damage, tmp_path: Path) -> None:
    vectors = require_vectors("amsterdam/limit")
    imported = import_chain(tmp_path, vectors / "genesis.json", [vectors / "chain.rlp.gz"])
    assert imported.returncode == 0, imported.stderr
    assert faults(tmp_path) == {}
    row = last_row(tmp_path / "eth/chain", TABLES, ACCESS_LISTS)
    with damaged(tmp_path / "eth/chain", TABLES, ACCESS_LISTS, damage, *row):
        assert faults(tmp_path).keys() == {"access_lists"}


@pytest.mark.parametrize("mark", [b"head", b"safe", b"finalized"])
@pytest.mark.parametrize("damage", [flip, cut])
def test_a_damaged_mark_is_named(data: Path, mark: bytes, damage: Damage) -> None:
    value = number_key(8) + bytes.fromhex(examine(data, Silence())["eth"].range["head"]["hash"][2:])
    with damaged(data / "eth/chain", TABLES, META, damage, mark, value):
        assert "meta" in faults(data)


@pytest.mark.parametrize("damage", [drop, flip, cut, add])
@pytest.mark.parametrize(
    "table", [each for each in STATE if each not in WITHOUT_ROWS], ids=lambda each: each.name
)
def test_a_damaged_row_of_the_state_is_named(data: Path, table: Table, damage: Damage) -> None:
    row = last_row(data / "eth/chain", TABLES, table)
    with damaged(data / "eth/chain", TABLES, table, damage, *row):
        found = faults(data)
        # An old version of a value shows in the state after its block.
        assert found.keys() & {table.name, "changes"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [each for each in TABLES if each not in (META, ACCESS_LISTS, *WITHOUT_ROWS)],
    ids=lambda each: each.name,
)
def test_a_row_without_its_checksum_is_named_by_its_key(data: Path, table: Table) -> None:
    key, value = first_row(data / "eth/chain", TABLES, table)
    with flipped(data / "eth/chain/data.mdb", stored(key, value), -1 % len(stored(key, value))):
        found = examine(data, Silence())["eth"]
    assert f"row 0x{key.hex()} does not have its checksum" in map(str, found.faults[table.name])


def test_one_damaged_row_hides_no_other(data: Path) -> None:
    rows = [last_row(data / "eth/chain", TABLES, table) for table in (HEADERS, TRANSACTIONS)]
    file = data / "eth/chain/data.mdb"
    first, second = (stored(*row) for row in rows)
    with flipped(file, first, len(first) - 1), flipped(file, second, len(second) - 1):
        found = examine(data, Silence())["eth"]
    assert {table: str(first[0]) for table, first in found.faults.items()} == {
        table: f"row 0x{key.hex()} does not have its checksum"
        for table, (key, _) in zip(("headers", "transactions"), rows, strict=True)
    }
    assert any("because of damaged rows" in note for note in found.notes)


def test_a_fault_names_the_block(data: Path) -> None:
    row = last_row(data / "eth/chain", TABLES, HEADERS)
    with damaged(data / "eth/chain", TABLES, HEADERS, flip, *row):
        assert faults(data)["headers"].startswith("block 8 0x")


def test_many_faults_are_counted_and_few_are_kept(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "copy")
    bogus = [bytes([number]) * 8 for number in range(1, 100)]

    def put_all(writer: Writer) -> None:
        for key in bogus:
            writer.put(HEADERS, key, b"")

    change(tmp_path / "copy/eth/chain", TABLES, put_all)
    found = examine(tmp_path / "copy", Silence())["eth"]
    assert len(found.faults["headers"]) == MAX_SHOWN
    assert not found.is_sound


def test_transactions_that_share_the_beginning_of_their_hashes_are_told_apart(data: Path) -> None:
    key, place = last_row(data / "eth/chain", TABLES, TRANSACTIONS)

    def put_other(writer: Writer, table: Table, key: bytes, place: bytes) -> None:
        writer.put(table, key, place + number_key(1)[3:] + bytes(3))

    with damaged(data / "eth/chain", TABLES, TRANSACTIONS, put_other, key, place):
        assert "transactions" in faults(data)


def test_a_genesis_that_says_what_gas_it_used_is_sound(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        assert int(chain.block(0)["gasUsed"], 16) > 0
        chain.send()
    found = examine(tmp_path, Silence())["eth"]
    assert found.faults == {}
    assert found.checked["blocks"] == 2


def test_a_light_folder_is_sound_with_its_ends_moved(tmp_path: Path) -> None:
    with growing_chain(tmp_path / "full") as source:
        for number in range(20):
            source.grow(LOGS[number % len(LOGS)])
        with light_folder(tmp_path / "light", source) as light:
            light.begin(10)
            light.follow()
            found = findings(light.chain)
            assert found.faults == {}
            assert found.range["first"] == 10
            light.chain.prune(3)
            assert findings(light.chain).faults == {}
            assert findings(light.chain).range["first"] == 13


def test_a_light_folder_with_a_window_of_seconds_is_sound(tmp_path: Path) -> None:
    with growing_chain(tmp_path / "full") as source:
        source.grow(LOGS[0])
        with light_folder(tmp_path / "light", source, seconds=7_200) as light:
            light.begin(1)
            assert findings(light.chain).faults == {}


def test_patches_that_are_kept_are_no_fault(tmp_path: Path) -> None:
    with growing_chain(tmp_path) as growing:
        growing.grow(LOGS[0])
        growing.chain.patch(b'{"0x4242424242424242424242424242424242424242": {"balance": "0x5"}}')
        growing.grow(LOGS[1])
        growing.chain.patch(b'{"0x4242424242424242424242424242424242424242": {"balance": "0x6"}}')
        assert findings(growing.chain).faults == {}


class Reorganising:
    """Replaces the last blocks whenever another part is looked at, and in the middle of each."""

    def __init__(self, growing: GrowingChain) -> None:
        self.parts: list[str] = []
        self._growing = growing

    def advanced(self, part: str, done: int, total: int) -> None:
        self.parts.append(part)
        if self.parts.count(part) < 3:
            self._growing.reorganise(2, LOGS[: 1 + done % 3])


def test_blocks_that_change_meanwhile_are_no_faults(tmp_path: Path) -> None:
    with growing_chain(tmp_path / "eth") as growing:
        for number in range(10):
            growing.grow(LOGS[number % len(LOGS)])
        growing.reorganise(2, LOGS)
        reorganising = Reorganising(growing)
        assert findings(growing.chain, reorganising).faults == {}
    assert {"blocks", "side_blocks", "state: hashes", "state: accounts"} < set(reorganising.parts)


def findings(chain: Chain, progress: Progress | None = None) -> FaultCollector:
    found = FaultCollector(progress or Silence())
    examine_chain(chain, found)
    return found
