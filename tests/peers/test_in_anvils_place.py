"""`wsnode anvil` beside anvil: every flag is taken, and what tools parse is the same."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.demo.anvil.anvil_process import in_anvils_place
from tests.demo.terminal.test_console_log import encoded, every_function
from tests.node_process import COMMAND
from tests.peers.anvil import ask_url, require, started_anvil
from wsnode.cli.anvil.command import anvil

FLAG = re.compile(r"^ +(?:(-\w), )?(--[a-zA-Z0-9-]+)", re.MULTILINE)
ALIASES = re.compile(r"\[aliases: ([^]]+)\]")


def flags_of(help_text: str) -> set[str]:
    """Return all flags, short ones and aliases too."""
    pairs = FLAG.findall(help_text)
    aliases = [
        name for names in ALIASES.findall(help_text) for name in names.split(", ") if name.startswith("--")
    ]
    return {name for pair in pairs for name in pair if name} | set(aliases)


def printed_help() -> str:
    return subprocess.run([require("anvil"), "--help"], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_every_flag_of_anvil_is_taken() -> None:
    theirs = flags_of(printed_help())
    ours = {name for option in anvil.params for name in (*option.opts, *option.secondary_opts)}
    # These two are the command line's own.
    assert theirs - ours == {"-h", "--help", "-V", "--version"} - ours
    assert {"--blockTime", "--auto-unlock", "-j", "--no-create2"} <= theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--timestamp", "1700000000"),
        ("--gas-price", "7", "--gas-limit", "5000000", "--base-fee", "3", "--chain-id", "5"),
        ("--accounts", "2", "--derivation-path", "m/44'/60'/1'/0/", "--mnemonic", "abandon " * 11 + "about"),
        (
            "--accounts",
            "0",
        ),
    ],
)
def test_accounts_and_settings_are_written_as_by_anvil(tmp_path: Path, flags: tuple[str, ...]) -> None:
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    with in_anvils_place(tmp_path, "--config-out", str(ours), *flags) as chain:
        printed = parsed(chain.lines)
    with started_anvil("--config-out", str(theirs), *flags) as url:
        chain_id = ask_url(url, "eth_chainId")["result"]
    written = json.loads(ours.read_text())
    expected = json.loads(theirs.read_text())
    if "--timestamp" not in flags:
        assert abs(int(written.pop("genesis_timestamp")) - int(expected.pop("genesis_timestamp"))) < 600
    assert written == expected
    assert printed["Private Keys"] == expected["private_keys"]
    assert printed["Chain ID"] == [str(int(chain_id, 16))]


def parsed(lines: list[str]) -> dict[str, list[str]]:
    """Return the last word of each line of each section."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line, after in pairwise(lines):
        if set(after) == {"="}:
            name = line
            sections[name] = []
        elif line and name and set(line) != {"="}:
            sections[name].append(line.split()[-1])
    return sections


@pytest.mark.slow
def test_blocks_follow_the_flags_as_in_anvil(tmp_path: Path) -> None:
    file = tmp_path / "genesis.json"
    account = {"balance": "0x6", "nonce": "0x3", "code": "0x6001"}
    genesis = {
        # anvil signs with this id, whatever the file says.
        "config": {"chainId": 31337},
        "timestamp": "0x65000000",
        "gasLimit": "0x1312d00",
        "baseFeePerGas": "0x7",
        "coinbase": "0x" + "aa" * 20,
        "alloc": {"0x" + "cc" * 20: account},
    }
    file.write_text(json.dumps(genesis))
    flags = ("--init", str(file), "--slots-in-an-epoch", "2", "--no-mining", "--code-size-limit", "30000")
    with in_anvils_place(tmp_path, *flags) as chain:
        ours = facts(chain.url)
    with started_anvil(*flags) as url:
        assert ours == facts(url)


def facts(url: str) -> dict[str, Any]:
    """Return what a chain with those flags says of itself."""

    def result(method: str, *params: Any) -> Any:
        reply = ask_url(url, method, *params)
        assert "error" not in reply, reply
        return reply["result"]

    owner = result("eth_accounts")[0]
    # Contracts of 30,000 bytes and of one more.
    sent = [
        result("eth_sendTransaction", {"from": owner, "gas": "0x7a1200", "data": f"0x62{size:06x}5ff3"})
        for size in (30_000, 30_001)
    ]
    pending = result("eth_blockNumber")
    result("anvil_mine", "0x9")
    latest = result("eth_getBlockByNumber", "latest", False)
    return {
        "id": result("eth_chainId"),
        "account": [
            result(method, "0x" + "cc" * 20, "latest")
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        ],
        "balance": result("eth_getBalance", result("eth_accounts")[1], "latest"),
        "pending": pending,
        "block": [latest[name] for name in ("gasLimit", "miner", "number")],
        "ends": [result("eth_getBlockByNumber", tag, False)["number"] for tag in ("safe", "finalized")],
        "large": [result("eth_getTransactionReceipt", each)["status"] for each in sent],
    }


CONSOLE = "000000000000000000636f6e736f6c652e6c6f67"
CALL_BYTES = 45
"""Bytes of code that call the console."""


def saying(messages: Sequence[bytes]) -> str:
    """Return the code of a creation that calls the console with each message."""
    code, place = "", CALL_BYTES * len(messages) + 1
    for message in messages:
        size = f"62{len(message):06x}"
        # CODECOPY of the message to 0, STATICCALL of the console with it, POP.
        code += f"{size}62{place:06x}60003960006000{size}600073{CONSOLE}5afa50"
        place += len(message)
    assert len(code) == 2 * CALL_BYTES * len(messages)
    return f"0x{code}00{b''.join(messages).hex()}"


@pytest.mark.slow
def test_contracts_say_the_same_to_both(tmp_path: Path) -> None:
    """Call every function of Hardhat's library on both nodes, many in a transaction."""
    messages = [
        *every_function(),
        (encoded("log(string,uint256,bool)", "%s is %d, %s", 7, True), "7 is 1, %s"),
    ]
    parts = [[message for message, _line in messages[at : at + 100]] for at in range(0, len(messages), 100)]
    lines = {}
    for name, command in {"ours": (*COMMAND, "anvil"), "theirs": (require("anvil"),)}.items():
        with in_anvils_place(tmp_path, command=command) as chain:
            (owner, *_rest) = chain("eth_accounts")
            for part in parts:
                chain("eth_sendTransaction", {"from": owner, "data": saying(part), "gas": hex(12_000_000)})
                chain("evm_mine")
            lines[name] = chain.ended()
    expected = Counter(line for _message, line in messages if line)
    for printed in lines.values():
        assert Counter(line for line in printed if line in expected) == expected
