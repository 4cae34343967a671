"""What dishonest beacon nodes tell, recorded: none of it moves the head, and each is named with its rule."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from tests.sync.follow.beacon.beacon_nodes import Answer, BeaconWorld, Json
from tests.sync.follow.beacon.proved_world import BEGIN, grown_story

FIRST_LIE = 28
LAST_LIE = 31
RULES = {
    "signature": "signature",
    "signers": "signature",
    "committee": "signature",
    "domain": "signature",
    "version": "signature",
    "finality_branch": "finality branch",
    "finalized_header": "finality branch",
    "execution_branch": "execution branch",
    "block_hash": "execution branch",
    "future": "future",
    "fork": "fork",
    "malformed": "malformed",
    "null": "malformed",
}
"""The rule that each breaks."""
BEGINNINGS = {
    "bootstrap_branch": "committee branch",
    "execution_branch": "execution branch",
    "block_hash": "execution branch",
    "malformed": "malformed",
    "null": "malformed",
}
KINDS = {
    "bootstrap/": "bootstrap",
    "updates?": "update",
    "finality_": "finality_update",
    "optimistic_": "optimistic_update",
}
"""By the part of a path that asks for it."""

each_fork = pytest.mark.parametrize("fork", ["fulu", "gloas"])


@asynccontextmanager
async def opened(vector: Json, *names: str, start: int) -> AsyncIterator[BeaconWorld]:
    async with trio.open_nursery() as nursery:
        world = BeaconWorld(vector, names, start, nursery)
        nursery.start_soon(world.prover.run)
        yield world
        nursery.cancel_scope.cancel()


def lie_with(world: BeaconWorld, name: str) -> None:
    """Have the node `liar` tell what was recorded of a lie, as far as it was."""

    def lie(path: str, answer: Answer) -> Answer | None:
        kind = next((kind for part, kind in KINDS.items() if f"light_client/{part}" in path), None)
        told = [
            each["object"] for each in world.vector["lies"] if (each["lie"], each["kind"]) == (name, kind)
        ]
        place = min(max(world.prover.clock_slot - FIRST_LIE, 0), LAST_LIE - FIRST_LIE)
        if answer[0] != 200 or not told:
            return None
        found = told[min(place, len(told) - 1)]
        return 200, json.dumps([found] if kind == "update" else found).encode()

    world.sources["liar"].lie = lie


@pytest.mark.slow
@each_fork
@pytest.mark.parametrize("name", RULES)
async def test_a_liar_is_named_with_its_rule_and_the_head_goes_on(
    name: str, fork: str, autojump_clock: MockClock
) -> None:
    vector = grown_story(fork)
    async with opened(vector, "liar", "honest", start=26) as world:
        await world.until_slot(27)
        lie_with(world, name)
        for slot in range(FIRST_LIE, LAST_LIE + 1):
            await world.until_slot(slot)
            proved = world.prover.proved
            assert proved is not None
            assert proved.slot == slot - 1
        assert world.prover.refused[RULES[name]] > 0
        assert world.prover.refused.keys() <= {RULES[name], "relevant"}
        assert world.node("honest").why == ""
        assert world.prover.equivocations == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RULES, "few"])
async def test_a_liar_alone_moves_nothing(name: str, autojump_clock: MockClock) -> None:
    async with opened(grown_story(), "liar", start=26) as world:
        await world.until_slot(27)
        before = world.prover.proved, world.prover.finalized
        lie_with(world, name)
        await world.until_slot(LAST_LIE)
        assert (world.prover.proved, world.prover.finalized) == before


@each_fork
@pytest.mark.parametrize("name", BEGINNINGS)
async def test_a_false_beginning_is_refused_and_another_node_asked(
    name: str, fork: str, autojump_clock: MockClock
) -> None:
    async with opened(grown_story(fork), "liar", "honest", start=27) as world:
        lie_with(world, name)
        await world.until_slot(27)
        assert world.prover.refused.keys() >= {BEGINNINGS[name]}
        assert world.prover.client is not None
        assert world.prover.client.checkpoint.hex() == world.vector["checkpoint"][2:]
        assert world.prover.client.finalized.slot == BEGIN
