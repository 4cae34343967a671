"""Random lives of a node and its clients: whatever happens, all of them rebuild the canonical chain."""

import logging
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.scenarios.model.connection import Connection
from tests.scenarios.model.loop import ErrorLog, Loop
from tests.scenarios.model.wishes import (
    Branch,
    Wanted,
    Wish,
    branches,
    criteria,
    everything,
    histories,
    which,
    wishes,
)
from tests.scenarios.model.world import World
from wsnode.ethereum.live import groups, hub, pages
from wsnode.ethereum.live.subscription_spec import Extensions

pytestmark = pytest.mark.slow

MAX_CLIENTS = 5


class Lives(RuleBasedStateMachine):
    """Rules are what may happen; `World.settle_all` is what must be true then."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="wsnode-model-"))
        self._patch = pytest.MonkeyPatch()
        self._errors = ErrorLog()
        logging.getLogger("wsnode").addHandler(self._errors)
        self._loop = Loop()

    @initialize(
        small_pages=st.booleans(),
        small_steps=st.booleans(),
        parts=st.booleans(),
        closes=st.booleans(),
        blocks=histories,
    )
    def open(self, small_pages: bool, small_steps: bool, parts: bool, closes: bool, blocks: Branch) -> None:
        if small_pages:
            self._patch.setattr(pages, "PAGE_BYTES", 600)
            self._patch.setattr(pages, "WINDOW", 4)
        if small_steps:
            self._patch.setattr(hub, "STEP_BLOCKS", 2)
        if parts:
            self._patch.setattr(groups, "PART_BYTES", 1200)
        self._world = World(self._loop, self._folder, closes_slow=closes)
        self._do(self._world.stage.open)
        self._world.stage.ledger.is_split = parts
        self._do(self._world.write, 0, blocks, True)

    # What happens to the chain.

    @rule(blocks=branches, told=st.booleans())
    def grow(self, blocks: Branch, told: bool) -> None:
        self._do(self._world.write, 0, blocks, told)

    @rule(depth=st.integers(1, 5), blocks=branches, told=st.booleans())
    def reorganise(self, depth: int, blocks: Branch, told: bool) -> None:
        self._do(self._world.write, depth, blocks, told)

    @rule(depth=st.integers(1, 3), told=st.booleans())
    def shrink(self, depth: int, told: bool) -> None:
        self._do(self._world.write, depth, [], told)

    @rule(number=which, told=st.booleans())
    def return_to_a_branch(self, number: int, told: bool) -> None:
        if self._world.branches:
            self._do(
                self._world.return_to, self._world.branches[-1 - number % len(self._world.branches)], told
            )

    @rule(count=st.integers(1, 60))
    def announce_pending_transactions(self, count: int) -> None:
        self._do(self._world.stage.announce, count)

    # What clients do.

    @rule(wishes=st.lists(wishes, min_size=1, max_size=3), deflate=st.booleans(), reads=st.booleans())
    def come(self, wishes: list[Wish], deflate: bool, reads: bool) -> None:
        if len(self._world.connections) < MAX_CLIENTS:
            self._do(self._world.come, wishes, deflate, reads)

    @rule(deflate=st.booleans(), forgotten=st.integers(0, 8))
    def come_back(self, deflate: bool, forgotten: int) -> None:
        if self._world.homeless:
            self._do(self._world.come_back, deflate, forgotten)

    @rule(who=which, wish=wishes)
    def subscribe(self, who: int, wish: Wish) -> None:
        if self._world.connections:
            self._do(self._world.follow, self._client(who), wish)

    @rule(who=which, number=which)
    def unsubscribe(self, who: int, number: int) -> None:
        if self._world.connections and (receivers := self._client(who).receivers):
            identity = list(receivers)[number % len(receivers)]
            self._do(self._world.unsubscribe, self._client(who), identity)

    @rule(who=which, count=st.integers(0, 6))
    def read_some(self, who: int, count: int) -> None:
        if self._world.connections:
            self._do(_now, lambda: self._client(who).read_only(count))

    @rule(who=which)
    def read_all(self, who: int) -> None:
        if self._world.connections:
            self._do(_now, lambda: self._client(who).read_on())

    @rule(who=which)
    def break_off(self, who: int) -> None:
        if self._world.connections:
            self._do(self._world.leave, self._client(who))

    @rule(criteria=st.one_of(st.none(), criteria))
    def make_a_filter(self, criteria: Wanted | None) -> None:
        if len(self._world.filters) < MAX_CLIENTS:
            self._world.filters.append(self._do(self._world.make_a_filter, criteria))

    @rule(number=which)
    def poll(self, number: int) -> None:
        if self._world.filters:
            self._do(self._world.filters[number % len(self._world.filters)].poll)

    # What happens to the node.

    @rule(turns=st.integers(1, 30))
    def run_for_a_while(self, turns: int) -> None:
        self._do(_breathe, turns)

    @rule()
    def settle(self) -> None:
        self._do(wait_all_tasks_blocked)

    @rule()
    def everybody_reads_everything(self) -> None:
        self._do(self._world.settle_all)

    @rule(told=st.booleans(), late=st.lists(wishes, max_size=2))
    def restart(self, told: bool, late: list[Wish]) -> None:
        if late:
            self._do(self._world.come, late, False, True)
        self._do(self._world.restart, told)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self._do(self._world.settle_all)
                self._do(self._world.come_back, False, 0)
                self._do(self._world.settle_all)
                self._do(self._world.leave_nothing_behind)
        finally:
            self._loop.end()
            self._patch.undo()
            logging.getLogger("wsnode").removeHandler(self._errors)
            shutil.rmtree(self._folder)

    def _do(self, function: Any, *arguments: Any) -> Any:
        try:
            return self._loop.call(function, *arguments)
        finally:
            assert not self._errors.records, "\n".join(self._errors.records)

    def _client(self, who: int) -> Connection:
        return self._world.connections[who % len(self._world.connections)]


async def _now(function: Any) -> None:
    function()


async def _breathe(turns: int) -> None:
    for _ in range(turns):
        await trio.lowlevel.checkpoint()


SETTINGS = settings(suppress_health_check=list(HealthCheck), print_blob=True)


def test_a_restart_in_the_middle_of_a_replay_is_told_with_where_the_client_stands() -> None:
    life = Lives()
    blocks: Branch = [[(0, []), (1, []), (2, [])]] * 8
    life.open(small_pages=True, small_steps=False, parts=False, closes=False, blocks=blocks)
    late = Wish("logs", everything, 0, None, Extensions())
    life.restart(told=True, late=[late])
    life.teardown()


def test_a_block_that_comes_back_and_goes_unseen_is_taken_back_from_a_client_that_fell_behind_at_it() -> None:
    life = Lives()
    blocks: Branch = [[(0, []), (0, [0])]]
    life.open(small_pages=False, small_steps=False, parts=False, closes=False, blocks=blocks)
    # The third one's removals have no room; what comes next does.
    life.come(wishes=[Wish("logs", everything, None, None, Extensions())] * 3, deflate=False, reads=False)
    life.shrink(depth=1, told=False)
    life.return_to_a_branch(number=0, told=True)
    life.settle()
    life.shrink(depth=1, told=False)
    life.teardown()


def test_lives_of_a_node_and_its_clients() -> None:
    run_state_machine_as_test(
        Lives, settings=settings(SETTINGS, max_examples=examples(40), stateful_step_count=40)
    )


@pytest.mark.nightly
def test_many_long_lives_of_a_node_and_its_clients() -> None:
    run_state_machine_as_test(Lives, settings=settings(SETTINGS, max_examples=150, stateful_step_count=80))
