"""The sizes of a folder's tables, its free pages, and who reads an old version."""

import json
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.node_process import run
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.doctor.tables import SnapshotHolder, lines_of, measure
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.store.environment import Environment, StoreError, Writer
from wsnode.store.table import Table

pytestmark = pytest.mark.slow

PAGE = 4096
ROWS = Table("rows")
OTHERS = Table("others")
READING = """
import sys
from pathlib import Path
from wsnode.store.environment import Environment
from wsnode.store.table import Table
reader = Environment(Path(sys.argv[1]), [Table("rows")], writer=False).read()
print("reading", flush=True)
sys.stdin.read()
"""


def put(first: int, last: int, writer: Writer) -> None:
    for number in range(first, last):
        writer.put(ROWS, number.to_bytes(4, "big"), bytes(1000))


def delete(first: int, last: int, writer: Writer) -> None:
    for number in range(first, last):
        writer.delete(ROWS, number.to_bytes(4, "big"))


def open_store(data: Path) -> Environment:
    return Environment(data / "eth/chain", [ROWS, OTHERS], writer=True, durable=False)


def test_all_pages_are_accounted_for(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.write(partial(put, 0, 3000))
        store.write(partial(delete, 0, 2000))
    (measured,) = measure(tmp_path).values()
    assert measured.tables["rows"].rows == 1000
    assert 1000 * 1000 < measured.tables["rows"].bytes < 1500 * 1000
    assert (measured.tables["others"].rows, measured.tables["others"].bytes) == (0, 0)
    assert measured.tables["(tables)"].rows == 2
    assert measured.free > 1000 * 1000
    meta_pages = 2 * PAGE
    assert (
        measured.bytes == sum(table.bytes for table in measured.tables.values()) + measured.free + meta_pages
    )
    assert (measured.snapshots, measured.oldest) == (0, None)


def test_the_oldest_snapshot_of_another_process_is_named(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.write(partial(put, 0, 100))
    before = measure(tmp_path)["eth/chain"].version
    command = [sys.executable, "-c", READING, str(tmp_path / "eth/chain")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reading:
        assert reading.stdout is not None
        assert reading.stdout.readline() == "reading\n"
        with closing(open_store(tmp_path)) as store:
            for number in range(3):
                store.write(partial(put, number, number + 1))
        stores = measure(tmp_path)
        found = stores["eth/chain"]
        assert (found.snapshots, found.oldest) == (1, SnapshotHolder(reading.pid, before))
        assert next(lines_of(stores)).endswith(
            f"; version {before + 3}; 1 snapshot, the oldest 3 changes ago (process {reading.pid})"
        )
        reading.communicate()


def test_a_store_that_this_process_has_open_is_not_opened_again(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)), pytest.raises(StoreError, match="already open"):
        measure(tmp_path)


def test_a_folder_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoChainError):
        measure(tmp_path)


def test_the_command_prints_every_store_and_table(tmp_path: Path) -> None:
    build_ethereum(tmp_path)
    build_starknet(tmp_path)
    ended = run("doctor", "--tables", "--data", str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == [
        "eth/chain",
        "alt/chain",
    ]
    ended = run("doctor", "--tables", "--json", "--data", str(tmp_path))
    stores = json.loads(ended.stdout)["stores"]
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {
        name for store in stores.values() for name in store["tables"]
    }
    assert stores["eth/chain"]["tables"]["headers"]["rows"] > 0
    assert stores["eth/chain"]["tables"]["accounts"]["bytes"] > 0


def test_no_chain_is_one_line_and_the_status_of_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    ended = run("doctor", "--tables", "--data", str(tmp_path))
    assert ended.returncode == 2
    assert ended.stderr == f"error: {tmp_path} holds no chain: import one first, with its --genesis\n"
