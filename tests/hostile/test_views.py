"""A client's view of the chain notices each notification that is too many, missing or out of order."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile.views import Heads, Logs, ViewError, difference, digest_of

FIRST = 5
Message = dict[str, Any]


def header(number: int, name: str = "", parent: str = "") -> Message:
    return {
        "number": hex(number),
        "hash": name or f"block {number}",
        "parentHash": parent or f"block {number - 1}",
    }


def log(number: int, index: int = 0, *, removed: bool = False) -> Message:
    return {"blockNumber": hex(number), "logIndex": hex(index), "data": "0x", "removed": removed}


def notice(ancestor: int, dropped: Sequence[str]) -> Message:
    blocks = [{"hash": name} for name in dropped]
    return {"commonAncestor": {"number": hex(ancestor), "hash": f"block {ancestor}"}, "dropped": blocks}


def heads(last: int) -> Heads:
    view = Heads(FIRST)
    for number in range(FIRST, last + 1):
        view.take(header(number))
    return view


def logs(last: int) -> Logs:
    view = Logs()
    for number in range(FIRST, last + 1):
        view.take(log(number))
        view.take(log(number, 1))
    return view


@given(st.lists(st.integers(1, 5), max_size=20), st.booleans())
def test_heads_follow_reorganisations_with_notices_and_without(depths: list[int], noticed: bool) -> None:
    view, names = heads(FIRST + 9), count()
    chain = list(view.hashes)
    for depth in depths:
        kept = len(chain) - depth
        if noticed:
            ancestor = {"number": hex(FIRST + kept - 1), "hash": chain[kept - 1]}
            dropped = [{"hash": name} for name in reversed(chain[kept:])]
            view.reorganise({"commonAncestor": ancestor, "dropped": dropped})
        del chain[kept:]
        for _ in range(depth):
            chain.append(f"new {next(names)}")
            view.take(header(FIRST + len(chain) - 1, chain[-1], chain[-2]))
    assert view.hashes == chain


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(header(9), id="gap"),
        pytest.param(header(7), id="again"),
        pytest.param(header(8, parent="another"), id="another-parent"),
        pytest.param(header(6, "new", "another"), id="another-ancestor"),
        pytest.param(header(4), id="before-the-first"),
    ],
)
def test_a_header_that_does_not_go_on_is_refused(wrong: Message) -> None:
    view = heads(7)
    with pytest.raises(ViewError):
        view.take(wrong)
    assert view.hashes == heads(7).hashes


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(notice(8, ()), id="unknown-ancestor"),
        pytest.param(notice(6, ["another"]), id="unknown-block"),
        pytest.param(notice(5, ["block 6", "block 7"]), id="lowest-first"),
    ],
)
def test_a_notice_of_other_blocks_is_refused(wrong: Message) -> None:
    with pytest.raises(ViewError):
        heads(7).reorganise(wrong)


@given(st.integers(0, 6))
def test_removed_logs_leave_as_they_came(removed: int) -> None:
    view, expected = logs(7), logs(7)
    places = [(number, index) for number in range(FIRST, 8) for index in (0, 1)][6 - removed :]
    for number, index in reversed(places):
        view.take(log(number, index, removed=True))
    for number, index in places:
        view.take(log(number, index))
    assert (view.places, view.digests) == (expected.places, expected.digests)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(log(7, 1), id="again"),
        pytest.param(log(7, 0), id="before-the-last"),
        pytest.param(log(7, 0, removed=True), id="removed-before-the-last"),
        pytest.param({**log(7, 1, removed=True), "data": "0x00"}, id="removed-as-another"),
    ],
)
def test_a_log_that_does_not_go_on_is_refused(wrong: Message) -> None:
    with pytest.raises(ViewError):
        logs(7).take(wrong)


def test_logs_are_found_by_their_blocks() -> None:
    view = logs(8)
    assert view.last == 8
    assert view.between(6, 7) == [digest_of(log(number, index)) for number in (6, 7) for index in (0, 1)]
    assert view.between(9, 20) == []


def test_a_difference_is_told_by_its_place() -> None:
    assert difference("logs", [1, 2], [1, 2]) == []
    assert difference("logs", [1, 2], [1, 3]) == ["2 logs, 2 on the chain, the first difference at 1"]
    assert difference("logs", [1], [1, 3]) == ["1 logs, 2 on the chain, the first difference at 1"]
