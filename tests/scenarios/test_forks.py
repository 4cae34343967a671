"""`wsnode dev --fork` as a whole process: on geth, on anvil, beside anvil's own forks, and behind a liar."""

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.geth_process import Addresses
from tests.node_process import run, started, until
from tests.peers.anvil import ask_url, started_anvil
from tests.peers.geth_market import geth_with_market
from tests.scenarios.test_following import lying, needs_geth, plain, result
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS

pytestmark = pytest.mark.slow

STRANGER = "0x" + "5a" * 20
EXCHANGE, TOKEN = f"0x{exchange.ADDRESS.hex()}", f"0x{token.ADDRESS.hex()}"
TRADER = f"0x{ACCOUNTS[3].address.hex()}"
POSITION = "0x" + "c0de" * 10
"""Where overrides put code."""
WORD = "00" * 31


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def geth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Return the addresses of a geth with the demo's token and exchange."""
    with geth_with_market(tmp_path_factory.mktemp("geth")) as geth:
        yield geth


@pytest.fixture
def upstream(geth: Addresses) -> str:
    return geth.http


@contextmanager
def forking(*arguments: str) -> Iterator[str]:
    with started("dev", "--quiet", "--listen", "127.0.0.1:0", *arguments) as node:
        yield plain(node)


def by_code(code: str, *rest: Any, **members: Any) -> tuple[Any, ...]:
    """Return the parameters of a call of code that is nowhere yet."""
    call = {"from": STRANGER, "to": POSITION, **members}
    return call, "latest", {POSITION: {"code": code}}, *rest


