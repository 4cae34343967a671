"""Development chains on blocks of public chains with rules of their own.

Gnosis, BNB Smart Chain and Linea have blocks of the test here, in the form that documents give; Polygon's is
a captured one, and those of the OP stack are op-geth's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ethereum.development.forks import MemoryClient, forked_playground
from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground
from tests.families.restated_blocks import COUNTER, RestatedNode, upstream
from wsnode.demo.banner import described
from wsnode.ethereum.networks.table import find_network
from wsnode.upstream.errors import UpstreamError

pytestmark = pytest.mark.slow

SYSTEM = "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001"
ATTRIBUTES = "0x4200000000000000000000000000000000000015"
P256VERIFY = f"0x{0x100:040x}"


@contextmanager
def forked(name: str, folder: Path, block: int | None = None) -> Iterator[tuple[RestatedNode, Playground]]:
    with (
        upstream(name, folder / "theirs") as node,
        forked_playground(folder / "ours", [MemoryClient(node)], block) as chain,
    ):
        yield node, chain


FAMILIES = ("gnosis", "polygon", "bsc", "linea", "op", "arbitrum")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_transaction_is_mined_and_traced_on_the_chains_state_and_time_moves(
    name: str, tmp_path: Path
) -> None:
    with forked(name, tmp_path) as (node, fork):
        assert fork("eth_chainId") == hex(find_network(name).chain_id)
        assert fork.block()["hash"] == node.head["hash"]
        for address in (COUNTER, STRANGER):
            theirs = node.state("eth_getBalance", address, "latest")
            assert fork("eth_getBalance", address, "latest") == theirs
        assert fork("eth_call", {"to": COUNTER}, "latest") == node.state(
            "eth_call", {"to": COUNTER}, "latest"
        )
        sent = fork.send(to=COUNTER, value=None)
        receipt = fork.receipt(sent)
        assert receipt is not None
        assert receipt["status"] == "0x1"
        assert int(fork("eth_getStorageAt", COUNTER, "0x0", "latest"), 16) == 0x2A
        # The same transaction on the chain itself, whose state is as it was before.
        own = node.state.send(to=COUNTER, value=None)
        tracer = {"tracer": "callTracer"}
        trace, theirs = (
            chain("debug_traceTransaction", each, tracer) for chain, each in ((fork, sent), (node.state, own))
        )
        assert trace | {"gas": None} == theirs | {"gas": None}
        assert int(trace["output"], 16) == 0x2A
        before = fork.time()
        fork("evm_increaseTime", "0xe10")
        fork("evm_mine")
        assert fork.time() >= before + 3600


@pytest.mark.parametrize("name", FAMILIES)
def test_an_account_of_the_chain_is_impersonated(name: str, tmp_path: Path) -> None:
    with forked(name, tmp_path) as (node, fork):
        fork("anvil_impersonateAccount", COUNTER)
        before = int(node.state("eth_getBalance", COUNTER, "latest"), 16)
        fork("anvil_setBalance", COUNTER, hex(before + 10**18))
        sent = fork.send(sender=COUNTER, value="0x5", to=STRANGER)
        receipt = fork.receipt(sent)
        assert receipt is not None
        assert (receipt["from"], receipt["status"]) == (COUNTER, "0x1")
        theirs = int(node.state("eth_getBalance", STRANGER, "latest"), 16)
        assert fork.balance(STRANGER) == theirs + 5


@pytest.mark.parametrize(
    ("name", "fees"), [("bsc", [0, 0]), ("linea", [7, 7]), ("gnosis", [1_000_000_000, 875_000_000])]
)
def test_the_base_fee_goes_on_as_the_chains(name: str, fees: list[int], tmp_path: Path) -> None:
    with forked(name, tmp_path) as (_node, fork):
        fork("anvil_mine", "0x2")
        found = [int(fork.block(fork.head - back)["baseFeePerGas"], 16) for back in (1, 0)]
        assert found == fees


def test_blob_gas_has_the_lowest_price_of_gnosis(tmp_path: Path) -> None:
    with forked("gnosis", tmp_path) as (_node, fork):
        assert int(fork("eth_blobBaseFee"), 16) >= 10**9
        fork("anvil_mine", "0x40")
        assert int(fork("eth_blobBaseFee"), 16) == 10**9


def test_the_base_fee_of_the_op_stack_moves_by_the_extra_data(tmp_path: Path) -> None:
    with forked("op", tmp_path) as (node, fork):
        data = bytes.fromhex(node.head["extraData"][2:])
        denominator, elasticity = int.from_bytes(data[1:5], "big"), int.from_bytes(data[5:9], "big")
        least = int.from_bytes(data[9:17], "big")
        parent = node.head
        target = int(parent["gasLimit"], 16) // elasticity
        metered = max(int(parent["gasUsed"], 16), int(parent["blobGasUsed"], 16))
        fee = int(parent["baseFeePerGas"], 16)
        for _ in range(3):
            fork("anvil_mine")
            block = fork.block()
            fee = max(fee - fee * (target - metered) // target // denominator, least)
            assert int(block["baseFeePerGas"], 16) == fee
            assert block["extraData"] == node.head["extraData"]
            metered = int(block["gasUsed"], 16)
            target = int(block["gasLimit"], 16) // elasticity
            assert block["excessBlobGas"] == "0x0"


def test_deposits_below_the_fork_are_given_as_the_node_gives_them(tmp_path: Path) -> None:
    with forked("op", tmp_path) as (node, fork):
        for block, receipts in zip(node.blocks, node.receipts, strict=True):
            assert fork("eth_getBlockByHash", block["hash"], True)["transactions"] == block["transactions"]
            deposit, *_others = block["transactions"]
            assert deposit["type"] == "0x7e"
            found = fork("eth_getTransactionByHash", deposit["hash"])
            assert {name: found[name] for name in deposit} == deposit
            assert fork("eth_getBlockReceipts", block["number"]) == receipts


def test_predeployed_contracts_and_their_sender_are_there(tmp_path: Path) -> None:
    with forked("op", tmp_path) as (node, fork):
        assert fork("eth_getCode", ATTRIBUTES, "latest") == node.state("eth_getCode", ATTRIBUTES, "latest")
        fork("anvil_impersonateAccount", SYSTEM)
        fork("anvil_setBalance", SYSTEM, hex(10**18))
        receipt = fork.receipt(fork.send(sender=SYSTEM, to=RECIPIENT, value="0x1"))
        assert receipt is not None
        assert receipt["status"] == "0x1"
        assert "l1Fee" not in receipt
        # The contract that checks P-256 signatures, in a call and in a block; Karst is in force by then.
        call = {"from": CREATOR, "to": P256VERIFY, "gas": "0x100000"}
        traced = fork("debug_traceCall", call, "latest", {"tracer": "callTracer"})
        assert int(traced["gasUsed"], 16) == 21_000 + 6_900
        mined = fork.receipt(fork.send(to=P256VERIFY, value=None))
        assert mined is not None
        assert int(mined["gasUsed"], 16) == 21_000 + 6_900


@pytest.mark.parametrize("name", FAMILIES)
def test_the_first_lines_name_chain_and_family_and_what_is_missing(name: str, tmp_path: Path) -> None:
    with forked(name, tmp_path) as (_node, fork):
        network = find_network(name)
        began = fork.control.fork
        assert began is not None
        first, *missing = described(began)
        assert first == f"Chain {name}: {network.title}, family {network.family}"
        assert missing == list(network.fork_notes)
        assert missing


def test_a_type_that_is_not_known_is_named(tmp_path: Path) -> None:
    with upstream("gnosis", tmp_path / "theirs") as node:
        strange = {"type": "0x64", "hash": "0x" + "11" * 32, "requestId": "0x" + "22" * 32, "from": STRANGER}
        node.blocks[-1] = node.head | {"transactions": [strange]}
        with (
            pytest.raises(UpstreamError, match="type 0x64"),
            forked_playground(tmp_path / "ours", [MemoryClient(node)]),
        ):
            pass
