"""Blocks that one upstream has announced and cannot give yet, and others can."""

from math import inf
from pathlib import Path

import pytest
import trio

from tests.sync.follow.world import followed, sources_of
from wsnode.sync.follow.blocks import fetching
from wsnode.sync.follow.blocks.walk import patience
from wsnode.sync.follow.report import Stage
from wsnode.upstream.score import Score


async def test_one_that_has_no_block_yet_holds_up_no_other(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MOST_DELAYS", inf)
    with sources_of(tmp_path, ("a", "b"), nursery) as sources:
        async with followed(tmp_path, sources) as world:
            await world.until_stage(Stage.LIVE)
            await world.until(lambda: world.follower.peers == 2)
            for upstream in world.follower.upstreams:
                for _ in range(200):
                    upstream.client.score.answered(1000.0)
            for source in sources.values():
                source.grow()
            sources["a"].overrides["debug_getRawBlock"] = lambda params: None
            await sources["a"].tell()
            await world.until(lambda: sources["a"].asked["debug_getRawBlock"] > 0)
            await sources["b"].tell()
            await world.until_at(sources["b"].head)


def test_nobody_waits_behind_one_that_is_worse() -> None:
    good, slow, failing = Score(), Score(), Score()
    for _ in range(20):
        good.answered(0.01)
        slow.answered(0.5)
        failing.answered(0.01)
        failing.failed()
    assert patience(good, slow) == patience(good, failing) == 0
    assert patience(slow, good) == 0.5
    assert patience(good, good) == 0.01
