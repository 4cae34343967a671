"""Pages put together are what the store says, wherever they are cut."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.ethereum.live.growing import GrowingChain
from tests.ethereum.live.test_replay_model import branches, criteria
from tests.slices import result_of
from wsnode.ethereum.head import Head
from wsnode.ethereum.live import pages
from wsnode.ethereum.live.pages import log_page
from wsnode.ethereum.live.position import BEGINNING, Position
from wsnode.ethereum.logs.filter import Log, LogFilter
from wsnode.ethereum.snapshot import Snapshot


def all_positions(view: Snapshot, wish: LogFilter, position: Position, target: Head) -> list[Position]:
    """Return the positions behind each log, page by page until the target."""
    found: list[Position] = []
    while position != Position.after(target):
        page = result_of(log_page(view, wish, position, target))
        assert page.position != position, "a page leads on"
        found += [item.behind for item in page.items]
        position = page.position
    return found


@pytest.mark.parametrize("window", [1, 2, 5, pages.WINDOW])
@pytest.mark.parametrize("page_bytes", [400, 1200, pages.PAGE_BYTES])
@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    wanted=criteria,
    blocks=branches,
    new=branches,
    first=st.integers(0, 4),
    last=st.none() | st.integers(4, 6),
)
def test_pages_are_cut_between_logs_and_nowhere_else(
    growing: GrowingChain,
    monkeypatch: pytest.MonkeyPatch,
    window: int,
    page_bytes: int,
    wanted: LogFilter,
    blocks: Sequence[Sequence[Log]],
    new: Sequence[Sequence[Log]],
    first: int,
    last: int | None,
) -> None:
    monkeypatch.setattr(pages, "WINDOW", window)
    monkeypatch.setattr(pages, "PAGE_BYTES", page_bytes)
    growing.clear()
    growing.reorganise(0, blocks)
    wish = wanted.canonical().between(first, last)

    def matching() -> list[tuple[Head, int]]:
        return [
            (block.head, index)
            for block in growing.blocks
            for index, log in enumerate(block.logs)
            if wanted.matches(log) and wish.covers(block.head.number)
        ]

    before, end = matching(), growing.chain.head
    with growing.chain.snapshot() as view:
        found = all_positions(view, wish, BEGINNING, end)
        assert [(position.head, position.logs - 1) for position in found] == before
        places = [BEGINNING, *found]
        for count, place in enumerate(places):
            assert all_positions(view, wish, place, end) == found[count:]
    growing.reorganise(len(blocks), new)
    with growing.chain.snapshot() as view:
        target = growing.chain.head
        found = all_positions(view, wish, Position.after(end), target)
        removed, added = found[: len(before)], found[len(before) :]
        assert [(position.head, position.logs) for position in removed] == before[::-1]
        assert [(position.head, position.logs - 1) for position in added] == matching()
