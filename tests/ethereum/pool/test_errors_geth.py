"""Equal transactions in equal order: the pool and geth give equal replies, and have equal contents
afterwards.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.clocks import stopped
from tests.ethereum.pool.geth_node import Geth, geth
from tests.ethereum.pool.playground import ALICE, CAROL, DAVE, Playground
from tests.ethereum.pool.steps import Step, steps
from tests.geth_process import GETH
from tests.memory_transport import Ask, asking
from tests.node_process import until
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

RECORDED: dict[str, str | None] = json.loads((Path(__file__).parent / "geth_answers.json").read_text())
needs_geth = pytest.mark.skipif(GETH is None, reason="geth is not installed")


@pytest.fixture
def ask(playground: Playground) -> Ask:
    return asking_of(playground)


def asking_of(playground: Playground) -> Ask:
    """Return a function that asks a node whose head is the first empty block, as geth's is."""
    playground.mine([])
    registry = build_registry(playground.chain, pool=playground.pool, with_test_methods=True, timer=stopped)
    return asking(Dispatcher(registry, playground.chain.snapshot))


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Geth, dict[str, str | None]]]:
    """Return geth, and what it said to each step."""
    with (
        closing(Playground(tmp_path_factory.mktemp("ours"))) as ours,
        geth(tmp_path_factory.mktemp("geth")) as node,
    ):
        yield node, said_by(node, asking_of(ours))


def said_by(node: Geth, ours: Ask) -> dict[str, str | None]:
    """Return what geth says to each step, once those before have their places: they come after its answer."""
    said = {}
    for step in steps():
        said[step.name] = answer_to(step, node.ask)
        answer_to(step, ours)
        until(f"in order: {step.name}", lambda: node.ask("txpool_status") == ours("txpool_status"))
    return said


def send_all(ask: Any) -> dict[str, str | None]:
    """Return the message that each step is refused with."""
    return {step.name: answer_to(step, ask) for step in steps()}


def answer_to(step: Step, ask: Any) -> str | None:
    """Return the message that a step is refused with, None if it is not."""
    reply = ask("eth_sendRawTransaction", f"0x{step.encoded.hex()}")
    assert "error" not in reply or reply["error"]["code"] == -32000
    return reply["error"]["message"] if "error" in reply else None


def test_everything_is_refused_in_the_recorded_words(ask: Ask) -> None:
    assert send_all(ask) == RECORDED


@needs_geth
def test_geth_still_has_the_recorded_words(peer: tuple[Geth, dict[str, str | None]]) -> None:
    assert peer[1] == RECORDED


@needs_geth
def test_both_show_the_same(ask: Ask, peer: tuple[Geth, dict[str, str | None]]) -> None:
    send_all(ask)
    node = peer[0]
    alice = f"0x{ALICE.address.hex()}"
    for method, *params in (
        ("txpool_status",),
        ("txpool_contentFrom", alice),
        ("txpool_contentFrom", f"0x{CAROL.address.hex()}"),
        ("txpool_contentFrom", "0x" + "12" * 20),
        ("eth_getTransactionCount", alice, "pending"),
        ("eth_getTransactionCount", alice, "latest"),
        ("eth_getBlockTransactionCountByNumber", "pending"),
    ):
        assert ask(method, *params) == node.ask(method, *params), method


@needs_geth
@pytest.mark.parametrize("method", ["txpool_content", "txpool_inspect"])
def test_both_list_the_same_but_for_blobs_which_geth_does_not(
    ask: Ask, peer: tuple[Geth, dict[str, str | None]], method: str
) -> None:
    send_all(ask)
    listed = ask(method)["result"]
    assert listed["pending"].pop(checksummed(DAVE.address))
    assert json.dumps(listed) == json.dumps(peer[0].ask(method)["result"])


@needs_geth
def test_transactions_look_the_same_by_their_hashes(
    ask: Ask, peer: tuple[Geth, dict[str, str | None]]
) -> None:
    send_all(ask)
    found = [
        transaction["hash"]
        for by_nonce in ask("txpool_content")["result"]["pending"].values()
        for transaction in by_nonce.values()
    ]
    assert len(found) == 13
    for method in ("eth_getTransactionByHash", "debug_getRawTransaction"):
        for transaction_hash in found:
            mine, theirs = ask(method, transaction_hash), peer[0].ask(method, transaction_hash)
            if mine != theirs:
                # geth gives the blobs as well.
                assert theirs["result"].startswith(mine["result"][:4]), method


@needs_geth
def test_the_block_to_come_has_the_same_transactions_in_the_same_order(
    ask: Ask, peer: tuple[Geth, dict[str, str | None]]
) -> None:
    send_all(ask)
    mine, theirs = (asked("eth_getBlockByNumber", "pending", True)["result"] for asked in (ask, peer[0].ask))
    for block in (mine, theirs):
        for transaction in block["transactions"]:
            # The hash covers what geth puts into its blocks: a name, another gas limit.
            assert transaction.pop("blockHash") is not None
            assert transaction.pop("blockTimestamp") == block["timestamp"]
    assert mine["transactions"] == theirs["transactions"]
    same = ("baseFeePerGas", "gasUsed", "blobGasUsed", "number", "transactionsRoot", "logsBloom")
    assert [mine[name] for name in same] == [theirs[name] for name in same]
    assert [name for name in theirs if theirs[name] is None] == [name for name in mine if mine[name] is None]
    first = ("eth_getTransactionByBlockNumberAndIndex", "pending", "0x0")
    mine, theirs = (asked(*first)["result"] for asked in (ask, peer[0].ask))
    assert mine["hash"] == theirs["hash"]
    assert (mine["blockNumber"], mine["transactionIndex"]) == (theirs["blockNumber"], "0x0")
