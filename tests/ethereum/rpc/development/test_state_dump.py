"""The accounts of a chain, taken to another one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, STRANGER, Playground, RefusedError, playground
from wsnode.ethereum.rpc.development.state_dump import GZIP, MAX_ACCOUNTS, MAX_BYTES, loaded
from wsnode.jsonrpc.errors import RpcError

SLOT, VALUE = "0x" + "05".rjust(64, "0"), "0x" + "22" * 32
# Puts one byte, 1, on the chain as a contract.
CREATION = "0x600160005360016000f3"


def content(dump: str) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(gzip.decompress(bytes.fromhex(dump[2:])))
    return written


def packed(accounts: dict[str, Any]) -> str:
    return "0x" + gzip.compress(json.dumps({"accounts": accounts}).encode()).hex()


@pytest.mark.parametrize("prefix", ["anvil", "hardhat"])
def test_everything_that_accounts_have_is_on_the_other_chain(
    chain: Playground, tmp_path: Path, prefix: str
) -> None:
    contract = chain.receipt(chain.send(to="", value="", data=CREATION))["contractAddress"]  # type: ignore[index]
    chain("anvil_setBalance", STRANGER, 7)
    chain("anvil_setStorageAt", STRANGER, SLOT, VALUE)
    chain("anvil_setStorageAt", STRANGER, "0x6", VALUE)
    chain("anvil_setStorageAt", STRANGER, "0x6", "0x" + "00" * 32)
    dump = chain(f"{prefix}_dumpState")
    accounts = content(dump)["accounts"]
    assert accounts[STRANGER] == {"nonce": 0, "balance": "0x7", "code": "0x", "storage": {SLOT: VALUE}}
    assert (accounts[contract]["code"], accounts[CREATOR]["nonce"]) == ("0x01", 1)
    assert list(accounts) == sorted(accounts)
    with playground(tmp_path / "other") as other:
        for _ in range(3):
            other.send()
        assert other(f"{prefix}_loadState", dump) is True
        assert other("eth_getCode", contract, "latest") == "0x01"
        assert other("eth_getStorageAt", STRANGER, SLOT, "latest") == VALUE
        assert (other.balance(STRANGER), other.balance(CREATOR)) == (7, chain.balance(CREATOR))
        # The transactions of this chain are not forgotten.
        assert other.nonce(CREATOR) == 3
        assert other.receipt(other.send()) is not None


def test_accounts_that_are_gone_or_were_never_there_are_not_in_it(chain: Playground) -> None:
    identity = chain("evm_snapshot")
    chain("anvil_setBalance", STRANGER, 7)
    chain("evm_mine")
    assert STRANGER in content(chain("anvil_dumpState"))["accounts"]
    chain("evm_revert", identity)
    assert STRANGER not in content(chain("anvil_dumpState"))["accounts"]


def test_a_dump_of_no_accounts_changes_nothing(chain: Playground) -> None:
    before = content(chain("anvil_dumpState"))
    assert chain("anvil_loadState", packed({})) is True
    assert content(chain("anvil_dumpState")) == before


def test_what_anvil_writes_down_besides_is_passed_over(chain: Playground) -> None:
    account = {"nonce": 1, "balance": "0x5", "code": "0x6001", "storage": {SLOT: VALUE}}
    # Members of a dump of anvil 1.7.
    written = {
        "block": {"number": "0x1", "gas_limit": 30_000_000, "basefee": 1, "slot_num": 0},
        "accounts": {STRANGER: account},
        "best_block_number": 1,
        "blocks": [{"header": {"number": "0x0"}, "transactions": [], "ommers": []}],
        "transactions": [{"info": {"transaction_index": 0}}],
        "historical_states": None,
    }
    chain("anvil_loadState", "0x" + gzip.compress(json.dumps(written).encode()).hex())
    assert content(chain("anvil_dumpState"))["accounts"][STRANGER] == account
    assert chain.head == 0


@pytest.mark.parametrize(
    "dump",
    [
        "0x12",
        "0x1f8b",
        "0x" + gzip.compress(b"[]", mtime=0).hex(),
        packed({"0x12": {"nonce": 0, "balance": "0x0", "code": "0x", "storage": {}}}),
        packed({STRANGER: {"nonce": -1, "balance": "0x0", "code": "0x", "storage": {}}}),
        packed({STRANGER: {"nonce": 0, "balance": "0x1" + "00" * 32, "code": "0x", "storage": {}}}),
        packed({STRANGER: {"nonce": 0, "balance": "0x0", "code": "0x1", "storage": {}}}),
        packed({STRANGER: {"nonce": 0, "balance": "0x0", "code": "0x", "storage": {"x": "0x0"}}}),
        packed({STRANGER: {"nonce": 0, "balance": "0x0"}}),
    ],
)
def test_what_is_no_dump_is_refused(chain: Playground, dump: str) -> None:
    with pytest.raises(RefusedError, match="Failed to decode state dump") as refused:
        chain("anvil_loadState", dump)
    assert refused.value.code == -32602
    assert chain.balance(STRANGER) == 0


def compressed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


EMPTY = b'{"accounts":{},"blocks":['


def test_a_dump_is_bounded_by_what_it_has_uncompressed() -> None:
    # Of what is passed over nothing is made: a million empty lists took a gigabyte.
    text = EMPTY + b",".join([b"[]"] * 1_000_000) + b"]}"
    assert loaded(compressed(text), len(text)) == {}
    with pytest.raises(RpcError) as refused:
        loaded(compressed(text), len(text) - 1)
    message = f"the dump has more than {len(text) - 1} bytes uncompressed"
    assert (refused.value.code, refused.value.message) == (-32602, message)
    assert loaded(text, 0) == {}


@pytest.mark.slow
def test_accounts_of_a_dump_are_counted() -> None:
    account = {"nonce": 1, "balance": "0x5", "code": "0x", "storage": {}}
    accounts = {f"0x{number:040x}": account for number in range(MAX_ACCOUNTS + 1)}
    text = json.dumps({"accounts": accounts}).encode()
    with pytest.raises(RpcError, match="the dump has 100001 accounts, want at most 100000") as refused:
        loaded(text, MAX_BYTES)
    assert refused.value.code == -32602
    del accounts["0x" + "00" * 20]
    assert len(loaded(json.dumps({"accounts": accounts}).encode(), MAX_BYTES)) == MAX_ACCOUNTS


@pytest.mark.parametrize("dump", [b"", GZIP, b"[", b"[" * 100_000, b'{"accounts":' * 50_000, b"\xff"])
def test_deep_and_broken_dumps_are_refused(dump: bytes) -> None:
    for each in (dump, compressed(dump)):
        with pytest.raises(RpcError, match="Failed to decode state dump"):
            loaded(each, MAX_BYTES)


def test_numbers_of_a_dump_may_be_written_in_any_way_that_tools_do(chain: Playground) -> None:
    storage = {"5": "0x1", "0x05": VALUE, "0x0000006": "7"}
    account = {"nonce": 2, "balance": "1000", "code": "", "storage": storage}
    chain("anvil_loadState", packed({STRANGER: account}))
    assert (chain.nonce(STRANGER), chain.balance(STRANGER)) == (2, 1000)
    slots = [chain("eth_getStorageAt", STRANGER, slot, "latest") for slot in ("0x5", "0x6")]
    assert slots == [VALUE, "0x" + "7".rjust(64, "0")]
