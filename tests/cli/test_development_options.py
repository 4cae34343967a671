"""The options of `wsnode dev`: which chain begins, and what becomes of its state."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import Node, post, run, started
from tests.peers.anvil import ask_url, started_anvil
from wsnode.cli.development import FORKS, GAS_LIMIT, MNEMONIC
from wsnode.demo.accounts import MNEMONIC as KNOWN_MNEMONIC
from wsnode.demo.genesis import FORKS as FORKS_OF_GENESES
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET

pytestmark = pytest.mark.slow

STORE_7_AND_REVERT_NEVER = "0x6007600055"
"""Creates an account without code, whose slot 0 is 7."""
CODE = "0x6005600c60003960056000f3" + "60005460ff"
"""Creates an account with five bytes of code."""


def call(node: Node, method: str, *params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = json.loads(post(node.http_url, json.dumps(request)))
    assert "error" not in reply, reply
    return reply["result"]


def send(node: Node, place: int = 0, **members: Any) -> str:
    accounts = call(node, "eth_accounts")
    sent: str = call(node, "eth_sendTransaction", {"from": accounts[place], **members})
    return sent


def test_what_the_command_line_says_is_what_the_chain_takes() -> None:
    assert FORKS == FORKS_OF_GENESES
    assert (GAS_LIMIT, MNEMONIC) == (GAS_LIMIT_TARGET, KNOWN_MNEMONIC)


@pytest.mark.slow
@pytest.mark.parametrize("fork", FORKS)
def test_a_chain_has_the_rules_of_any_fork(fork: str) -> None:
    with started("dev", "--listen", "0", "-q", "--hardfork", fork) as node:
        name = call(node, "anvil_nodeInfo")["hardFork"]
        assert name.replace(" ", "").lower().startswith(fork)
        to = call(node, "eth_accounts")[1]
        for _ in range(2):
            receipt = call(node, "eth_getTransactionReceipt", send(node, to=to, value="0x1"))
            assert receipt["gasUsed"] == "0x5208"
        assert ("status" in receipt) == (FORKS.index(fork) >= FORKS.index("byzantium"))
        block = call(node, "eth_getBlockByNumber", "latest", False)
        assert block["number"] == "0x2"
        assert ("baseFeePerGas" in block) == (FORKS.index(fork) >= FORKS.index("london"))
        assert (block["difficulty"] == "0x0") == (FORKS.index(fork) >= FORKS.index("paris"))
        pending = call(node, "eth_getBlockByNumber", "pending", False)
        assert pending["parentHash"] == block["hash"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Cancun", "latest", "muir-glacier", "tangerine-whistle", "MERGE"])
def test_a_fork_may_be_written_in_several_ways(name: str) -> None:
    with started("dev", "--listen", "0", "-q", "--hardfork", name) as node:
        assert call(node, "eth_blockNumber") == "0x0"


def test_what_is_no_fork_is_wrong_usage() -> None:
    for name, said in (("never", "osaka"), ("frontier", "tangerine")):
        ended = run("dev", "--hardfork", name)
        assert (ended.returncode, said in ended.stderr.splitlines()[-1]) == (2, True)
    ended = run("dev", "--hardfork", "berlin", "--base-fee", "1")
    assert (ended.returncode, "london" in ended.stderr) == (2, True)


@pytest.mark.slow
def test_a_chain_has_the_id_the_gas_limit_and_the_base_fee_that_it_is_given(tmp_path: Path) -> None:
    options = ("--chain-id", "1337", "--gas-limit", "12345678", "--base-fee", "7000", "--data", str(tmp_path))
    with started("dev", "--listen", "0", "-q", *options) as node:
        assert call(node, "eth_chainId") == hex(1337)
        for number in ("0x0", "0x1"):
            block = call(node, "eth_getBlockByNumber", number, False) or {}
            if number == "0x1":
                assert block == {}
                call(node, "evm_mine")
                block = call(node, "eth_getBlockByNumber", number, False)
            assert (block["gasLimit"], block["baseFeePerGas"]) == (hex(12345678), hex(7000))
        to = call(node, "eth_accounts")[1]
        assert call(node, "eth_getTransactionReceipt", send(node, to=to, value="0x1"))["status"] == "0x1"
    with started("dev", "--listen", "0", "-q", "--data", str(tmp_path)) as node:
        assert (call(node, "eth_chainId"), call(node, "eth_blockNumber")) == (hex(1337), "0x2")
    for other in (("--chain-id", "1"), ("--hardfork", "cancun")):
        ended = run("dev", "--listen", "0", "--data", str(tmp_path), *other)
        assert (ended.returncode, f"{other[0]} is for a new one" in ended.stderr) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dev", "demo"])
def test_limits_can_be_set_so_that_a_large_state_is_taken(command: str) -> None:
    code, account = "0x" + "00" * 3_000_000, "0x" + "ab" * 20
    accounts = {account: {"nonce": 0, "balance": "0x5", "code": code, "storage": {}}}
    dump = "0x" + json.dumps({"accounts": accounts}).encode().hex()
    limits = ("--limit", "body_bytes=20000000", "--limit", "batch_seconds=7.5", "--limit", "logs_results=3")
    with started(command, "--listen", "0", "-q", *limits) as node:
        assert call(node, "anvil_loadState", dump) is True
        assert call(node, "eth_getBalance", account, "latest") == "0x5"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("body_bites=1", "body_bites: unknown setting; the nearest is body_bytes"),
        ("body_bytes=-1", "body_bytes: Expected `int` >= 1"),
        ("body_bytes=1.5", "body_bytes: Expected `int`, got `float`"),
        ("body_bytes=5MiB", "'5MiB' is no number"),
        ("batch_seconds=nan", "batch_seconds"),
        ("body_bytes", "NAME=VALUE"),
    ],
)
def test_a_limit_that_is_none_is_wrong_usage(tmp_path: Path, limit: str, said: str) -> None:
    ended = run("dev", "--listen", "0", "--data", str(tmp_path / "chain"), "--limit", limit)
    assert (ended.returncode, said in ended.stderr.splitlines()[-1]) == (2, True), ended.stderr
    assert not (tmp_path / "chain").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("demo",),
        ("anvil",),
        ("serve",),
        ("follow", "--upstream", "ws://127.0.0.1:1"),
        ("replica", "--journal", "redis://127.0.0.1:1"),
    ],
    ids=lambda command: command[0],
)
def test_each_command_that_runs_a_node_refuses_an_unknown_limit(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    ended = run(*command, "--data", str(tmp_path / "chain"), "--limit", "body_bites=1")
    last = ended.stderr.splitlines()[-1]
    assert ended.returncode == 2
    assert "--limit" in last
    assert "body_bites: unknown setting; the nearest is body_bytes" in last
    assert not (tmp_path / "chain").exists()


@pytest.mark.parametrize(("order", "first"), [("fees", 1), ("fifo", 0)])
def test_transactions_are_taken_in_the_order_that_is_chosen(order: str, first: int) -> None:
    with started("dev", "--listen", "0", "-q", "--order", order) as node:
        assert call(node, "anvil_nodeInfo")["transactionOrder"] == order
        call(node, "evm_setAutomine", False)
        to = call(node, "eth_accounts")[5]
        sent = [
            send(node, place, to=to, value="0x1", gasPrice=hex(price * 10**9))
            for place, price in enumerate((2, 9))
        ]
        call(node, "evm_mine")
        block = call(node, "eth_getBlockByNumber", "latest", False)
        assert block["transactions"] == [sent[first], sent[1 - first]]


@pytest.mark.slow
def test_a_state_is_written_at_the_end_and_read_at_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    options = ("dev", "--listen", "0", "-q", "--state", str(file))
    with started(*options) as node:
        stored = call(node, "eth_getTransactionReceipt", send(node, data=STORE_7_AND_REVERT_NEVER))
        code = call(node, "eth_getTransactionReceipt", send(node, data=CODE))
        call(node, "anvil_setBalance", call(node, "eth_accounts")[3], "0x2a")
        assert node.stop() == 0
    assert sorted(json.loads(file.read_text())) >= ["accounts", "best_block_number", "block"]
    assert list(tmp_path.iterdir()) == [file]
    for _ in range(2):
        with started(*options) as node:
            accounts = call(node, "eth_accounts")
            assert call(node, "eth_getTransactionCount", accounts[0], "latest") == "0x2"
            assert call(node, "eth_getBalance", accounts[3], "latest") == "0x2a"
            assert call(node, "eth_getCode", code["contractAddress"], "latest") == "0x60005460ff"
            place = stored["contractAddress"]
            assert int(call(node, "eth_getStorageAt", place, "0x0", "latest"), 16) == 7
            assert node.stop() == 0


def test_a_state_is_read_from_one_file_and_written_to_another_one(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    target.mkdir()
    address = "0x" + "ab" * 20
    accounts = {address: {"nonce": 3, "balance": "0x5", "code": "0x00", "storage": {"0x1": "0x2"}}}
    source.write_bytes(gzip.compress(json.dumps({"accounts": accounts}).encode()))
    options = ("--load-state", str(source), "--dump-state", str(target))
    with started("dev", "--listen", "0", "-q", *options) as node:
        assert call(node, "eth_getBalance", address, "latest") == "0x5"
        assert node.stop() == 0
    written = json.loads((target / "state.json").read_text())["accounts"]
    storage = {f"0x{1:064x}": f"0x{2:064x}"}
    assert written[address] == {"nonce": 3, "balance": "0x5", "code": "0x00", "storage": storage}


def test_a_state_that_cannot_be_read_or_written_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("{}")
    for options, said in (
        (("--load-state", str(tmp_path / "none")), "No such file"),
        (("--load-state", str(wrong)), "no state that anvil or wsnode has written"),
    ):
        ended = run("dev", "--listen", "0", *options)
        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert said in line
    with started(
        "dev", "--listen", "0", "-q", "--dump-state", str(tmp_path / "none" / "file"), stderr=subprocess.PIPE
    ) as node:
        assert node.stop() == 1
        assert node.process.stderr is not None
        (line,) = node.process.stderr.read().splitlines()
        node.process.stderr.close()
    assert line.endswith("No such file or directory; the state was not written")
    for both in (("--load-state", str(wrong)), ("--data", str(tmp_path))):
        assert run("dev", "--state", str(wrong), *both).returncode == 2


@pytest.mark.slow
def test_a_state_begins_new_chains_only(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "state.json"
    with started("dev", "--listen", "0", "-q", "--data", str(data), "--dump-state", str(file)) as node:
        assert node.stop() == 0
    ended = run("dev", "--listen", "0", "--data", str(data), "--load-state", str(file))
    assert (ended.returncode, "--load-state need a new folder" in ended.stderr) == (1, True)


@pytest.mark.slow
def test_anvil_and_wsnode_read_the_states_of_one_another(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    with started_anvil() as anvil:
        # What it writes down at its end, asked for while it surely lives.
        dump = ask_url(anvil, "anvil_dumpState")["result"]
    theirs.write_bytes(gzip.decompress(bytes.fromhex(dump[2:])))
    with started(
        "dev", "--listen", "0", "-q", "--load-state", str(theirs), "--dump-state", str(ours)
    ) as node:
        owner = call(node, "eth_accounts")[0]
        assert call(node, "eth_getBalance", owner, "latest") == hex(10_000 * 10**18)
        sent = send(node, data=CODE)
        created = call(node, "eth_getTransactionReceipt", sent)["contractAddress"]
        assert node.stop() == 0
    with started_anvil("--load-state", str(ours)) as anvil:
        assert ask_url(anvil, "eth_getCode", created, "latest")["result"] == "0x60005460ff"
