"""The flags of `wsnode anvil`: what they do, and what the ignored ones say."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.demo.anvil.anvil_process import in_anvils_place
from tests.node_process import run
from wsnode.cli.anvil.ignored import IGNORED
from wsnode.demo.accounts import ACCOUNTS

pytestmark = pytest.mark.slow

OWNER, OTHER = (f"0x{account.address.hex()}" for account in ACCOUNTS[:2])
STRANGER = "0x" + "ab" * 20
GENESIS: dict[str, Any] = {
    "config": {"chainId": 777, "homesteadBlock": 0},
    "timestamp": "0x65000000",
    "gasLimit": "0x1312d00",
    "baseFeePerGas": "0x7",
    "coinbase": "0x00000000000000000000000000000000000000aa",
    "alloc": {
        OWNER.removeprefix("0x"): {"balance": "0x5"},
        "0x00000000000000000000000000000000000000cc": {
            "balance": "6",
            "nonce": "0x3",
            "code": "0x6001",
            "storage": {f"0x{1:064x}": f"0x{2:064x}"},
        },
    },
}


def created(size: int) -> str:
    """Return code that creates a contract of so many bytes of zero."""
    return f"0x62{size:06x}5ff3"


def test_every_ignored_flag_says_what_differs_in_a_line(tmp_path: Path) -> None:
    given = [
        f"{flag.names[0]}={value}" if flag.metavar is not None else flag.names[0]
        for flag in IGNORED
        for value in ("1",)
    ]
    with in_anvils_place(tmp_path, *given, "--block-time", "1000") as chain:
        assert chain("eth_blockNumber") == "0x0"
        lines = chain.ended()
    warnings = chain.stderr.splitlines()
    assert [line.split()[1] for line in warnings] == [flag.names[0] for flag in IGNORED]
    assert all(line.startswith("Warning: --") and " is ignored: " in line for line in warnings)
    assert not any("Warning" in line for line in lines)


def test_flags_that_do_less_than_anvils_say_so(tmp_path: Path) -> None:
    flags = (
        "--hardfork",
        "Bpo2",
        "--no-request-size-limit",
        "--no-cors",
        "--host",
        "127.0.0.1,127.0.0.2",
        "-n",
        "tempo",
    )
    with in_anvils_place(tmp_path, *flags) as chain:
        assert chain("anvil_nodeInfo")["hardFork"] == "Osaka"
        chain.ended()
    assert [line.split()[1] for line in chain.stderr.splitlines()] == [
        "--hardfork", "--no-request-size-limit", "--no-cors", "--host", "--network",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--block-time", "1", "--no-mining"), "--no-mining"),
        (("--mixed-mining",), "--block-time"),
        (("--block-time", "0"), "--block-time"),
        (("--fork-block-number", "1"), "--fork-url"),
        (("--fork-url", "http://localhost:1", "--timestamp", "1"), "--timestamp"),
        (("--hardfork", "berlin", "--base-fee", "1"), "london"),
        (("--derivation-path", "44/60"), "m/44'/60'/0'/0/"),
        (("--derivation-path", "m/2147483648"), "2^31"),
        (("--accounts", "1001"), "1000"),
        (("--odyssey",), "--odyssey"),
    ],
)
def test_wrong_usage_names_the_flag(flags: tuple[str, ...], said: str) -> None:
    ended = run("anvil", *flags)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    out = tmp_path / "config.json"
    out.mkdir()
    ended = run("anvil", "--quiet", "--port", "0", "--config-out", str(out))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [f"error: [Errno 21] Is a directory: '{out}'"]


def test_blocks_come_on_request_alone_without_mining(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--no-mining") as chain:
        sent = chain("eth_sendTransaction", {"from": OWNER, "to": OTHER, "value": "0x1"})
        assert (chain("anvil_getAutomine"), chain("eth_getTransactionReceipt", sent)) == (False, None)
        chain("evm_mine")
        assert chain("eth_getTransactionReceipt", sent)["status"] == "0x1"
        chain("evm_setAutomine", True)
        chain("anvil_reset")
        assert chain("anvil_getAutomine") is False


def test_any_account_sends_without_a_signature_with_auto_impersonate(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--auto-impersonate") as chain:
        for _ in range(2):
            chain("anvil_setBalance", STRANGER, hex(10**18))
            assert chain.send(sender=STRANGER, to=OTHER, value="0x1")["status"] == "0x1"
            chain("anvil_reset")


def test_a_chain_begins_at_the_time_that_it_is_given(tmp_path: Path) -> None:
    begin = 1_700_000_000
    with in_anvils_place(tmp_path, "--timestamp", str(begin)) as chain:
        for _ in range(2):
            assert int(chain("eth_getBlockByNumber", "0x0", False)["timestamp"], 16) == begin
            chain("evm_mine")
            assert begin < int(chain("eth_getBlockByNumber", "latest", False)["timestamp"], 16) < begin + 3600
            chain("anvil_reset")


@pytest.mark.parametrize(("slots", "safe", "final"), [(2, 5, 3), (0, 7, 7), (32, 0, 0)])
def test_an_epoch_has_the_number_of_slots_that_is_given(
    tmp_path: Path, slots: int, safe: int, final: int
) -> None:
    with in_anvils_place(tmp_path, "--slots-in-an-epoch", str(slots)) as chain:
        chain("anvil_mine", "0x7")
        numbers = [
            int(chain("eth_getBlockByNumber", tag, False)["number"], 16) for tag in ("safe", "finalized")
        ]
        assert numbers == [safe, final]
        chain("anvil_rollback", 6)
        assert chain("eth_blockNumber") == "0x1"


def test_a_contract_may_be_as_large_as_it_is_told(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--code-size-limit", "30000") as chain:
        assert chain.send(data=created(30_000), gas="0x7a1200")["status"] == "0x1"
        assert chain.send(data=created(30_001), gas="0x7a1200")["status"] == "0x0"
        padded = created(1) + "00" * 60_000
        refused = chain.answer("eth_sendTransaction", {"from": OWNER, "data": padded, "gas": "0xf42400"})
        assert refused["error"]["message"] == "max initcode size exceeded: code size 60006 limit 60000"
    with in_anvils_place(tmp_path, "--disable-code-size-limit") as chain:
        assert chain.send(data=created(60_000), gas="0xf00000")["status"] == "0x1"
        padded = created(1) + "00" * 150_000
        assert chain.send(data=padded, gas="0xf00000")["status"] == "0x1"
        assert chain("eth_call", {"data": created(60_000)})[2:] == "00" * 60_000
    with in_anvils_place(tmp_path) as chain:
        assert chain.send(data=created(24_577), gas="0x7a1200")["status"] == "0x0"


def test_a_chain_begins_with_a_genesis_file(tmp_path: Path) -> None:
    file = tmp_path / "genesis.json"
    file.write_text(json.dumps(GENESIS))
    with in_anvils_place(tmp_path, "--init", str(file)) as chain:
        assert chain("eth_chainId") == hex(777)
        assert [int(chain("eth_getBalance", address, "latest"), 16) for address in (OWNER, OTHER)] == [
            5,
            10**22,
        ]
        filled = "0x00000000000000000000000000000000000000cc"
        assert chain("eth_getTransactionCount", filled, "latest") == "0x3"
        assert int(chain("eth_getStorageAt", filled, "0x1", "latest"), 16) == 2
        chain("evm_mine")
        block = chain("eth_getBlockByNumber", "latest", False)
        members = ("baseFeePerGas", "gasLimit", "miner")
        assert [block[name] for name in members] == ["0x7", hex(30_000_000), GENESIS["coinbase"]]
        assert 0 < int(block["timestamp"], 16) - 0x65000000 < 3600
    with in_anvils_place(tmp_path, "--init", str(file), "--chain-id", "5", "--base-fee", "9") as chain:
        block = chain("eth_getBlockByNumber", "0x0", False)
        assert (chain("eth_chainId"), block["baseFeePerGas"]) == ("0x5", "0x9")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "Expected `object`"),
        ('{"alloc": {"0x12": {}}}', "alloc: '0x12' is no address"),
        ('{"timestamp": "soon"}', "timestamp: 'soon' is no number"),
        ('{"baseFeePerGas": -1}', "baseFeePerGas: -1 is out of range"),
        ('{"coinbase": "0xzz"}', "coinbase: '0xzz' is no address"),
        ('{"config": {"chainId": "x"}}', "chainId"),
        (f'{{"alloc": {{"{OWNER}": {{"balance": "much"}}}}}}', "alloc"),
    ],
)
def test_what_is_no_genesis_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "genesis.json"
    file.write_text(text)
    ended = run("anvil", "--port", "0", "--init", str(file))
    assert (ended.returncode, len(ended.stderr.splitlines()), said in ended.stderr) == (1, 1, True), (
        ended.stderr
    )


def test_there_may_be_no_accounts_or_others(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--accounts", "0") as chain:
        assert chain("eth_accounts") == []
        assert not any(line.startswith("(") for line in chain.lines)
    # As `cast wallet` derives it.
    with in_anvils_place(tmp_path, "--accounts", "1", "--derivation-path", "m/44'/60'/0'/") as chain:
        assert chain("eth_accounts") == ["0x1e59ce931b4cfea3fe4b875411e280e173cb7a9c"]


def test_log_lines_are_json_where_that_is_wanted(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--json", "-vv", "--limit", "slow_seconds=0.000001") as chain:
        chain("eth_blockNumber")
        lines = chain.ended()
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert logged
    assert {"level", "message"} <= logged[0].keys()
