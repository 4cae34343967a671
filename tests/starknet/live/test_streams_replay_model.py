"""Whatever the chain does and whenever a client comes and goes: what it rebuilds is the chain."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.live.steps import Breathe, Notice, Return, common_steps, take_common_step
from tests.starknet.live.growing import GrowingChain
from tests.starknet.live.sessions import HeadClient, HeadView, Node, open_node
from wsnode.starknet.live import pages

pytestmark = pytest.mark.slow


class Reorganise(msgspec.Struct, frozen=True):
    depth: int
    count: int


class Shrink(msgspec.Struct, frozen=True):
    depth: int


class Subscribe(msgspec.Struct, frozen=True):
    family: str
    first: int


steps = st.one_of(
    st.builds(Reorganise, st.just(0), st.integers(1, 9)),
    st.builds(Reorganise, st.integers(1, 9), st.integers(1, 9)),
    st.builds(Shrink, st.integers(1, 4)),
    st.builds(Subscribe, st.sampled_from(["alt", "starknet"]), st.integers(0, 9)),
    common_steps,
)


class Watcher:
    """A client with one subscription from a certain block on, which it resumes when it comes back."""

    def __init__(self, node: Node, family: str, first: int) -> None:
        self.node = node
        self.view = HeadView()
        self.first = min(first, len(node.growing.blocks))
        self._start: dict[str, Any] = {"cursors": True}
        if self.first < len(node.growing.blocks):
            self._start["block_id"] = {"block_number": self.first}
        self._family = family
        self._client: HeadClient | None = None

    async def come(self) -> None:
        if self._client is not None:
            return
        self._client = await self.node.connect()
        start = self._start if self.view.cursor is None else {"cursor": self.view.cursor}
        await self._client.ask_named(f"{self._family}_subscribeNewHeads", **start)
        if self.view.cursor is None:
            # Its beginning is the head of now, whatever becomes of the connection.
            await wait_all_tasks_blocked()

    async def go(self, unread: int) -> None:
        if self._client is not None:
            await self._client.leave()
            self.take(unread)
            self._client = None
            if self.view.cursor is None:
                # There is nothing to go on from, so it begins where the chain ends.
                self.first = len(self.node.growing.blocks)
                self._start = {"cursors": True}
                await self.come()

    def take(self, unread: int = 0) -> None:
        """Apply the messages since the last time, except the last few."""
        if self._client is None:
            return
        told = self._client.messages[: max(len(self._client.messages) - unread, 0)]
        for message in told:
            assert "error" not in message, message
            if "params" in message:
                assert message["method"].startswith(f"{self._family}_subscription")
                self.view.apply(message)
        self._client.messages.clear()


async def run(growing: GrowingChain, script: Sequence[Any]) -> None:
    async with open_node(growing) as node:
        watchers: list[Watcher] = []
        for step in script:
            await take_step(node, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
        while node.hub.head.number != len(growing.blocks) - 1:
            node.hub.advance()
        await wait_all_tasks_blocked()
        for watcher in watchers:
            watcher.take()
            told = watcher.view.blocks
            first = told[0][0] if told else len(growing.blocks)
            assert told == growing.blocks[first:]
            assert first <= watcher.first


async def take_step(node: Node, watchers: list[Watcher], step: Any) -> None:
    growing = node.growing
    match step:
        case Reorganise(depth, count):
            growing.reorganise(min(depth, len(growing.blocks)), count)
        case Shrink(depth):
            growing.shrink(min(depth, len(growing.blocks)))
        case Subscribe(family, first):
            watchers.append(Watcher(node, family, first))
            await watchers[-1].come()
        case _:
            await take_common_step(growing, node.hub, watchers, step)


@pytest.fixture(params=[64, 2], ids=["whole pages", "two blocks at a time"])
def step_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STEP_BLOCKS", request.param)


@pytest.mark.usefixtures("step_blocks")
@settings(
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(steps, max_size=20))
def test_a_client_rebuilds_the_chain(growing: GrowingChain, script: list[Any]) -> None:
    growing.clear()
    trio.run(run, growing, script)


@pytest.mark.parametrize("change", [Reorganise(3, 1), Reorganise(8, 9), Shrink(4), Return(3, noticed=True)])
def test_the_chain_may_change_at_any_moment_of_a_replay(
    growing: GrowingChain, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STEP_BLOCKS", 2)
    for turns in range(0, 40, 2):
        growing.clear()
        history = [Reorganise(0, 9), Notice(), Subscribe("starknet", 0), Breathe(turns)]
        trio.run(run, growing, [*history, change, Breathe(turns % 7), Reorganise(2, 5), Notice()])
