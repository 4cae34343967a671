"""The index of filters against looking at every filter."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ethereum.live.growing import EMITTERS, TOPICS
from tests.hostile.line_count import counting_lines
from wsnode.ethereum.logs.filter import FilterIndex, LogFilter

pytestmark = pytest.mark.slow

logs = st.tuples(st.sampled_from(EMITTERS), st.lists(st.sampled_from(TOPICS), max_size=4).map(tuple))
criteria = st.builds(
    LogFilter,
    addresses=st.lists(st.sampled_from(EMITTERS), max_size=2),
    topics=st.lists(st.lists(st.sampled_from(TOPICS), max_size=3), max_size=4),
)


@given(filters=st.lists(criteria, max_size=12), removed=st.sets(st.integers(0, 11)), logs=st.lists(logs))
def test_the_index_finds_what_looking_at_each_filter_finds(
    filters: list[LogFilter], removed: set[int], logs: list[tuple[bytes, tuple[bytes, ...]]]
) -> None:
    index = FilterIndex[int]()
    numbers = [index.add(wanted, owner) for owner, wanted in enumerate(filters)]
    for owner in removed & set(range(len(filters))):
        index.remove(numbers[owner])
    kept = {owner: wanted for owner, wanted in enumerate(filters) if owner not in removed}
    # Numbers are used again.
    for owner in list(kept):
        index.remove(numbers[owner])
        numbers[owner] = index.add(kept[owner], owner)

    assert len(index) == len(kept)
    matched = {
        owner: [place for place, log in enumerate(logs) if wanted.matches(log)]
        for owner, wanted in kept.items()
    }
    assert index.matching(logs) == {owner: places for owner, places in matched.items() if places}


@given(wanted=criteria, order=st.randoms(use_true_random=False), log=logs)
def test_filters_that_ask_the_same_are_equal_in_their_canonical_form(
    wanted: LogFilter, order: random.Random, log: tuple[bytes, tuple[bytes, ...]]
) -> None:
    def shuffled(values: list[bytes]) -> list[bytes]:
        return order.sample([*values, *values], 2 * len(values))

    other = LogFilter(shuffled(list(wanted.addresses)), [shuffled(list(values)) for values in wanted.topics])
    assert wanted.canonical() == other.canonical()
    assert hash(wanted.canonical()) == hash(other.canonical())
    assert wanted.canonical().matches(log) == wanted.matches(log)


def test_what_a_log_costs_follows_its_matches_not_the_filters() -> None:
    def lines(count: int) -> int:
        index = FilterIndex[int]()
        for owner in range(count):
            index.add(LogFilter([EMITTERS[0]], [[TOPICS[0]], [owner.to_bytes(32, "big")]]), owner)
        log = EMITTERS[0], (TOPICS[0], (7).to_bytes(32, "big"))
        return lines_run(lambda: index.matching([log]), {7: [0]})

    assert lines(20_000) == lines(200)


def lines_run(function: Callable[[], object], expected: object) -> int:
    """Return how many lines `function` runs until it returns what is expected."""
    with counting_lines() as count:
        found = function()
    assert found == expected
    return count.lines
