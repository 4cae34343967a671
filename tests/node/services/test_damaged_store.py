"""No byte of a row that was changed on the disk is served: each answer is the one before, or an error."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.doctor.damage import STATE, damaged, drop, last_row
from tests.ethereum.live.growing import EMITTERS, SENDER, TOPICS, growing_chain
from tests.memory_transport import Ask
from tests.node.services.answering import BLOCKS, answers, known_hashes, look_ups, served
from tests.node.workers.processes import workers_of
from tests.node_process import PATIENCE, Node, post, started, until
from tests.store.damaged_bytes import flipped, flipped_at, stored
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.storage.tables import (
    BODIES,
    HEADERS,
    LOG_BLOCKS,
    LOG_INDEX,
    META,
    RECEIPTS,
    TABLES,
    TOTALS,
    TRANSACTIONS,
    number_key,
)
from wsnode.server.access.router import Network
from wsnode.store.environment import Environment
from wsnode.store.table import Table, scan

pytestmark = pytest.mark.slow

CHECKSUM_BYTES = 4
"""They follow the value."""
LOGS = [(EMITTERS[0], TOPICS[:2]), (EMITTERS[1], ()), (EMITTERS[0], TOPICS[:1])]
Row = tuple[Path, bytes]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    with growing_chain(folder / "eth") as growing:
        for _ in range(BLOCKS):
            growing.grow(LOGS)
    return folder


def damaged_reads(network: Network) -> float:
    return next(each.value for each in network.figures() if each.name == "wsnode_store_damaged_total")


def in_chain(data: Path, table: Table) -> tuple[str, bytes, Row]:
    key, value = last_row(data / "eth/chain", TABLES, table)
    return table.name, key, (data / "eth/chain/data.mdb", stored(key, value))


def balance_row(data: Path) -> tuple[str, bytes, Row]:
    with closing(Environment(data / "eth/chain", TABLES, writer=False)) as store, store.read() as reader:
        key, value = next(row for row in scan(reader, STATE[0], SENDER) if row[0].startswith(SENDER))
    return "accounts", key, (data / "eth/chain/data.mdb", stored(key, value))


def root_node(data: Path) -> tuple[str, bytes, Row]:
    nodes = next(table for table in STATE if table.name == "account_nodes")
    with closing(Environment(data / "eth/chain", TABLES, writer=False)) as store, store.read() as reader:
        key, value = next(iter(scan(reader, nodes, b"")))
    return nodes.name, key, (data / "eth/chain/data.mdb", stored(key, value))


def last_transaction(ask: Ask) -> Any:
    return ask("eth_getBlockByNumber", hex(BLOCKS), False)["result"]["transactions"][-1]


@pytest.mark.parametrize(
    ("find", "method", "params"),
    [
        pytest.param(
            partial(in_chain, table=HEADERS), "eth_getBlockByNumber", (hex(BLOCKS), False), id="header"
        ),
        pytest.param(partial(in_chain, table=BODIES), "eth_getBlockByNumber", (hex(BLOCKS), True), id="body"),
        pytest.param(
            partial(in_chain, table=RECEIPTS), "eth_getBlockReceipts", (hex(BLOCKS),), id="receipts"
        ),
        pytest.param(
            partial(in_chain, table=RECEIPTS), "eth_getTransactionReceipt", (last_transaction,), id="receipt"
        ),
        pytest.param(balance_row, "eth_getBalance", (hexadecimal(SENDER), "latest"), id="account"),
        pytest.param(
            root_node, "eth_getProof", (hexadecimal(SENDER), [], "latest"), id="node of the trie of accounts"
        ),
    ],
)
def test_a_call_that_meets_a_damaged_row_is_an_error_and_the_network_not_ready(
    data: Path, find: Callable[[Path], tuple[str, bytes, Row]], method: str, params: tuple[Any, ...]
) -> None:
    table, key, (file, row) = find(data)
    with served(data) as (network, ask):
        params = tuple(each(ask) if callable(each) else each for each in params)
        before = ask(method, *params)
        assert "result" in before
        assert network.not_ready_reason() is None
        with flipped(file, row, len(row) - 1):
            reply = ask(method, *params)
        assert reply["error"] == {
            "code": -32603,
            "message": "the store is damaged",
            "data": {"table": table, "key": hexadecimal(key)},
        }
        assert damaged_reads(network) >= 1
        reason = network.not_ready_reason()
        assert reason is not None
        assert f"the store is damaged: table {table}, row {hexadecimal(key)}" in reason
        assert ask(method, *params) == before, "the byte is right again"
    with served(data) as (network, ask):
        assert network.not_ready_reason() is None, "the folder was opened again"


@pytest.mark.parametrize(
    ("table", "dropped", "told"),
    [
        pytest.param(TOTALS, BLOCKS - 1, BLOCKS - 1, id="totals before the block"),
        pytest.param(TOTALS, BLOCKS, BLOCKS, id="totals through the block"),
        # The row of a block is found from any of its logs: under the number of the next one, or further on.
        pytest.param(
            LOG_BLOCKS, BLOCKS * len(LOGS), (BLOCKS - 1) * len(LOGS) + 1, id="the block of the logs"
        ),
    ],
)
@pytest.mark.parametrize("criteria", [{}, {"address": hexadecimal(EMITTERS[0])}], ids=["all", "some"])
def test_a_row_that_a_search_of_logs_needs_and_does_not_find_counts_as_damaged(
    data: Path, table: Table, dropped: int, told: int, criteria: dict[str, str]
) -> None:
    wanted = {"fromBlock": hex(BLOCKS), **criteria}
    with served(data) as (_, ask):
        before = ask("eth_getLogs", wanted)
        assert before["result"]
    with (
        damaged(data / "eth/chain", TABLES, table, drop, number_key(dropped), b""),
        served(data) as (network, ask),
    ):
        reply, reason = ask("eth_getLogs", wanted), network.not_ready_reason()
    assert reply["error"] == {
        "code": -32603,
        "message": "the store is damaged",
        "data": {"table": table.name, "key": hexadecimal(number_key(told))},
    }
    assert reason is not None
    assert f"table {table.name}, row {hexadecimal(number_key(told))}" in reason
    with served(data) as (_, ask):
        assert ask("eth_getLogs", wanted) == before


def rows_of(data: Path, table: Table) -> list[tuple[Path, bytes, int]]:
    """Return the file of each row of a table, the bytes by which it is found, and where its value begins."""
    file = data / "eth/chain/data.mdb"
    with closing(Environment(file.parent, TABLES, writer=False)) as opened, opened.read() as reader:
        found = list(scan(reader, table, b""))
    return [(file, stored(*row), len(stored(*row)) - len(row[1])) for row in found]


@pytest.mark.parametrize("flips", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_no_changed_byte_of_a_row_is_served(data: Path, flips: int) -> None:
    rows = [
        row
        for table in (META, HEADERS, BODIES, RECEIPTS, TRANSACTIONS, LOG_INDEX, *STATE)
        for row in rows_of(data, table)
    ]
    chance, errors = Random(flips), 0
    with served(data) as (_, ask):
        hashes, transactions = known_hashes(ask)
        whole = answers(ask) + look_ups(ask, hashes, transactions)
        for _ in range(flips):
            file, row, start = chance.choice(rows)
            place, bits = chance.randrange(start, len(row) + CHECKSUM_BYTES), chance.randrange(1, 256)
            with flipped(file, row, place, bits):
                found = answers(ask) + look_ups(ask, hashes, transactions)
            differing = [now for now, before in zip(found, whole, strict=True) if now != before]
            assert all('"error"' in each for each in differing), (file, row.hex(), place, bits)
            errors += bool(differing)
        assert errors > flips // 4, "most rows are read by some call"
        assert answers(ask) + look_ups(ask, hashes, transactions) == whole


class Answering:
    """A process that serves a folder; `end` is how it ended by itself, if it did."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.node.services.answering", str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.end: int | str | None = None

    def ask_all(self) -> list[str] | None:
        """Return all answers, None if the process has ended or hangs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self.end = self._process.wait(PATIENCE) if ready else "it hangs"
            return None
        found: list[str] = json.loads(line)
        return found

    def close(self) -> None:
        with self._process:
            self._process.kill()


def compact_copy(data: Path, folder: Path) -> Path:
    """Copy a folder without its free pages, and return the file."""
    shutil.copytree(data, folder)
    file = folder / "eth/chain/data.mdb"
    with closing(Environment(data / "eth/chain", TABLES, writer=False)) as store, file.open("wb") as copied:
        store.copy(copied.fileno())
    return file


@pytest.mark.nightly
def test_a_byte_changed_anywhere_ends_no_process_and_is_seldom_served(data: Path, tmp_path: Path) -> None:
    file = compact_copy(data, tmp_path / "copy")
    content, chance, flips = file.read_bytes(), Random(1000), 1000
    wrong, errors, ends = list[int](), 0, list[tuple[int, int | str]]()
    with ExitStack() as stack:

        def begin() -> tuple[Answering, list[str]]:
            process = Answering(tmp_path / "copy")
            stack.callback(process.close)
            found = process.ask_all()
            assert found is not None
            return process, found

        answering, whole = begin()
        for _ in range(flips):
            place, bits = chance.randrange(len(content)), chance.randrange(1, 256)
            with flipped_at(file, place, bits):
                found = answering.ask_all()
            differing = [now for now, was in zip(found or [], whole, strict=False) if now != was]
            if answering.end is not None:
                ends.append((place, answering.end))
            elif any('"error"' not in each for each in differing):
                wrong.append(place)
            errors += bool(differing)
            if found != whole:
                # What it has in memory may be wrong.
                answering.close()
                answering, again = begin()
                assert again == whole
    print(f"{flips} flips in {len(content)} bytes: {errors} answers differ, {len(wrong)} wrong: {wrong}")
    print(f"{len(ends)} ends: {ends}")
    assert ends == []
    assert len(wrong) < flips // 100


def readiness_of_all(node: Node, connections: int = 8) -> set[int]:
    """Return the statuses of `/readyz` on connections of which each worker has some; 0 for no answer."""
    address = urlsplit(node.bare(node.http_url))
    assert address.hostname is not None
    with ExitStack() as stack:
        opened = [
            stack.enter_context(closing(HTTPConnection(address.hostname, address.port, timeout=PATIENCE)))
            for _ in range(connections)
        ]
        try:
            for each in opened:
                each.request("GET", "/readyz")
            return {each.getresponse().status for each in opened}
        except OSError:
            # A worker that has ended has taken its connections with it.
            return {0}


def test_no_worker_is_ready_once_one_has_met_a_damaged_row(data: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(data, tmp_path / "data")
    _, _, (file, row) = in_chain(copy, HEADERS)
    damaged_block = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_getBlockByNumber",
        "params": [hex(BLOCKS), False],
    }
    options = ("--data", str(copy), "--listen", "127.0.0.1:0", "--open", "--workers", "2")
    with started("serve", *options) as node:
        until("all are ready", lambda: readiness_of_all(node) == {200})
        with flipped(file, row, len(row) - 1):
            reply = json.loads(post(node.http_url, json.dumps(damaged_block)))
        assert reply["error"]["message"] == "the store is damaged"
        until("none is ready", lambda: readiness_of_all(node) == {503})
        workers = workers_of(node)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        until("others are ready", lambda: readiness_of_all(node) == {200})
        assert not set(workers) & set(workers_of(node))
