"""Blocks beside the canonical chain, on a chain of proof of work that changes its mind."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from tests.sync.forks import branch, genesis
from tests.sync.test_importer_branches import NEW, OLD, hashes, take
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

NOBODY = "0x" + "13" * 20
NOT_CANONICAL = {"error": {"code": -32000, "message": "hash is not currently canonical"}}


@pytest.fixture
def forked(tmp_path: Path) -> Iterator["Forked"]:
    """Return a way to ask, the blocks that were canonical once and a side block that never was."""
    with (
        branch(tmp_path / "old") as old,
        branch(tmp_path / "new") as new,
        branch(tmp_path / "late") as late,
        Chain.open(tmp_path / "chain", genesis(merged=False), writer=True, durable=False) as chain,
    ):
        left = [old.mine(coinbase=OLD) for _ in range(2)]
        taken = [new.mine(coinbase=NEW, seconds=1) for _ in range(2)]
        ignored = [late.mine(coinbase=OLD, seconds=30)]
        trio.run(take, chain, left)
        trio.run(take, chain, [*taken, *ignored])
        ask = validating(asking(Dispatcher(build_registry(chain), chain.snapshot)))
        yield ask, texts(hashes(left)), texts(hashes(ignored))


def texts(names: list[bytes]) -> list[str]:
    return [f"0x{name.hex()}" for name in names]


Forked = tuple[Ask, list[str], list[str]]


def test_a_side_block_is_found_by_its_hash(forked: Forked) -> None:
    ask, left, never = forked
    for block_hash in [*left, *never]:
        block = ask("eth_getBlockByHash", block_hash, True)["result"]
        assert block["hash"] == block_hash
        assert ask("eth_getBlockTransactionCountByHash", block_hash) == {"result": "0x0"}
        assert ask("eth_getUncleCountByBlockHash", block_hash) == {"result": "0x0"}


def test_its_total_difficulty_is_that_of_its_branch(forked: Forked) -> None:
    ask, left, _ = forked
    blocks: list[dict[str, Any]] = [
        ask("eth_getBlockByNumber", "earliest", False, service_form=True)["result"],
        *(ask("eth_getBlockByHash", block_hash, False, service_form=True)["result"] for block_hash in left),
    ]
    for parent, block in itertools.pairwise(blocks):
        difference = int(block["totalDifficulty"], 16) - int(parent["totalDifficulty"], 16)
        assert difference == int(block["difficulty"], 16)


def test_its_state_is_not_kept(forked: Forked) -> None:
    ask, left, never = forked
    for block_hash in [*left, *never]:
        assert ask("eth_getBalance", NOBODY, block_hash) == NOT_CANONICAL
        assert ask("eth_getBalance", NOBODY, {"blockHash": block_hash}) == NOT_CANONICAL
        assert ask("eth_call", {}, {"blockHash": block_hash, "requireCanonical": True}) == NOT_CANONICAL


def test_its_receipts_and_logs_are_kept_if_it_was_canonical_once(forked: Forked) -> None:
    ask, left, never = forked
    for method, param in (("eth_getBlockReceipts", str), ("eth_getLogs", lambda name: {"blockHash": name})):
        assert ask(method, param(left[0])) == {"result": []}
        assert ask(method, param(never[0])) == NOT_CANONICAL


def test_proof_of_work_has_no_block_to_come(forked: Forked) -> None:
    ask, _, _ = forked
    no_block = {"error": {"code": -32000, "message": "pending block is not available"}}
    assert ask("eth_getBlockByNumber", "pending", False) == no_block
    assert ask("eth_getBlockTransactionCountByNumber", "pending") == no_block
    no_state = {"error": {"code": -32000, "message": "pending state is not available"}}
    assert ask("eth_call", {}, "pending") == no_state
    assert ask("eth_getBalance", NOBODY, "pending") == no_state
    assert ask("eth_getProof", NOBODY, [], "pending") == no_state
    assert ask("eth_getTransactionCount", NOBODY, "pending") == {"result": "0x0"}
