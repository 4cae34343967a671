"""Light followers of nodes that make blocks of a family's chain."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from tests.families.fast_node import FastNode
from tests.sync.follow.world import World
from tests.upstream.providers import Answer, SocketProvider
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.storage.folder_kind import FolderKind

BEGINNING: Final = 8
"""Blocks that a node has at the start."""


@asynccontextmanager
async def following(
    folder: Path,
    name: str,
    provider: Callable[[trio.Nursery, Answer], SocketProvider] = SocketProvider,
    *,
    has_liar: bool = False,
    window: int = 64,
) -> AsyncIterator[tuple[World, FastNode]]:
    """Run a light follower of a node that makes blocks, and perhaps of one beside it that lies."""
    kind, genesis = FolderKind(window, is_light=True), find_network(name).genesis
    async with trio.open_nursery() as nursery:
        node = FastNode(nursery, name, provider=provider)
        node.grow(BEGINNING)
        nodes: Any = {"honest": node}
        if has_liar:
            nodes["liar"] = liar = FastNode(nursery, name, lies=True)
            liar.repeat(node)
        with Chain.open(folder, genesis, writer=True, durable=False, kind=kind) as chain:
            world = World(chain, nodes)
            async with trio.open_nursery() as running:
                running.start_soon(world.follower.run)
                running.start_soon(world.hub.fan_out.run)
                running.start_soon(world.hub.watch)
                yield world, node
                running.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