def calls(number: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield calls of many kinds on the chain of `upstream`."""
    balance = bytes.fromhex("70a08231")
    for account in (*ACCOUNTS[:4],):
        data = f"0x{(balance + bytes(12) + account.address).hex()}"
        yield "eth_call", ({"to": TOKEN, "data": data}, "latest")
    # geth has another bound than ours where a call names none.
    buy = {
        "gas": "0x200000",
        "from": STRANGER,
        "to": EXCHANGE,
        "value": "0xde0b6b3a7640000",
        "data": f"0x{exchange.buy().hex()}",
    }
    rich = {STRANGER: {"balance": "0x56bc75e2d63100000"}}
    yield "eth_call", (buy, "latest", rich)
    yield "eth_estimateGas", (buy, "latest", rich)
    yield "eth_createAccessList", (buy, "latest", rich)
    yield "debug_traceCall", (buy, "latest", {"stateOverrides": rich, "tracer": "callTracer"})
    yield "debug_traceCall", (buy, "latest", {"stateOverrides": rich, "tracer": "prestateTracer"})
    sell = {"from": STRANGER, "to": EXCHANGE, "data": f"0x{exchange.sell(5).hex()}"}
    yield "eth_call", (sell, "latest")
    transfer = {"from": STRANGER, "to": TOKEN, "data": f"0x{token.transfer(ACCOUNTS[1].address, 5).hex()}"}
    yield "eth_call", (transfer, "latest")
    yield "eth_estimateGas", (transfer, "latest")
    for blocks_back in (1, 2, 20, 255, 256, 257):
        yield "eth_call", by_code(f"0x61{blocks_back:04x}4303405f5260205ff3")
    # CREATE2 of four bytes of code, SELFDESTRUCT, and what is there afterwards.
    yield "eth_call", by_code("0x635f5ffd5b5f526004601c5f80f55f5260205ff3")
    yield "eth_call", by_code(f"0x73{ACCOUNTS[2].address.hex()}ff", value="0x0")
    yield "eth_call", by_code(f"0x73{ACCOUNTS[2].address.hex()}315f5260205ff3")
    yield "eth_call", by_code(f"0x73{exchange.ADDRESS.hex()}3f5f5260205ff3")
    yield "eth_call", by_code(f"0x73{token.ADDRESS.hex()}3b5f5260205ff3")
    for members in ("41", "42", "44", "45", "46", "48", "4a"):
        yield "eth_call", by_code(f"0x{members}5f5260205ff3")
    for contract, data in (
        (1, "00" * 128),
        (2, "616263"),
        (3, "616263"),
        (4, "616263"),
        (5, f"{WORD}01{WORD}01{WORD}01030507"),
        (6, "00" * 128),
        (7, "00" * 96),
        (8, ""),
        (9, "00000001" + "00" * 208 + "01"),
        (11, "00" * 256),
        (256, "00" * 160),
    ):
        yield "eth_call", ({"to": f"0x{contract:040x}", "data": f"0x{data}"}, "latest")
    yield "eth_call", (*by_code("0x435f5260205ff3"), {"number": "0x999", "time": "0x70000000"})
    # A delegation, and a call of it.
    delegated = {STRANGER: {"code": f"0xef0100{token.ADDRESS.hex()}"}}
    yield "eth_call", ({"to": STRANGER, "data": "0x18160ddd"}, "latest", delegated)
    yield (
        "eth_call",
        (
            {"to": TOKEN, "data": "0x18160ddd"},
            "latest",
            {TOKEN: {"stateDiff": {f"0x{WORD}00": f"0x{WORD}07"}}},
        ),
    )
    simulated = {"calls": [buy | {"gas": "0x100000"}, sell | {"gas": "0x100000"}], "stateOverrides": rich}
    yield "eth_simulateV1", ({"blockStateCalls": [simulated, simulated]}, "latest")
    for method, *rest in (("eth_getCode",), ("eth_getStorageAt", "0x1"), ("eth_getTransactionCount",)):
        yield method, (EXCHANGE, *rest, "latest")
    yield "eth_getProof", (TOKEN, ["0x0", "0x1"], hex(number))
    yield "eth_getStorageValues", ({TOKEN: [f"0x{WORD}00", f"0x{WORD}01"]}, "latest")


def answered(url: str, method: str, *params: Any) -> Any:
    """Return the reply to a call, which may be out of time at first: what it has read is kept."""
    replies: list[Any] = []

    def is_answered() -> bool:
        replies.append(ask_url(url, method, *params))
        message = replies[-1].get("error", {}).get("message", "")
        return not message.startswith("execution aborted (timeout")

    until(f"{method} in time", is_answered)
    return replies[-1]


def pinned(params: tuple[Any, ...], block: str) -> list[Any]:
    return [block if each == "latest" else each for each in params]


@needs_geth
def test_calls_on_a_fork_of_geth_are_equal_to_geths_own(upstream: str) -> None:
    with forking("--fork", upstream, "--accounts", "1", "--mnemonic", "zoo " * 11 + "wrong") as fork:
        number = result(fork, "eth_blockNumber")
        for method, params in calls(int(number, 16)):
            ours, theirs = (answered(url, method, *pinned(params, number)) for url in (fork, upstream))
            # The state root of the block here is that with the funded account.
            if method == "eth_getProof":
                ours, theirs = (each["result"]["storageProof"] for each in (ours, theirs))
            elif method == "eth_simulateV1":
                ours, theirs = (
                    [
                        (call["status"], call["returnData"], call["gasUsed"])
                        for block in each["result"]
                        for call in block["calls"]
                    ]
                    for each in (ours, theirs)
                )
            assert ours == theirs, (method, params)
        rounds = rounds_of(fork)
        for method, params in calls(int(number, 16)):
            answered(fork, method, *pinned(params, number))
        assert rounds_of(fork) == rounds


@needs_geth
def test_calls_below_a_fork_of_geth_are_equal_to_geths_own(upstream: str) -> None:
    with forking("--fork", upstream) as fork:
        below = int(result(fork, "eth_blockNumber"), 16) - 2
        for method, params in calls(below):
            ours, theirs = (answered(url, method, *pinned(params, hex(below))) for url in (fork, upstream))
            assert ours == theirs, (method, params)


@needs_geth
def test_transactions_below_a_fork_are_traced_as_by_geth_and_anvil(geth: Addresses, upstream: str) -> None:
    number = int(result(upstream, "eth_blockNumber"), 16)
    blocks = [result(upstream, "eth_getBlockByNumber", hex(each), False) for each in range(1, number - 1)]
    (*_, block) = [block for block in blocks if block["transactions"]]
    calls = {"tracer": "callTracer"}
    with (
        lying(geth.websocket, "no-method=debug_traceTransaction") as silent,
        forking("--fork", silent) as fork,
        started_anvil("--fork-url", upstream) as anvil,
    ):
        for transaction in block["transactions"]:
            ours, theirs, anvils = (
                result(url, "debug_traceTransaction", transaction, calls) for url in (fork, upstream, anvil)
            )
            assert ours == theirs == anvils
        for address in (TOKEN, EXCHANGE, TRADER):
            balances = [
                result(url, "eth_getBalance", address, block["number"]) for url in (fork, upstream, anvil)
            ]
            assert balances[0] == balances[1] == balances[2]


def rounds_of(url: str) -> int:
    """Return how often a fork has fetched proofs."""
    with urllib.request.urlopen(f"{url}metrics") as reply:
        found = re.search(r"^wsnode_proof_rounds\S* (\d+)", reply.read().decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


@needs_geth
def test_a_second_start_needs_no_upstream(geth: Addresses, upstream: str) -> None:
    number = str(int(result(upstream, "eth_blockNumber"), 16) - 3)
    read = {"to": TOKEN, "data": "0x18160ddd"}
    with lying(geth.websocket) as proxy, forking("--fork", proxy, "--fork-block", number) as fork:
        block = result(fork, "eth_getBlockByNumber", "latest", True)
        supply = result(fork, "eth_call", read, "latest")
    with forking("--fork", proxy, "--fork-block", number) as fork:
        assert result(fork, "eth_getBlockByNumber", "latest", True) == block
        assert result(fork, "eth_call", read, "latest") == supply
        error = ask_url(fork, "eth_getBalance", STRANGER, "latest")["error"]
        assert error["code"] == -32002


@needs_geth
@pytest.mark.parametrize("lie", ["proof-byte", "proof-node", "code"])
def test_a_liar_is_refused_and_the_honest_node_asked(lie: str, geth: Addresses, upstream: str) -> None:
    with lying(geth.websocket, lie) as liar, forking("--fork", upstream, "--fork", liar) as fork:
        for slot in range(20):
            address = f"0x{0xABC + slot:040x}"
            assert result(fork, "eth_getBalance", address, "latest") == "0x0"
            assert result(fork, "eth_getStorageAt", TOKEN, hex(slot), "latest") == result(
                upstream, "eth_getStorageAt", TOKEN, hex(slot), "latest"
            )
    with lying(geth.websocket, lie) as liar:
        refused = run("dev", "--listen", "127.0.0.1:0", "--fork", liar)
        assert refused.returncode == 1
        assert "wrong" in refused.stderr


def test_a_node_without_proofs_is_refused(tmp_path: Path) -> None:
    with (
        started("dev", "--quiet", "--listen", "127.0.0.1:0") as node,
        lying(plain(node), "no-method=eth_getProof") as liar,
    ):
        refused = run("dev", "--listen", "127.0.0.1:0", "--fork", liar)
        assert refused.returncode == 1
        assert "has no eth_getProof" in refused.stderr


def test_a_fork_whose_beginning_failed_begins_anew(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "kept"))
    with started("dev", "--quiet", "--listen", "127.0.0.1:0") as node:
        with lying(plain(node), "proof-byte") as liar:
            assert run("dev", "--listen", "127.0.0.1:0", "--fork", liar, *data).returncode == 1
        with forking("--fork", plain(node), "--balance", "5", *data) as fork:
            account = result(fork, "eth_accounts")[0]
            assert result(fork, "eth_getBalance", account, "latest") == hex(5 * 10**18)


@needs_geth
def test_the_scenarios_of_anvils_forks_have_the_same_ends(upstream: str) -> None:
    """A swap, impersonation, storage, a snapshot and a reset, beside anvil on the same block."""
    number = str(int(result(upstream, "eth_blockNumber"), 16))
    anvil_options = ("--fork-url", upstream, "--fork-block-number", number)
    with (
        forking("--fork", upstream, "--fork-block", number) as ours,
        started_anvil(*anvil_options) as anvil,
    ):
        ends = [list(scenario(url, int(number))) for url in (ours, anvil)]
    assert ends[0] == ends[1]


def sent(url: str, call: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt of a transaction."""
    transaction = result(url, "eth_sendTransaction", call)
    until("a block", lambda: result(url, "eth_getTransactionReceipt", transaction) is not None)
    receipt: dict[str, Any] = result(url, "eth_getTransactionReceipt", transaction)
    return receipt


def scenario(url: str, number: int) -> Iterator[Any]:
    """Yield the results of its steps, which two nodes must have alike."""

    def traded(**members: Any) -> dict[str, Any]:
        return sent(url, {"from": TRADER, "gas": hex(500_000), **members})

    def balance_of(address: str) -> Any:
        data = f"0x70a08231{'00' * 12}{address[2:]}"
        return result(url, "eth_call", {"to": TOKEN, "data": data}, "latest")

    yield result(url, "eth_blockNumber")
    yield result(url, "eth_chainId")
    snapshot = result(url, "evm_snapshot")
    receipt = traded(to=EXCHANGE, value=hex(10**18), data=f"0x{exchange.buy().hex()}")
    yield receipt["status"], receipt["gasUsed"], [log["data"] for log in receipt["logs"]]
    yield balance_of(TRADER)
    result(url, "anvil_impersonateAccount", EXCHANGE)
    result(url, "anvil_setBalance", EXCHANGE, hex(10**20))
    receipt = traded(**{"from": EXCHANGE}, to=TOKEN, data=f"0x{token.transfer(b'9' * 20, 7).hex()}")
    yield receipt["status"], receipt["gasUsed"]
    yield balance_of("0x" + "39" * 20)
    result(url, "anvil_setStorageAt", TOKEN, f"0x{WORD}00", f"0x{WORD}09")
    yield result(url, "eth_getStorageAt", TOKEN, "0x0", "latest")
    result(url, "anvil_setCode", STRANGER, "0x602a5f5260205ff3")
    yield result(url, "eth_call", {"to": STRANGER}, "latest")
    yield result(url, "eth_getLogs", {"fromBlock": hex(number - 5), "toBlock": hex(number)})
    yield result(url, "eth_getBlockByNumber", hex(number - 7), False)["hash"]
    yield result(url, "evm_revert", snapshot)
    yield balance_of(TRADER)
    yield result(url, "eth_blockNumber")
    result(url, "anvil_mine", "0x3")
    yield result(url, "eth_blockNumber")


def test_a_reset_puts_a_fork_on_another_block_and_another_chain(tmp_path: Path) -> None:
    with (
        started("dev", "--quiet", "--listen", "127.0.0.1:0") as one,
        started("dev", "--quiet", "--listen", "127.0.0.1:0", "--chain-id", "77") as other,
    ):
        for node, blocks in ((one, "0x5"), (other, "0x9")):
            result(plain(node), "anvil_setBalance", STRANGER, blocks)
            result(plain(node), "anvil_mine", blocks)
        saved = tmp_path / "state.json"
        options = ("--fork", plain(one), "--fork-block", "3", "--dump-state", str(saved))
        with (
            started("dev", "--quiet", "--listen", "127.0.0.1:0", *options) as fork,
            connect(fork.bare(fork.socket_url)) as told,
        ):
            told.send('{"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}')
            told.recv()
            for forking, source, number in (
                ({"blockNumber": 1}, one, 1),
                ({"jsonRpcUrl": plain(other)}, other, 9),
                ({"blockNumber": 4}, other, 4),
                ({"jsonRpcUrl": plain(one), "blockNumber": 2}, one, 2),
            ):
                assert result(plain(fork), "anvil_reset", {"forking": forking}) is None
                block = result(plain(source), "eth_getBlockByNumber", hex(number), False)
                assert result(plain(fork), "eth_getBlockByNumber", "latest", False) == block
                assert json.loads(told.recv())["params"]["result"]["hash"] == block["hash"]
                balance = result(plain(fork), "eth_getBalance", STRANGER, "latest")
                assert balance == result(plain(source), "eth_getBalance", STRANGER, hex(number))
                account = result(plain(fork), "eth_accounts")[0]
                receipt = sent(plain(fork), {"from": account, "to": STRANGER, "value": "0x1"})
                assert receipt["blockNumber"] == hex(number + 1)
                assert json.loads(told.recv())["params"]["result"]["hash"] == receipt["blockHash"]
        assert STRANGER in saved.read_text()


def test_an_anvil_can_be_forked(tmp_path: Path) -> None:
    with started_anvil() as anvil:
        sender = result(anvil, "eth_accounts")[0]
        creation = f"0x{token.creation().hex()}"
        address = sent(anvil, {"from": sender, "data": creation, "gas": hex(2_000_000)})["contractAddress"]
        result(anvil, "anvil_mine", "0x5")
        with forking("--fork", anvil) as fork:
            supply = {"to": address, "data": "0x18160ddd"}
            assert result(fork, "eth_call", supply, "latest") == result(anvil, "eth_call", supply, "latest")
            transfer = f"0x{token.transfer(b'7' * 20, 5).hex()}"
            call = {"from": sender, "to": address, "data": transfer, "gas": hex(200_000)}
            ours, theirs = (sent(url, call) for url in (fork, anvil))
            assert ours["gasUsed"] == theirs["gasUsed"]
            assert ours["status"] == theirs["status"] == "0x1"
