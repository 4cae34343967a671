"""Whatever the chain does and whenever a client comes and goes: it has each event of the chain once."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.live.steps import common_steps, take_common_step
from tests.starknet.live.bodies import event_places, made_body, told_place
from tests.starknet.live.growing import GrowingChain
from tests.starknet.live.sessions import HeadClient, Node, open_node
from wsnode.starknet.live import pages

pytestmark = pytest.mark.slow


class Reorganise(msgspec.Struct, frozen=True):
    depth: int
    count: int


class Subscribe(msgspec.Struct, frozen=True):
    """Begin to watch the events from the next block on."""


steps = st.one_of(
    st.builds(Reorganise, st.just(0), st.integers(1, 5)),
    st.builds(Reorganise, st.integers(1, 5), st.integers(1, 5)),
    st.builds(Subscribe),
    common_steps,
)


class EventWatcher:
    """A client that keeps the events it believes in, and resumes behind the last one."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.first = len(node.growing.blocks)
        self.events: list[tuple[int, tuple[str, int, int]]] = []
        self._cursor: str | None = None
        self._client: HeadClient | None = None

    async def come(self) -> None:
        if self._client is not None:
            return
        self._client = await self.node.connect()
        start = {"cursors": True} if self._cursor is None else {"cursor": self._cursor}
        await self._client.ask_named("starknet_subscribeEvents", **start)
        if self._cursor is None:
            # Its beginning is the head of now, whatever becomes of the connection.
            await wait_all_tasks_blocked()
            self.first = len(self.node.growing.blocks)

    async def go(self, unread: int) -> None:
        if self._client is None:
            return
        await self._client.leave()
        self.take(unread)
        self._client = None
        if self._cursor is None:
            await self.come()

    def take(self, unread: int = 0) -> None:
        """Take note of the messages since the last time, except the last few."""
        if self._client is None:
            return
        for message in self._client.messages[: max(len(self._client.messages) - unread, 0)]:
            assert "error" not in message, message
            if "params" in message:
                self._apply(message)
        self._client.messages.clear()

    def _apply(self, message: Any) -> None:
        params = message["params"]
        assert "error" not in params, message
        self._cursor, told = params["cursor"], params["result"]
        if message["method"].endswith("Reorg"):
            lowest = told["starting_block_number"]
            self.events = [event for event in self.events if event[0] < lowest]
            self.first = min(self.first, lowest)
        else:
            self.events.append((told["block_number"], told_place(told)))


async def run(growing: GrowingChain, script: Sequence[Any]) -> None:
    growing.make_body = made_body
    growing.grow()
    async with open_node(growing) as node:
        watchers: list[EventWatcher] = []
        for step in script:
            if isinstance(step, Reorganise):
                growing.reorganise(min(step.depth, len(growing.blocks)), step.count)
            elif isinstance(step, Subscribe):
                # Without a block nobody knows whether there will be transactions.
                watchers.append(EventWatcher(node))
                await watchers[-1].come()
            else:
                await take_common_step(growing, node.hub, watchers, step)
        node.hub.advance()
        for watcher in watchers:
            await watcher.come()
        while node.hub.head.number != len(growing.blocks) - 1:
            node.hub.advance()
        await wait_all_tasks_blocked()
        expected = [event_places(block) for block in growing.blocks]
        for watcher in watchers:
            watcher.take()
            # It may begin below the head of its beginning, which the hub had not published yet.
            first = watcher.events[0][0] if watcher.events else len(expected)
            assert first <= watcher.first
            told = [place for _, place in watcher.events]
            assert told == list(chain.from_iterable(expected[first:]))


@pytest.fixture(params=[(64, 512), (2, 1)], ids=["whole pages", "one block at a time"])
def step_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STEP_BLOCKS", request.param[0])
    monkeypatch.setattr(pages, "STEP_TRANSACTIONS", request.param[1])
    if request.param[0] == 2:
        monkeypatch.setattr(pages, "PART_BYTES", 900)


@pytest.mark.usefixtures("step_sizes")
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(steps, max_size=16))
def test_a_client_has_each_event_once(growing: GrowingChain, script: list[Any]) -> None:
    growing.clear()
    trio.run(run, growing, script)
