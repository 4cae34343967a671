"""`wsnode snapshot` and `wsnode restore` as processes: beside a node, and killed at any moment."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.doctor.damage import Silence
from tests.node_process import COMMAND, import_chain, post, run, started
from tests.vector_files import require_vectors
from wsnode.doctor.examine import examine
from wsnode.ethereum.chain import Chain
from wsnode.snapshots import manifest

pytestmark = pytest.mark.slow

KILLS = [pytest.param(4, id="some"), pytest.param(20, marks=pytest.mark.nightly, id="many")]


def test_copies_are_taken_beside_a_node_that_makes_blocks_and_reorganisations(tmp_path: Path) -> None:
    heads = set()
    data = tmp_path / "data"
    with started("dev", "--data", str(data), "--block-time", "0.02", "--listen", "127.0.0.1:0") as node:
        for number in range(5):
            asked(node.http_url, "anvil_mine", "0x10")
            asked(node.http_url, "anvil_reorg", number + 1, [])
            asked(node.http_url, "anvil_setBalance", f"0x{number + 1:040x}", "0x1")
            taken = run("snapshot", "--data", str(data), str(tmp_path / f"copy{number}"))
            assert (taken.returncode, taken.stderr) == (0, "")
            heads.add(taken.stdout)
    assert len(heads) == 5
    for number in range(5):
        folder, copy = tmp_path / f"data{number}", tmp_path / f"copy{number}"
        restored = run("restore", "--data", str(folder), str(copy))
        assert restored.returncode == 0
        assert restored.stderr == (
            f"note: a snapshot holds no API keys: `wsnode keys add NAME --data {folder}` adds one, "
            "`serve --open` needs none\n"
        )
        assert restored.stdout in heads
        assert run("doctor", "--data", str(folder)).returncode == 0


def asked(url: str, method: str, *params: object) -> object:
    reply = json.loads(post(url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})))
    assert "error" not in reply, reply
    return reply["result"]


def test_damage_is_one_line_and_exit_status_1(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    with started("dev", "--data", str(data), "--listen", "127.0.0.1:0"):
        assert run("snapshot", "--data", str(data), str(copy)).returncode == 0
    piece = copy / "eth-chain-000000.zst"
    content = bytearray(piece.read_bytes())
    content[-1] ^= 0x80
    piece.write_bytes(content)
    told = run("restore", "--data", str(tmp_path / "other"), str(copy))
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"error: {piece} has the sha256 ")
    assert len(told.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose copy takes longer than a process to start."""
    bench = require_vectors("bench") / "standard"
    data = tmp_path_factory.mktemp("large")
    assert import_chain(data, bench / "genesis.json", [bench / "chain.rlp.gz"]).returncode == 0
    return data


class Killer:
    """Runs commands and kills them at random moments of the time that the last whole one took."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._longest = 1.0
        """Seconds."""
        self.kills = 0

    def run_whole(self, *arguments: str) -> str:
        """Return what a command prints."""
        began = time.monotonic()
        ended = run(*arguments)
        assert ended.returncode == 0, ended.stderr
        self._longest = time.monotonic() - began
        return ended.stdout

    def kill(self, *arguments: str) -> None:
        """Start a command, and kill it if it has not ended by then."""
        began = time.monotonic()
        process = subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(self._chance.uniform(0.05, self._longest))
            # The machine has more time for it by now.
            self._longest = time.monotonic() - began
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        self.kills += process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("most", KILLS)
def test_a_killed_snapshot_leaves_no_copy_or_a_whole_one(large: Path, tmp_path: Path, most: int) -> None:
    killer, copy = Killer(1), tmp_path / "copy"
    killer.run_whole("snapshot", "--data", str(large), str(tmp_path / "whole"))
    for _ in range(most):
        killer.kill("snapshot", "--data", str(large), str(copy))
        if not (copy / manifest.NAME).exists():
            told = run("restore", "--data", str(tmp_path / "data"), str(copy))
            assert told.returncode == 1
            assert "no finished snapshot" in told.stderr
            assert not (tmp_path / "data").exists()
            continue
        assert run("restore", "--data", str(tmp_path / "data"), str(copy)).returncode == 0
        shutil.rmtree(tmp_path / "data")
        shutil.rmtree(copy)
    assert killer.kills > most // 4


@pytest.mark.parametrize("most", KILLS)
def test_a_killed_restore_leaves_no_folder_or_a_whole_one(large: Path, tmp_path: Path, most: int) -> None:
    killer, copy, data = Killer(2), tmp_path / "copy", tmp_path / "data"
    head = run("snapshot", "--data", str(large), str(copy)).stdout
    assert killer.run_whole("restore", "--data", str(tmp_path / "whole"), str(copy)) == head
    for _ in range(most):
        killer.kill("restore", "--data", str(data), str(copy))
        if (data / "eth").exists():
            with Chain.open(data / "eth", writer=True) as chain:
                assert head == f"head {chain.head.number} 0x{chain.head.hash.hex()}\n"
            shutil.rmtree(data)
    assert killer.kills > most // 4
    shutil.rmtree(data, ignore_errors=True)
    assert run("restore", "--data", str(data), str(copy)).stdout == head
    assert examine(data, Silence())["eth"].is_sound


def test_what_a_chain_holds_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        data, copy, other, dump = (tmp_path / name for name in ("data", "copy", "other", "dump.json"))
        told = ("--data", str(data), "--dump-state", str(dump), "--listen", "127.0.0.1:0")
        with started("dev", *told):
            assert run("snapshot", "--data", str(data), str(copy)).returncode == 0
        assert run("restore", "--data", str(other), str(copy)).returncode == 0
    finally:
        os.umask(before)
    assert dump.stat().st_mode & 0o077 == 0
    for folder in (data, copy, other):
        found = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
        assert found
        assert [path for path in found if path.stat().st_mode & 0o077] == []
    assert [folder.stat().st_mode & 0o077 for folder in (data / "eth", copy, other / "eth")] == [0] * 3
