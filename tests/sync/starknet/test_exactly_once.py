"""Subscribers of a node that follows another program have all of the chain exactly once, whatever happens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.starknet.reference.watcher import Watcher
from tests.starknet.reference.world import LIES, World, world

pytestmark = pytest.mark.slow

TRANSPORTS: Final = ("ws", "http")
PROOFS: Final = ("pathfinder", "juno")


def run_rounds(running: World, watcher: Watcher, rounds: int, lies: Sequence[str]) -> None:
    """Kill the node and reorganise the chain in each round, in different orders; cut connections; lie."""
    for number in range(rounds):
        depth = 1 + number % 5
        if number % 3 == 1:
            running.kill()
        running.command("reorganise", depth=depth, count=depth + 1 + number % 2)
        if number % 3 == 2:
            running.wait_for_head()
        if number % 3 != 1:
            running.kill()
        running.start()
        if number % 4 == 1:
            running.command("down")
            running.grow(1)
            running.command("down", on=False)
        else:
            running.command("cut")
        for name in lies[number::rounds]:
            running.lie(name)
        running.check(watcher)
        running.read()
    assert watcher.count_false(running.made) == 0
    assert watcher.connections > rounds


@pytest.mark.parametrize(("transport", "proofs"), [("ws", "juno"), ("http", "pathfinder")])
def test_subscribers_have_everything_once_through_two_reorganisations_and_kills(
    tmp_path: Path, transport: str, proofs: str
) -> None:
    with world(tmp_path, blocks=20, window=16, transport=transport, proofs=proofs) as (running, watcher):
        run_rounds(running, watcher, 2, ("event left out", "proof wrong"))
        assert watcher.reorganisations >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("block_time", [2, 0.5])
@pytest.mark.parametrize("proofs", PROOFS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_subscribers_have_everything_once_through_twenty_reorganisations_and_kills_and_every_lie(
    tmp_path: Path, transport: str, proofs: str, block_time: float
) -> None:
    with world(
        tmp_path, blocks=150, window=128, transport=transport, proofs=proofs, block_time=block_time
    ) as (running, watcher):
        run_rounds(running, watcher, 20, LIES)
        # One that drops no more than the blocks made since the last check is none for a subscriber.
        assert watcher.reorganisations > 10


@pytest.mark.nightly
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_beside_an_honest_upstream_no_lie_is_served_and_the_head_is_followed(
    tmp_path: Path, transport: str
) -> None:
    with world(tmp_path, blocks=20, window=16, transport=transport, upstreams=2) as (running, watcher):
        for name in LIES:
            running.lie(name)
            running.check(watcher)
        assert watcher.count_false(running.made) == 0
