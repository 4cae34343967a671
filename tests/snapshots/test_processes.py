"""`wsnode snapshot` and `wsnode restore` as processes: beside a node, and killed at any moment."""

import json
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

KILLS = 20


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
        assert (restored.returncode, restored.stderr) == (0, "")
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
    piece = copy / "eth-state-000000.zst"
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


def killed(chance: random.Random, longest: float, *arguments: str) -> bool:
    """Return whether a command was still running when it was killed."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(chance.uniform(0.05, longest))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def test_a_killed_snapshot_leaves_no_copy_or_a_whole_one(large: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    assert run("snapshot", "--data", str(large), str(tmp_path / "whole")).returncode == 0
    longest = time.monotonic() - began
    chance, kills = random.Random(1), 0
    copy = tmp_path / "copy"
    for _ in range(KILLS):
        kills += killed(chance, longest, "snapshot", "--data", str(large), str(copy))
        if not (copy / manifest.NAME).exists():
            told = run("restore", "--data", str(tmp_path / "data"), str(copy))
            assert told.returncode == 1
            assert "no finished snapshot" in told.stderr
            assert not (tmp_path / "data").exists()
            continue
        assert run("restore", "--data", str(tmp_path / "data"), str(copy)).returncode == 0
        shutil.rmtree(tmp_path / "data")
        shutil.rmtree(copy)
    assert kills > KILLS // 4


def test_a_killed_restore_leaves_no_folder_or_a_whole_one(large: Path, tmp_path: Path) -> None:
    copy, data = tmp_path / "copy", tmp_path / "data"
    head = run("snapshot", "--data", str(large), str(copy)).stdout
    began = time.monotonic()
    assert run("restore", "--data", str(tmp_path / "whole"), str(copy)).stdout == head
    longest = time.monotonic() - began
    chance, kills = random.Random(2), 0
    for _ in range(KILLS):
        kills += killed(chance, longest, "restore", "--data", str(data), str(copy))
        if (data / "eth").exists():
            with Chain.open(data / "eth", writer=True) as chain:
                assert head == f"head {chain.head.number} 0x{chain.head.hash.hex()}\n"
            shutil.rmtree(data)
    assert kills > KILLS // 4
    shutil.rmtree(data, ignore_errors=True)
    assert run("restore", "--data", str(data), str(copy)).stdout == head
    assert examine(data, Silence())["eth"].is_sound
