"""Development chains on a block of Arbitrum: what ArbOS alone runs is refused, all else as on Ethereum."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground
from tests.families.restated_blocks import COUNTER, RestatedNode, upstream
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.blocks import arbos_fork
from wsnode.ethereum.codec.transactions import sign_transaction

pytestmark = pytest.mark.slow

ARB_SYS: Final = f"0x{0x64:040x}"
P256VERIFY: Final = f"0x{0x100:040x}"
CALLER: Final = "0x" + "ca11" * 10
CALLS_ARB_SYS: Final = "0x5f5f5f5f5f60645af1" + "5f5260205ff3"
PROGRAM: Final = "0x" + "57" * 20
STYLUS: Final = "0xeff00000" + "11" * 8
NUMBER: Final = "0x435f5260205ff3"
UNPROVED: Final = {"gasUsedForL1", "timeboosted"}


@contextmanager
def forked(folder: Path) -> Iterator[tuple[RestatedNode, Playground]]:
    with (
        upstream("arbitrum", folder / "theirs") as node,
        forked_playground(folder / "ours", [MemoryClient(node)]) as fork,
    ):
        yield node, fork


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Playground]:
    with forked(tmp_path) as (_node, fork):
        fork("anvil_setCode", CALLER, CALLS_ARB_SYS)
        fork("anvil_setCode", PROGRAM, STYLUS)
        yield fork


def raw(fork: Playground, to: str) -> str:
    signed = sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=int(fork("eth_chainId"), 16),
        nonce=fork.nonce(CREATOR),
        gas=200_000,
        to=bytes.fromhex(to[2:]),
        value=0,
        input=b"",
        gas_price=10**9,
    )
    return f"0x{signed.hex()}"


REFUSED: Final = {
    ARB_SYS: (ARB_SYS, "precompile"),
    CALLER: (ARB_SYS, "precompile"),
    PROGRAM: (PROGRAM, "stylus"),
}


@pytest.mark.parametrize(("to", "named"), REFUSED.items())
def test_what_comes_to_arbos_or_stylus_is_refused_before_it_is_mined(
    fork: Playground, to: str, named: tuple[str, str]
) -> None:
    head, call = fork.head, {"from": CREATOR, "to": to}
    fork("anvil_impersonateAccount", STRANGER)
    for method, params in (
        ("eth_call", [call, "latest"]),
        ("eth_estimateGas", [call]),
        ("debug_traceCall", [call, "latest", {}]),
        ("eth_sendTransaction", [call]),
        ("eth_sendTransaction", [call | {"gas": "0x30000"}]),
        ("eth_sendTransaction", [call | {"from": STRANGER, "gas": "0x30000", "gasPrice": "0x0"}]),
        ("eth_sendRawTransaction", [raw(fork, to)]),
        ("eth_sendRawTransactionSync", [raw(fork, to)]),
    ):
        error = fork.raw(method, params)["error"]
        assert error["code"] == -32000, method
        assert error["data"] == dict(zip(("address", "kind"), named, strict=True)), method
        assert error["message"].endswith("which runs inside ArbOS: wsnode cannot execute it"), method
    assert (fork.head, fork.pool) == (head, (0, 0))


def test_other_transactions_go_on_as_on_ethereum(fork: Playground) -> None:
    sent = fork("eth_sendRawTransaction", raw(fork, COUNTER))
    receipt = fork.receipt(sent)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert fork("trace_transaction", sent)[0]["result"]["output"].endswith("2a")
    before = fork.time()
    fork("evm_increaseTime", "0xe10")
    fork("evm_mine")
    assert fork.time() >= before + 3600


def test_a_transaction_that_comes_to_arbos_by_then_is_left_out_of_the_block(fork: Playground) -> None:
    fork("evm_setAutomine", False)
    left = fork.send(to=STRANGER, value=None, gas="0x30000")
    other = fork.send(sender=RECIPIENT, to=COUNTER, value=None)
    fork("anvil_setCode", STRANGER, CALLS_ARB_SYS)
    fork("evm_mine")
    assert fork.block()["transactions"] == [other]
    assert fork.receipt(left) is None
    # It can be in no block, and is gone after one in which it was alone.
    assert fork.pool == (1, 0)
    fork("evm_mine")
    assert fork.block()["transactions"] == []
    assert fork.pool == (0, 0)


def test_blocks_have_a_limit_a_steady_base_fee_and_numbers_of_their_own(tmp_path: Path) -> None:
    with forked(tmp_path) as (node, fork):
        fork("anvil_mine", "0x2")
        first, second = fork.block(fork.head - 1), fork.block()
        assert [int(block["gasLimit"], 16) for block in (first, second)] == [30_000_000] * 2
        assert first["baseFeePerGas"] == second["baseFeePerGas"] == node.head["baseFeePerGas"]
        assert int(first["number"], 16) == int(node.head["number"], 16) + 1
        seen = fork("eth_call", {"to": STRANGER}, "latest", {STRANGER: {"code": NUMBER}})
        assert int(seen, 16) == fork.head
        fork("evm_setBlockGasLimit", hex(50_000_000))
        fork("evm_mine")
        assert int(fork.block()["gasLimit"], 16) == 50_000_000


def test_blocks_below_the_fork_are_given_as_the_node_gives_them(tmp_path: Path) -> None:
    with forked(tmp_path) as (node, fork):
        block = fork("eth_getBlockByHash", node.head["hash"], True)
        told = node.head["transactions"]
        assert all(mine | their == mine for mine, their in zip(block["transactions"], told, strict=True))
        assert block | shown(node.head) == block
        receipts = fork("eth_getBlockReceipts", node.head["number"])
        assert receipts == [without_unproved(receipt) for receipt in node.receipts[-1]]
        for transaction in node.head["transactions"]:
            found = fork("eth_getTransactionByHash", transaction["hash"])
            assert found | transaction == found


def shown(block: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown of a block of the node but its transactions: total difficulties are not known."""
    left_out = {"totalDifficulty", "transactions"}
    return {name: value for name, value in block.items() if name not in left_out}


def without_unproved(receipt: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in receipt.items() if name not in UNPROVED}


@pytest.mark.parametrize(("version", "name"), [(32, "prague"), (49, "prague"), (50, "osaka"), (61, "osaka")])
def test_the_rules_of_the_evm_are_those_of_the_version_of_arbos(
    version: int, name: str, tmp_path: Path
) -> None:
    with upstream("arbitrum", tmp_path) as node:
        mix_hash = node.head["mixHash"]
        told = node.head | {"mixHash": f"{mix_hash[:34]}{version:016x}{mix_hash[50:]}"}
        assert arbos_fork(json.dumps(told).encode()) == name
