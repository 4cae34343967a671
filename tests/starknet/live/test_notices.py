"""Slow readers, restarts and lost blocks: no event is lost silently."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.starknet.live.growing import GrowingChain
from tests.starknet.live.sessions import HeadView, open_node
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING
from wsnode.starknet.felt import felt_text
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.rpc.methods import FAMILIES

SMALL = Limits(outbox_bytes=8192)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("alt", {}),
    ("alt", {"cursors": True}),
    ("starknet", {}),
    ("starknet", {"cursors": True}),
]


def errors(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message["params"]["error"] for message in told if "error" in message["params"]]


def rebuilt(told: list[dict[str, Any]]) -> HeadView:
    view = HeadView()
    for message in told:
        view.apply(message)
    return view


@pytest.mark.parametrize(("family", "options"), ASKED, ids=str)
async def test_who_reads_slowly_gets_everything_and_is_told_if_that_is_understood(
    growing: GrowingChain, family: str, options: dict[str, Any]
) -> None:
    async with open_node(growing, SMALL) as node:
        slow, quick = await node.connect(pauses=True), await node.connect()
        names = [await client.watch(family, **options) for client in (slow, quick)]
        slow.pause()
        for number in range(60):
            growing.reorganise(min(number, 3 * (number % 5 == 0)), 2)
            node.hub.advance()
            await wait_all_tasks_blocked()
        assert rebuilt(quick.told[names[1]]).blocks == growing.blocks
        assert not errors(quick.told[names[1]])
        assert len(slow.told[names[0]]) < 60
        slow.go_on()
        await wait_all_tasks_blocked()
        notices = errors(slow.told[names[0]])
        assert bool(notices) == bool(options)
        for notice in notices:
            assert notice["code"] == -32005
            assert notice["data"]["missed"] > 0
            assert StarknetPosition.parse(notice["data"]["cursor"]).number <= node.hub.head.number
        assert rebuilt(slow.told[names[0]]).blocks == growing.blocks
        # It is live again.
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        assert rebuilt(slow.told[names[0]]).blocks == growing.blocks


@pytest.mark.parametrize(("family", "options"), ASKED, ids=str)
async def test_a_restart_leaves_the_cursor_with_those_who_understand_it(
    growing: GrowingChain, family: str, options: dict[str, Any], autojump_clock: MockClock
) -> None:
    growing.grow(2)
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.watch(family, block_id={"block_number": 0}, **options)
        node.server.final_notice = RESTARTING
        growing.grow()
        node.hub.advance()
        with trio.move_on_after(1):
            await node.server.drain()
        await wait_all_tasks_blocked()
        assert client.peer.protocol.close_rcvd is not None
        assert client.peer.protocol.close_rcvd.code == 1012
        view = rebuilt(client.told[identity])
        assert view.blocks == growing.blocks
        notices = errors(client.told[identity])
        if not options:
            assert notices == []
            return
        (notice,) = notices
        assert (notice["code"], notice["message"]) == (-32006, "the node is restarting")
    growing.reorganise(1, 3)
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.watch(family, cursor=notice["data"]["cursor"])
        for message in client.told[identity]:
            view.apply(message)
        assert view.blocks == growing.blocks


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_store_that_lost_what_was_told_is_owned_up_to(growing: GrowingChain, family: str) -> None:
    growing.grow(3)
    async with open_node(growing) as node:
        client = await node.connect()
        other = await node.connect()
        live, plain = await client.watch(family, cursors=True), await other.watch(family)
        lost = growing.blocks[-1]
        growing.shrink(1)
        growing.forget(lost)
        growing.grow(2)
        node.hub.advance()
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        (error,) = errors(client.told[live])
        assert (error["code"], error["message"]) == (-32001, "the block is not known any more")
        assert error["data"]["block_hash"] == felt_text(lost[1])
        assert StarknetPosition.parse(error["data"]["cursor"]) == StarknetPosition(*growing.blocks[3])
        assert not other.told.get(plain)
        received = other.peer.protocol.close_rcvd
        assert received is not None
        assert (received.code, received.reason) == (1011, "the block sent last is not known any more")
        assert client.told[live][1]["params"]["result"]["block_hash"] == felt_text(growing.blocks[4][1])


@pytest.mark.parametrize("cursors", [False, True])
async def test_a_block_may_be_lost_to_who_catches_up(growing: GrowingChain, cursors: bool) -> None:
    growing.grow(30)
    async with open_node(growing, SMALL) as node:
        slow = await node.connect(pauses=True)
        identity = await slow.watch("alt", cursors=cursors)
        slow.pause()
        for _ in range(40):
            growing.grow()
            node.hub.advance()
            await wait_all_tasks_blocked()
        dropped = growing.shrink(60)
        for place in dropped:
            growing.forget(place)
        growing.grow(5)
        node.hub.advance()
        slow.go_on()
        await wait_all_tasks_blocked()
        if not cursors:
            assert not errors(slow.told[identity])
            received = slow.peer.protocol.close_rcvd
            assert received is not None
            assert (received.code, received.reason) == (1011, "the block sent last is not known any more")
            return
        lost = [error for error in errors(slow.told[identity]) if error["code"] == -32001]
        assert StarknetPosition.parse(lost[-1]["data"]["cursor"]) == StarknetPosition(*growing.blocks[-1])
        growing.grow()
        node.hub.advance()
        await wait_all_tasks_blocked()
        last = slow.told[identity][-1]["params"]["result"]
        assert last["block_hash"] == felt_text(growing.blocks[-1][1])
