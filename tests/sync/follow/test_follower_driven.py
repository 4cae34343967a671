"""A chain that a consensus client drives and that follows upstreams: they bring what payloads build on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.node_process import PATIENCE
from tests.sync.follow.world import NOT_SAID, Source, World, followed, sources_of
from tests.upstream.providers import Error
from wsnode.ethereum.codec.blocks import Payload
from wsnode.ethereum.codec.rendering import render_payload
from wsnode.ethereum.head import Head
from wsnode.ethereum.payloads import engine_chain as driven_chain
from wsnode.ethereum.payloads.engine_chain import EngineChain, ForkchoiceError, PayloadSidecar
from wsnode.sync.follow.sync_report import SyncStage


class Driver:
    """Gives blocks of a source as payloads, and chooses them, as a consensus client of that chain does."""

    def __init__(self, world: World, source: Source) -> None:
        self.chain = EngineChain(world.chain, world.live, world.follower.want)
        self._source = source

    async def give(self, number: int) -> str:
        """Return the status of a block of the source's."""
        with self._source.growing.chain.snapshot() as view:
            header, body = view.header(number), view.body(number)
        assert header is not None
        assert body is not None
        beside = PayloadSidecar(blob_hashes=[], parent_beacon_block_root=bytes(32))
        return (await self.chain.take(Payload(render_payload(header, body)), beside)).status

    async def choose(self, head: Head, finalized: Head | None = None) -> str:
        chosen = None if finalized is None else finalized.hash
        return (await self.chain.choose(head.hash, None, chosen)).status

    async def until_valid(self, head: Head) -> None:
        """Choose a head again and again, as each slot does, until it is valid."""
        with trio.fail_after(PATIENCE):
            while await self.choose(head) != "VALID":  # noqa: ASYNC110
                await trio.sleep(0.02)


@asynccontextmanager
async def driven(
    folder: Path, *names: str, blocks: int, **settings: Any
) -> AsyncIterator[tuple[World, list[Source], Driver]]:
    async with trio.open_nursery() as nursery:
        with sources_of(folder, names, nursery) as sources:
            for source in sources.values():
                source.grow(blocks)
            async with followed(folder, sources, is_driven=True, **settings) as world:
                await world.until(lambda: world.follower.peers == len(names))
                given = list(sources.values())
                yield world, given, Driver(world, given[0])
        nursery.cancel_scope.cancel()


async def test_the_upstreams_head_is_not_the_head_until_it_is_chosen(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=5) as (world, (source,), driver):
        await source.tell()
        await world.until_stage(SyncStage.CATCHING_UP)
        assert (world.chain.head.number, world.follower.lag) == (0, 5)
        await driver.until_valid(source.head)
        await world.until_at(source.head)
        await world.until_stage(SyncStage.LIVE)


async def test_a_payload_whose_parents_are_unknown_is_valid_as_soon_as_upstreams_gave_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driven_chain, "COMING_SECONDS", inf)
    async with driven(tmp_path, "a", blocks=7) as (world, (source,), driver):
        assert await driver.give(7) == "VALID"
        assert world.chain.head.number == 0
        assert await driver.choose(source.head) == "VALID"
        assert world.chain.head == source.head
        assert [(len(each.removed), len(each.added)) for each in world.changes] == [(0, 7)]


async def test_a_payload_does_not_wait_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driven_chain, "COMING_SECONDS", 0)
    async with driven(tmp_path, "a", blocks=7) as (world, (source,), driver):
        assert await driver.give(7) == "SYNCING"
        await world.until(lambda: world.live.tree.header(parent_of(source)) is not None)
        # The payload needs nothing but to be given again.
        assert await driver.give(7) == "VALID"


def parent_of(source: Source) -> bytes:
    with source.growing.chain.snapshot() as view:
        found = view.hash_of(view.number - 1)
    assert found is not None
    return found


async def test_a_long_way_to_what_is_chosen_is_fetched_by_numbers(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=150) as (world, (source,), driver):
        await driver.until_valid(source.head)
        await world.until_at(source.head)
        assert source.asked["debug_getRawBlock"] < 200


async def test_the_way_ends_at_what_is_wanted_and_not_at_the_upstreams_head(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=150) as (world, (source,), driver):
        with source.growing.chain.snapshot() as view:
            middle = Head(view.number, view.head.hash)
        source.grow(100)
        await source.tell()
        await world.until(lambda: world.follower.highest == 250)
        await driver.until_valid(middle)
        assert world.chain.head == middle


async def test_a_branch_of_the_consensus_client_is_fetched_by_hash(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=6) as (world, (source,), driver):
        await driver.until_valid(source.head)
        source.growing.reorganise(4, [[]] * 5)
        await source.tell()
        await driver.until_valid(source.head)
        await world.until_at(source.head)
        assert [(len(each.removed), len(each.added)) for each in world.changes][-1] == (4, 5)


async def test_an_upstream_that_lies_of_a_block_is_passed_over(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", "b", blocks=0) as (world, (source, other), driver):
        source.grow(4)
        for each in (source, other):
            each.overrides["debug_getRawBlock"] = lambda params: Error(-32601, "does not exist")
        for _ in range(4):
            other.grow()

        def changed(params: list[Any]) -> Any:
            block = source._ask("eth_getBlockByHash", *params)["result"]
            return block | {"stateRoot": f"0x{'11' * 32}"} if params[1] else NOT_SAID

        source.overrides["eth_getBlockByHash"] = changed
        await driver.until_valid(other.head)
        await world.until_at(other.head)


async def test_a_head_whose_branch_leaves_what_is_final_is_refused(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=6) as (world, (source,), driver):
        await driver.until_valid(source.head)
        final = Head(source.head.number, source.head.hash)
        assert await driver.choose(final, finalized=final) == "VALID"
        source.growing.reorganise(2, [[]] * 3)
        # Its blocks are given as payloads, as upstreams are not asked for what is below the final block.
        for number in (5, 6, 7):
            assert await driver.give(number) == "VALID"
        with pytest.raises(ForkchoiceError, match="leaves the chain at block 4, below block 6"):
            await driver.choose(source.head)
        assert world.chain.head == final


async def test_without_upstreams_what_is_driven_is_ready_and_takes_transactions(tmp_path: Path) -> None:
    async with driven(tmp_path, "a", blocks=1) as (world, (source,), driver):
        await driver.until_valid(source.head)
        source.provider.is_gone = True
        await source.provider.close()
        await world.until(lambda: world.follower.peers == 0)
        assert world.follower.not_ready_reason() is None
        await world.follower.send(b"\x01")
