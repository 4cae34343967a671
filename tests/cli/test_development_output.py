"""What `wsnode dev` and `wsnode demo` print, and that nothing of it holds them up."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import COMMAND, Node, post, run, started
from wsnode.demo import token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.addresses import checksummed

pytestmark = pytest.mark.slow

OWNER, OTHER = (checksummed(account.address) for account in ACCOUNTS[:2])
TOKEN = checksummed(token.ADDRESS)
TOO_MUCH = "0x" + token.transfer(ACCOUNTS[1].address, 2 * token.SUPPLY).hex()


class Development:
    """A development chain in a process of its own, and what it has printed on standard error."""

    def __init__(self, node: Node, file: Path) -> None:
        self.node, self._file = node, file

    def __call__(self, method: str, *params: Any) -> Any:
        reply = self.answer(method, *params)
        assert "error" not in reply, reply
        return reply["result"]

    def answer(self, method: str, *params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(post(self.node.http_url, json.dumps(request)))

    def send(self, **members: Any) -> Any:
        return self("eth_getTransactionReceipt", self("eth_sendTransaction", {"from": OWNER, **members}))

    def ended(self) -> str:
        """Return everything that was printed, after the process has ended."""
        assert self.node.stop() == 0
        return self._file.read_text()


@contextmanager
def development(tmp_path: Path, *options: str, command: str = "dev") -> Iterator[Development]:
    file = tmp_path / "stderr.txt"
    with file.open("w") as stderr, started(command, "--listen", "0", *options, stderr=stderr) as node:
        yield Development(node, file)


def test_three_transactions_one_of_which_fails_are_told(tmp_path: Path) -> None:
    with development(tmp_path) as chain:
        created = chain.send(data="0x" + token.creation().hex())
        sent = chain.send(to=OTHER, value="0x1")
        failed = chain.send(to=TOKEN, data=TOO_MUCH, gas="0x186a0")
        text = chain.ended()
    assert created["contractAddress"] == TOKEN.lower()
    assert failed["status"] == "0x0"
    told = [paragraph.splitlines() for paragraph in text.split("\n\n") if paragraph]
    assert [lines[0] for lines in told] == [
        f"Block {number}  {receipt['blockHash']}" for number, receipt in enumerate((created, sent, failed), 1)
    ]
    gas = int(failed["gasUsed"], 16)
    assert told[0][3:] == [
        f"  from     {OWNER}",
        f"  created  {TOKEN}",
        f"  gas used {int(created['gasUsed'], 16)}",
        "  status   1",
    ]
    assert told[1][2:5] == [
        f"Transaction {sent['transactionHash']}",
        f"  from     {OWNER}",
        f"  to       {OTHER}",
    ]
    assert told[2][3:] == [
        f"  from     {OWNER}",
        f"  to       {TOKEN}",
        f"  gas used {gas}",
        "  status   0, execution reverted: Token: insufficient balance",
    ]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_a_call_that_reverts_is_told_with_its_reason(method: str, tmp_path: Path) -> None:
    with development(tmp_path) as chain:
        chain.send(data="0x" + token.creation().hex())
        assert "error" in chain.answer(method, {"to": TOKEN, "from": OTHER, "data": TOO_MUCH})
        paragraphs = chain.ended().split("\n\n")
    assert paragraphs[1].splitlines() == [
        f"{method} failed: execution reverted: Token: insufficient balance",
        f"  to       {TOKEN}",
        f"  function {TOO_MUCH[:10]}",
    ]


def test_what_a_contract_says_steers_no_terminal(tmp_path: Path) -> None:
    with development(tmp_path) as chain:
        # A contract that reverts with Error(string) of an escape sequence.
        reason = b"\x1b[2J" + b"x" * 500
        payload = (
            bytes.fromhex("08c379a0") + (32).to_bytes(32, "big") + len(reason).to_bytes(32, "big") + reason
        )
        payload += bytes(-len(reason) % 32)
        size = len(payload).to_bytes(2, "big").hex()
        code = f"0x61{size}600e60003961{size}6000fd{payload.hex()}"
        assert "\x1b" in chain.answer("eth_call", {"data": code})["error"]["message"]
        text = chain.ended()
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert len(text) < 1000


def test_controls_that_change_something_are_told_and_those_that_read_are_not(tmp_path: Path) -> None:
    with development(tmp_path) as chain:
        chain("anvil_setBalance", OTHER, "0x64")
        chain("evm_increaseTime", 60)
        snapshot = chain("evm_snapshot")
        chain("anvil_getAutomine")
        chain("anvil_nodeInfo")
        chain("evm_mine")
        assert chain("evm_revert", snapshot) is True
        assert chain("evm_revert", snapshot) is False
        chain("anvil_setAutomine", False)
        text = chain.ended()
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "Block "))]
    assert lines == [
        f"anvil_setBalance {OTHER} 100",
        "evm_increaseTime 60",
        'evm_snapshot -> "0x0"',
        "evm_mine 1",
        "1 block taken back: the head is block 0 again",
        "evm_revert 0",
        "anvil_setAutomine false",
    ]


def test_printing_is_switched_off_and_on(tmp_path: Path) -> None:
    with development(tmp_path) as chain:
        chain("anvil_setLoggingEnabled", False)
        chain.send(to=OTHER, value="0x1")
        assert "error" in chain.answer("eth_call", {"data": "0xfe"})
        chain("hardhat_setLoggingEnabled", True)
        chain("evm_increaseTime", 1)
        text = chain.ended()
    assert text == "evm_increaseTime 1\n\n"


@pytest.mark.parametrize("option", [("--quiet",), ("-q",)])
def test_a_quiet_chain_prints_its_first_line_and_nothing_else(option: tuple[str], tmp_path: Path) -> None:
    with development(tmp_path, *option) as chain:
        chain.send(to=OTHER, value="0x1")
        assert chain.ended() == ""
        assert chain.node.process.stdout is not None
        assert chain.node.process.stdout.read() == ""


@pytest.mark.slow
def test_failures_of_every_method_are_told_to_those_who_want_all(tmp_path: Path) -> None:
    with development(tmp_path, "-v") as chain:
        chain.answer("eth_getBalance", "nobody")
        assert "eth_getBalance failed: " in chain.ended()
    with development(tmp_path) as chain:
        chain.answer("eth_getBalance", "nobody")
        assert chain.ended() == ""


def test_the_demo_tells_of_its_blocks(tmp_path: Path) -> None:
    with development(tmp_path, "-b", "0.1", command="demo") as chain:
        while int(chain("eth_blockNumber"), 16) < 45:
            continue
        text = chain.ended()
    # A machine with few open files gets a warning at the start.
    lines = [line for line in text.splitlines() if " WARNING " not in line]
    form = re.compile(r"Block \d+  0x[0-9a-f]{8}…  \d+ transactions?, gas used \d+")
    assert all(form.fullmatch(line) for line in lines)
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(lines)))
    assert 45 in numbers
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
def test_the_demo_tells_a_failed_call_and_on_demand_each_transaction(tmp_path: Path) -> None:
    with development(tmp_path, "-b", "1", command="demo") as chain:
        assert "error" in chain.answer("eth_call", {"to": TOKEN, "from": OTHER, "data": TOO_MUCH})
        assert "eth_call failed: execution reverted: Token: insufficient balance" in chain.ended()
    with development(tmp_path, "-b", "0.1", "-v", command="demo") as chain:
        while int(chain("eth_blockNumber"), 16) < 45:
            continue
        assert "\nTransaction 0x" in chain.ended()


def test_a_pipe_that_nobody_reads_does_not_hold_the_chain_up(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        with started("dev", "--listen", "0", "-v", stderr=writing) as node:
            chain = Development(node, tmp_path)
            for _ in range(600):
                chain.answer("eth_call", {"data": "0xfe" + "00" * 40})
                chain.answer("no_such_method")
            chain("evm_mine", {"blocks": 300})
            assert chain("eth_blockNumber") == hex(300)
            assert node.stop() == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_whose_reader_has_gone_does_not_end_the_chain(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        with started("dev", "--listen", "0", stderr=writing) as node:
            os.close(reading)
            chain = Development(node, tmp_path)
            for _ in range(3):
                chain("evm_mine")
            assert node.stop() == 0
    finally:
        os.close(writing)


def introduced(command: str, *options: str) -> list[str]:
    """Return the lines that a command prints until it serves, and end it."""
    arguments = [*COMMAND, command, "--listen", "0", *options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                break
        process.terminate()
    return lines


@pytest.mark.parametrize("command", ["dev", "demo"])
def test_what_is_printed_at_the_start_fits_a_terminal(command: str) -> None:
    lines = introduced(command)
    assert lines[0].startswith("ready ws://127.0.0.1:")
    assert max(map(len, lines[1:])) <= 80
    addresses = re.findall(r"0x[0-9a-fA-F]{40}\b", "\n".join(lines))
    assert OWNER in addresses
    assert all(checksummed(bytes.fromhex(address[2:])) == address for address in addresses)


def test_contradictions_are_wrong_usage() -> None:
    for options in (("-q", "-v"), ("-q", "--log-level", "info"), ("-v", "--log-level", "error")):
        assert run("dev", *options).returncode == 2


@pytest.mark.slow
def test_a_forks_header_names_its_source_and_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with development(tmp_path, "--quiet") as source:
        source("anvil_mine", "0x3")
        block = source("eth_getBlockByNumber", "0x2", False)
        url = source.node.bare(source.node.http_url).rstrip("/")
        lines = introduced("dev", "--fork-url", f"{url}@2")
    assert f"forked from {url} at block 2" in lines
    assert f"{block['hash']}." in lines
    assert max(map(len, lines[1:])) <= 80
