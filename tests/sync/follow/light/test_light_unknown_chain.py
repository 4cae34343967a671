"""A chain outside the table: followed by Ethereum's rules as far as its blocks keep them."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio

from tests.ethereum.live.growing import emitting_genesis
from tests.sync.follow.test_range_sync_unknown_fork import rlp_list
from tests.sync.follow.world import NOT_SAID, Source, World, followed, sources_of
from tests.upstream.providers import Error
from wsnode.cli.terminal import failures, first_leaf
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import encode, encoded_items
from wsnode.ethereum.networks.table import UnknownNetworkError, find_network
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.sync.errors import UnsupportedChainError
from wsnode.sync.follow.sync_report import SyncStage, described

CHAIN_ID: Final = 7_777
SENTENCE: Final = (
    f"chain {CHAIN_ID} is not in the table of chains: its headers are checked by Ethereum's rules"
)
EXTRA_DATA: Final = 12
"""Place of the extra data in a header."""
Change = Callable[[dict[str, Any]], dict[str, Any]]
"""Returns another block in the place of one."""


def genesis_of_another_chain() -> bytes:
    genesis = json.loads(emitting_genesis())
    genesis["config"]["chainId"] = CHAIN_ID
    return msgspec.json.encode(genesis)


@asynccontextmanager
async def following(folder: Path, *names: str) -> AsyncIterator[tuple[World, dict[str, Source]]]:
    """Run a light follower of a chain that the table does not have."""
    async with trio.open_nursery() as nursery:
        with sources_of(folder, names, nursery, genesis_of_another_chain()) as sources:
            for source in sources.values():
                source.grow(12)
                source.finalize(2)
            kind = FolderKind(64, is_light=True)
            genesis = find_network(str(CHAIN_ID)).genesis
            async with followed(folder, sources, kind=kind, genesis=genesis) as world:
                yield world, sources
        nursery.cancel_scope.cancel()


def replace(source: Source, number: int, change: Change) -> None:
    """Have a source give another block at a number."""
    honest = source._ask("eth_getBlockByNumber", hex(number), True)["result"]
    other = change(honest)
    names = {hex(number), other["hash"], honest["hash"]}

    def by_name(method: str) -> Callable[[list[Any]], Any]:
        def answer(params: list[Any]) -> Any:
            is_it = params[0] in names or (params[0] == "latest" and number == source.head.number)
            return other if is_it else source._ask(method, *params)["result"]

        return answer

    for method in ("eth_getBlockByNumber", "eth_getBlockByHash"):
        source.overrides[method] = by_name(method)
    receipts = source._ask("eth_getBlockReceipts", hex(number))["result"]
    source.overrides["eth_getBlockReceipts"] = lambda params: receipts if params[0] in names else NOT_SAID
    source.overrides["debug_getRawBlock"] = lambda _params: Error(-32601, "no such method")


def of_unknown_type(block: dict[str, Any]) -> dict[str, Any]:
    transaction = {"type": "0x77", "hash": "0x" + "11" * 32}
    return {**block, "transactions": [transaction]}


def with_long_extra_data(source: Source) -> Change:
    """Return what gives a block extra data that is too long by Ethereum's rules, and its own hash."""

    def change(block: dict[str, Any]) -> dict[str, Any]:
        raw = bytes.fromhex(source._ask("debug_getRawBlock", block["number"])["result"][2:])
        header = encoded_items(encoded_items(raw)[0])
        header[EXTRA_DATA] = encode(b"\x11" * 40)
        made = keccak256(rlp_list(b"".join(header)))
        return {**block, "extraData": "0x" + "11" * 40, "hash": f"0x{made.hex()}"}

    return change


def test_a_chain_is_found_by_its_id() -> None:
    assert find_network("8453").name == "base"
    unknown = find_network(str(CHAIN_ID))
    assert (unknown.chain_id, unknown.family, unknown.is_executed) == (CHAIN_ID, "ethereum", False)
    for name in ("0", "-1", "1e3", "9" * 30, "٣"):
        with pytest.raises(UnknownNetworkError):
            find_network(name)


async def test_it_is_followed_and_said_once_to_be_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with following(tmp_path, "a") as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert world.follower.status()["chain"] == {"id": CHAIN_ID, "family": "ethereum"}
    (said,) = [record.message for record in caplog.records if SENTENCE in record.message]
    assert said.endswith("name its family in the genesis file if that fails")


@pytest.mark.parametrize("kind", ["type", "rule"])
async def test_a_block_beyond_the_rules_stops_it_and_is_no_lie(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    caplog.set_level(logging.INFO)
    async with following(tmp_path, "a") as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        before = source.head
        source.grow()
        replace(
            source, source.head.number, of_unknown_type if kind == "type" else with_long_extra_data(source)
        )
        await source.tell()
        await world.until_stage(SyncStage.UNSUPPORTED)
        (upstream,) = world.follower.upstreams
        assert described(upstream)["state"] == "followed"
        reason = world.follower.not_ready_reason()
        assert reason is not None
        expected = "of type 0x77" if kind == "type" else "extra_data: expected at most 32 bytes, got 40 bytes"
        assert expected in reason
        if kind == "rule":
            assert SENTENCE in reason
        assert world.follower.status()["state"] == "unsupported"
        assert world.chain.head == before


async def run_at_an_unreadable_block(folder: Path) -> None:
    """Follow a chain whose first block has a transaction of an unknown type."""
    async with trio.open_nursery() as nursery:
        with sources_of(folder, ("a",), nursery, genesis_of_another_chain()) as sources:
            sources["a"].grow(12)
            sources["a"].finalize(2)
            replace(sources["a"], 10, of_unknown_type)
            kind, genesis = FolderKind(64, is_light=True), find_network(str(CHAIN_ID)).genesis
            async with followed(folder, sources, kind=kind, genesis=genesis):
                await trio.sleep_forever()


async def test_a_first_block_that_cannot_be_read_ends_the_node(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        await run_at_an_unreadable_block(tmp_path)
    error = first_leaf(failed.value)
    assert isinstance(error, UnsupportedChainError)
    assert isinstance(error, failures())
    assert "transaction 0" in str(error)
    assert "of type 0x77" in str(error)
