"""Ancestors that an upstream has announced, or that lie above our head, are asked for all together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection

from tests.families.fast_node import FIRST, FastNode
from tests.sync.follow.light.fast_world import BEGINNING, following
from tests.sync.follow.world import World
from tests.upstream.providers import Answer, SocketProvider


class GatedProvider(SocketProvider):
    """Answers calls of a method only once as many of them wait as its gate says."""

    def __init__(self, nursery: trio.Nursery, answer: Answer) -> None:
        super().__init__(nursery, answer)
        self.gates: dict[str, int] = {}
        self.waiting: dict[str, list[partial[Any]]] = {}

    async def _reply(self, connection: WebSocketConnection, call: Any) -> None:
        method = call["method"] if isinstance(call, dict) else ""
        waiting = self.waiting.setdefault(method, [])
        waiting.append(partial(super()._reply, connection, call))
        if len(waiting) >= self.gates.get(method, 1):
            await self.open(method)

    async def open(self, method: str) -> None:
        """Answer the calls of a method that wait."""
        for reply in self.waiting.pop(method, []):
            await reply()


@asynccontextmanager
async def gated(folder: Path) -> AsyncIterator[tuple[World, FastNode, GatedProvider]]:
    """Run a light follower at the head of a node that makes blocks of Base.

    Its window ends with the node's first block, and is full: nothing else asks for blocks meanwhile.
    """
    async with following(folder, "base", GatedProvider, window=BEGINNING) as (world, node):
        provider = node.provider
        assert isinstance(provider, GatedProvider)
        await world.until(lambda: world.hub.head == node.head)
        await world.until(lambda: earliest(world) == FIRST)
        yield world, node, provider


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


def asked_for(provider: SocketProvider, method: str) -> int:
    return sum(called == method for called, _ in provider.calls)


async def test_a_replaced_branch_is_fetched_in_two_round_trips(tmp_path: Path) -> None:
    async with gated(tmp_path) as (world, node, provider):
        node.grow(5)
        await node.tell(5)
        await world.until(lambda: world.hub.head == node.head)
        before = asked_for(provider, "debug_getRawBlock")
        # The first block of the branch, at least, is asked for while the others are announced.
        provider.gates = {"debug_getRawBlock": 6}
        node.reorganise(4)
        await node.tell(5)
        await world.until(lambda: world.upstream("honest").announced == node.head)
        await world.until(lambda: bool(provider.waiting.get("debug_getRawBlock")))
        left = 5 - len(provider.waiting["debug_getRawBlock"])
        provider.gates = {"debug_getRawBlock": left, "eth_getBlockReceipts": left}
        await provider.open("debug_getRawBlock")
        await world.until(lambda: world.hub.head == node.head)
        assert asked_for(provider, "debug_getRawBlock") - before == 5


async def test_blocks_missed_while_the_connection_was_lost_are_asked_for_together(tmp_path: Path) -> None:
    async with gated(tmp_path) as (world, node, provider):
        # The head itself, and the four blocks between, which were not announced.
        provider.gates = {"debug_getRawBlock": 5}
        await provider.close()
        node.grow(5)
        await world.until(lambda: world.hub.head == node.head)
        assert [changes.removed for changes in world.changes if changes.removed] == []


async def test_an_announced_ancestor_that_is_not_there_is_asked_for_again(tmp_path: Path) -> None:
    async with gated(tmp_path) as (world, node, provider):
        answer, missing = provider.answer, [True]

        def answered(method: str, params: list[Any]) -> Any:
            is_below = bool(params) and params[0] == hex(node.head.number - 1)
            if method == "debug_getRawBlock" and is_below and missing.pop():
                missing.append(False)
                return None
            return answer(method, params)

        provider.answer = answered
        node.grow(2)
        await node.tell(1)
        await world.until(lambda: world.hub.head == node.head)
        assert missing == [False]
        assert world.state_of("honest") == ("followed", "")


async def test_identity_and_head_are_asked_for_together_when_a_session_begins(tmp_path: Path) -> None:
    async with gated(tmp_path) as (world, node, provider):
        # The genesis block, the finalized block and the head.
        provider.gates = {"eth_getBlockByNumber": 3 if world.chain.head.number else 2}
        await provider.close()
        node.grow(1)
        await world.until(lambda: world.hub.head == node.head)
