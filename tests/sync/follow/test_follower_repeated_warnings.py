"""Warnings that an upstream causes with every message: a line a minute, with the number of skipped ones."""

import logging
from collections import Counter
from typing import Any

import pytest

from tests.sync.follow.world import NOT_SAID, Open
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.sync.follow.blocks import block_client
from wsnode.sync.follow.light import folder
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.untrusted import repeated_warning


def warnings(caplog: pytest.LogCaptureFixture) -> list[tuple[str, object]]:
    """Return the warnings of the follower, each with its fields."""
    return [
        (record.message, vars(record).get("details"))
        for record in caplog.records
        if record.name == "wsnode.follow" and record.levelno >= logging.WARNING
    ]


async def test_blocks_that_an_upstream_never_has_are_one_line(
    opened: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_client, "MAX_DELAYS", 0.0)
    async with opened("a") as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)
        upstream, source = world.upstream("a"), sources["a"]
        caplog.clear()

        async def announce(place: int) -> str:
            """Announce a block that nobody has, and return its hash once it was asked for in vain."""
            asked, block_hash = source.asked["debug_getRawBlock"], f"0x{place:064x}"
            await source.tell(hash=block_hash, number=hex(source.head.number + 1))
            await world.until(
                lambda: source.asked["debug_getRawBlock"] > asked and upstream.announced == upstream.head
            )
            return block_hash

        first = await announce(1)
        for place in range(2, 11):
            await announce(place)
        line = f"{upstream}: absent: {{}}"
        assert warnings(caplog) == [(line.format(first), {})]
        monkeypatch.setattr(repeated_warning, "WARNING_SECONDS", 0.0)
        last = await announce(11)
        assert warnings(caplog)[1:] == [(line.format(last), {"left_out": 9})]
        # It is followed all the same.
        source.grow()
        await source.tell()
        await world.until_at(source.head)


async def test_blocks_below_the_first_one_that_nobody_has_are_one_line(
    opened: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "FAILED_SECONDS", 0.0)
    monkeypatch.setattr(block_client, "MAX_DELAYS", 0.0)
    light = FolderKind(20, is_light=True)
    async with opened("a", blocks=60, final=2, kind=light) as (world, sources):
        source, below = sources["a"], hex(57)
        refused = Counter[str]()

        def without_old_blocks(params: list[Any]) -> Any:
            is_old = params[0] == below
            refused[params[0]] += is_old
            return None if is_old else NOT_SAID

        source.overrides |= dict.fromkeys(("debug_getRawBlock", "eth_getBlockByNumber"), without_old_blocks)
        await world.until(lambda: refused[below] >= 5)
        (line,) = {text for text, _details in warnings(caplog)}
        assert line.startswith("backfilling failed and is tried again: absent: ")
        assert warnings(caplog) == [(line, {})]
        monkeypatch.setattr(repeated_warning, "WARNING_SECONDS", 0.0)
        await world.until(lambda: len(warnings(caplog)) > 1)
        _text, details = warnings(caplog)[1]
        assert isinstance(details, dict)
        assert details["left_out"] >= 3
