"""The programs of docs/tutorials do what their pages promise, whatever dies."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.clients.node_modules import require_modules, require_node
from tests.clients.resuming.bots import CLIENTS
from tests.clients.resuming.storm import Storm, raised_storm
from tests.clients.subscribers.proxy import Proxy
from tests.drawing import IN_FULL
from tests.node_process import PATIENCE, Node, post, started, until
from tests.peers.anvil import started_anvil

GUIDES = CLIENTS.parent / "tutorials"
LEDGER_DEATHS = 6 if IN_FULL else 2
NUMBER = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
RUNS_TYPESCRIPT = (22, 18)
"""The first version of `node` that does, and which has SQLite."""

RunningLedger = Callable[[str, str, Path], AbstractContextManager[subprocess.Popen[str]]]


def ledger_in_python(_folder: Path) -> Sequence[str | Path]:
    """Return the command that runs the Python ledger where it is."""
    return [sys.executable, GUIDES / "ledger.py"]


def ledger_in_typescript(folder: Path) -> Sequence[str | Path]:
    """Return the command that runs the TypeScript ledger, copied to a folder as its page says."""
    node = require_node(RUNS_TYPESCRIPT)
    copy_typescript(folder)
    return [node, "--disable-warning=ExperimentalWarning", folder / "ledger.ts"]


def copy_typescript(folder: Path) -> None:
    """Put the TypeScript ledger into a folder, with what it imports."""
    (folder / "node_modules").symlink_to(require_modules().resolve(), target_is_directory=True)
    (folder / "package.json").write_text('{"type": "module"}')
    for path in (GUIDES / "ledger.ts", CLIENTS / "resuming_viem.ts"):
        shutil.copy(path, folder)


@pytest.fixture(params=[ledger_in_python, ledger_in_typescript], ids=["python", "typescript"])
def running_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> RunningLedger:
    """Return a context manager in which a ledger runs, which is killed in the end."""
    (folder := tmp_path / "program").mkdir()
    command = request.param(folder)

    @contextmanager
    def running_ledger(url: str, emitter: str, database: Path) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [*command, url, emitter, database],
            env={**os.environ, "PYTHONPATH": str(CLIENTS)},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    return running_ledger


def stored(database: Path) -> set[tuple[str, int]]:
    """Return the places of the logs in the ledger."""
    if not database.exists():
        return set()
    connection = sqlite3.connect(database)
    try:
        return set(connection.execute("SELECT block, place FROM logs"))
    except sqlite3.OperationalError:
        # It has no tables yet.
        return set()
    finally:
        connection.close()


def has_more(database: Path, before: int) -> bool:
    return len(stored(database)) > before


def has_all(storm: Storm, database: Path) -> bool:
    return stored(database) == {(block, index) for _number, block, index in storm.chain.logs()}


@pytest.mark.slow
def test_the_ledger_has_each_log_though_it_dies_and_the_node_dies(
    running_ledger: RunningLedger, tmp_path: Path
) -> None:
    chance, database = random.Random(5), tmp_path / "ledger"
    with raised_storm(tmp_path / "chain") as storm:
        for _ in range(LEDGER_DEATHS):
            with running_ledger(storm.url, storm.chain.emitter, database):
                for _ in range(chance.randrange(4, 12)):
                    storm.step()
                if chance.random() < 0.5:
                    storm.kill(away=0.1)
                before = len(stored(database))
                storm.chain.emit_until("it takes some", partial(has_more, database, before))
            # Nobody listens to these.
            for _ in range(4):
                storm.step()
        with running_ledger(storm.url, storm.chain.emitter, database):
            until("it has all", lambda: has_all(storm, database))


@pytest.mark.slow
def test_the_ledger_waits_for_a_node_that_is_behind(running_ledger: RunningLedger, tmp_path: Path) -> None:
    database = tmp_path / "ledger"
    with (
        raised_storm(tmp_path / "chain") as storm,
        Proxy(storm.url) as line,
        following(tmp_path / "late", tmp_path / "chain/eth/genesis.json", line.url) as late,
    ):
        storm.chain.emit()
        until("it is near", lambda: '"result":"0x0"' not in post(late.http_url, NUMBER))
        line.pause()
        for _ in range(3):
            storm.chain.emit()
        with running_ledger(storm.url, storm.chain.emitter, database):
            until("it has all", lambda: has_all(storm, database))
        with running_ledger(late.socket_url, storm.chain.emitter, database):
            until("it was refused", lambda: has_been_refused(late))
            line.go_on()
            storm.chain.emit()
            until("it has all", lambda: has_all(storm, database))


@contextmanager
def following(folder: Path, genesis: Path, upstream: str) -> Iterator[Node]:
    """Follow a node with another one."""
    named = ("--data", str(folder), "--genesis", str(genesis), "--upstream", upstream)
    with started("follow", *named, "--listen", "127.0.0.1:0", "--open") as node:
        yield node


def has_been_refused(node: Node) -> bool:
    """Return whether a node has answered an eth_subscribe with -32001."""
    with urllib.request.urlopen(node.bare(node.http_url) + "metrics", timeout=PATIENCE) as page:
        lines: list[str] = page.read().decode().splitlines()
    return any('code="-32001"' in line and 'method="eth_subscribe"' in line for line in lines)


@pytest.mark.slow
def test_the_ledger_says_that_it_would_have_a_gap(running_ledger: RunningLedger, tmp_path: Path) -> None:
    database = tmp_path / "ledger"
    with raised_storm(tmp_path / "chain") as storm:
        storm.chain.emit()
        with running_ledger(storm.url, storm.chain.emitter, database):
            until("it has all", lambda: has_all(storm, database))
        storm.replace(tmp_path / "another")
        for _ in range(3):
            # A cursor above the head could be that of a block to come.
            storm.chain.emit()
        with running_ledger(storm.url, storm.chain.emitter, database) as ledger:
            assert ledger.wait(PATIENCE) == 1
            assert ledger.stderr is not None
            assert ledger.stderr.read() == "the ledger has a gap: the cursor's block is unknown\n"


@pytest.mark.slow
def test_the_ledger_does_not_begin_with_the_present_on_a_node_without_cursors(
    running_ledger: RunningLedger, tmp_path: Path
) -> None:
    with (
        started_anvil() as url,
        running_ledger(url.replace("http:", "ws:"), "0x" + "11" * 20, tmp_path / "ledger") as ledger,
    ):
        assert ledger.wait(PATIENCE) == 1


@pytest.mark.slow
def test_the_ledger_in_typescript_has_right_types(tmp_path: Path) -> None:
    node = require_node()
    copy_typescript(tmp_path)
    compiler = [node, str(tmp_path / "node_modules/typescript/bin/tsc")]
    options = ["--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions", "--types", "node"]
    dialect = ["--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"]
    checked = subprocess.run(
        [*compiler, *options, *dialect, "ledger.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
