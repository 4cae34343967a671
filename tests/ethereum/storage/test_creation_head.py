"""A folder whose rows do not agree at the head, as a copy beside its writer may be, is refused."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.node_process import import_chain, run
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import CorruptHeadError
from wsnode.ethereum.storage.tables import BODIES, HEADERS, META, RECEIPTS, TABLES, number_key
from wsnode.store.environment import Environment, Writer
from wsnode.store.table import Table

HEAD = 54
Change = Callable[[Writer], object]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a chain of 54 blocks."""
    data = tmp_path_factory.mktemp("imported")
    vectors = require_vectors("execution-apis")
    assert import_chain(data / "data", vectors / "genesis.json", [vectors / "chain.rlp"]).returncode == 0
    return data


@pytest.fixture
def data(imported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(imported / "data", tmp_path / "data"))


def of_another(table: Table, number: int = 53) -> Change:
    def change(writer: Writer) -> None:
        row = writer.get(table, number_key(number))
        assert row is not None
        writer.put(table, number_key(HEAD), row)

    return change


def cut(table: Table) -> Change:
    def change(writer: Writer) -> None:
        row = writer.get(table, number_key(HEAD))
        assert row is not None
        writer.put(table, number_key(HEAD), row[:-1])

    return change


def remove(table: Table, key: bytes) -> Change:
    return lambda writer: writer.delete(table, key)


@pytest.mark.slow
@pytest.mark.parametrize("writer", [False, True], ids=["reader", "writer"])
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(remove(META, b"head"), "the chain has no head", id="no head"),
        pytest.param(remove(HEADERS, number_key(HEAD)), "block 54: a row is missing", id="no header"),
        pytest.param(remove(BODIES, number_key(HEAD)), "block 54: a row is missing", id="no body"),
        pytest.param(remove(RECEIPTS, number_key(HEAD)), "block 54: a row is missing", id="no receipts"),
        pytest.param(of_another(HEADERS), "block 54: its header is another block's", id="header"),
        pytest.param(of_another(BODIES), "block 54: transactions_root is not the header's", id="body"),
        pytest.param(of_another(RECEIPTS), "block 54: ", id="receipts"),
        pytest.param(cut(HEADERS), "block 54: ", id="header cut"),
        pytest.param(cut(BODIES), "block 54: ", id="body cut"),
        pytest.param(cut(RECEIPTS), "block 54: ", id="receipts cut"),
    ],
)
def test_a_head_whose_rows_do_not_belong_together_is_refused(
    data: Path, change: Change, fault: str, writer: bool
) -> None:
    with closing(Environment(data / "eth/chain", TABLES, writer=True, durable=False)) as store:
        store.write(change)
    with pytest.raises(CorruptHeadError) as refused:
        Chain.open(data / "eth", writer=writer, durable=False)
    text = str(refused.value)
    assert text.startswith(f"{data}/eth is no whole copy of a chain: {fault}")
    assert text.endswith("; copy a folder by `wsnode snapshot`, or import again")


@pytest.mark.parametrize("writer", [False, True], ids=["reader", "writer"])
def test_a_head_without_its_state_is_refused(data: Path, writer: bool) -> None:
    hashes = next(table for table in TABLES if table.name == "hashes")
    with closing(Environment(data / "eth/chain", TABLES, writer=True, durable=False)) as store:
        store.write(remove(hashes, number_key(HEAD)))
    with pytest.raises(
        CorruptHeadError, match="block 54 is the head of the chain, and the state after it is not"
    ):
        Chain.open(data / "eth", writer=writer, durable=False)


@pytest.mark.slow
def test_a_command_says_it_in_one_line(data: Path) -> None:
    with closing(Environment(data / "eth/chain", TABLES, writer=True, durable=False)) as store:
        store.write(remove(BODIES, number_key(HEAD)))
    for arguments in (("serve",), ("snapshot", str(data.parent / "snapshot"))):
        ended = run(*arguments, "--data", str(data))
        assert ended.returncode == 1
        last = ended.stderr.splitlines()[-1]
        assert last.startswith(f"error: {data}/eth is no whole copy of a chain: block 54: a row is missing; ")


@pytest.mark.slow
def test_the_doctor_names_the_faults(data: Path) -> None:
    with closing(Environment(data / "eth/chain", TABLES, writer=True, durable=False)) as store:
        store.write(remove(BODIES, number_key(HEAD)))
    ended = run("doctor", "--data", str(data))
    assert ended.returncode == 1
    assert "  bodies: 1 fault" in ended.stdout.splitlines()
