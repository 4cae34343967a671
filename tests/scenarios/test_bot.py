"""The bot of the documentation beside a node that is killed again and again."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import Node, kept_address, post, started

BOT = Path(__file__).parents[2] / "docs" / "bot.py"
SECONDS = 120.0


def call(node: Node, method: str, *params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.loads(post(node.http_url, json.dumps(request)))["result"]


def entries(journal: Path) -> list[dict[str, Any]]:
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return [json.loads(line)["log"] for line in lines if line.endswith(b"\n")]


def surviving(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the logs that were not taken back, by block hash and index."""
    found: list[tuple[str, str]] = []
    for log in entries:
        place = (log["blockHash"], log["logIndex"])
        if log["removed"]:
            assert found.pop() == place, "logs are taken back in reverse order"
        else:
            found.append(place)
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "nothing more arrived"
        time.sleep(0.05)


@contextmanager
def bot(url: str, address: str, journal: Path) -> Iterator[None]:
    command = [sys.executable, str(BOT), url, address, str(journal)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, "the bot has ended"
    finally:
        process.kill()
        process.wait(SECONDS)


@pytest.mark.slow
def test_the_bot_has_every_log_once_after_three_kills(tmp_path: Path) -> None:
    with kept_address() as listen:
        assert_every_log_once(listen, tmp_path / "demo", tmp_path / "journal")


def assert_every_log_once(listen: str, data: Path, journal: Path) -> None:
    demo = ("demo", "--listen", listen, "--data", str(data), "--block-time", "0.2")
    with started(*demo) as node:
        (token,) = {
            log["address"] for log in call(node, "eth_getLogs", {"fromBlock": "0x2", "toBlock": "0x2"})
        }
    with bot(f"ws://{listen}/ws/v3/bot", token, journal):
        for _ in range(3):
            before = len(entries(journal))
            with started(*demo) as node:
                wait_until(lambda: len(entries(journal)) > before + 20)  # noqa: B023 - called at once
                node.process.send_signal(signal.SIGKILL)
        with started(*demo) as node:
            before = len(entries(journal))
            wait_until(lambda: len(entries(journal)) > before)
            logs = call(node, "eth_getLogs", {"fromBlock": "0x0", "address": token})
            wait_until(lambda: len(surviving(entries(journal))) >= len(logs))
    expected = [(log["blockHash"], log["logIndex"]) for log in logs]
    assert surviving(entries(journal))[: len(expected)] == expected
