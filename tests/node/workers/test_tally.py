"""The sum of what several workers have counted."""

from hypothesis import given
from hypothesis import strategies as st

from wsnode.node.workers.accepting.tally import Tally
from wsnode.node.workers.messages import Report
from wsnode.server.upkeep.families import Family, counter, gauge
from wsnode.server.upkeep.metrics import page_of


def report(calls: int, connections: int, *, is_ready: bool = True) -> Report:
    open_now = gauge("connections", "Open", {(): float(connections)})
    return Report([counter("calls", "Calls", calls), open_now], is_ready)


def values(families: list[Family]) -> dict[str, float]:
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_the_total_is_of_the_last_reports_and_the_parents_own() -> None:
    tally = Tally()
    tally.note("one", report(1, 9))
    tally.note("one", report(5, 2))
    tally.note("two", report(7, 3, is_ready=False))
    total = tally.total([counter("ended", "Ended", 4)])
    assert values(total.families) == {"calls_total": 12, "connections": 5, "ended_total": 4}
    assert total.is_ready


def test_nobody_is_ready_if_no_worker_is() -> None:
    tally = Tally()
    assert not tally.total([]).is_ready
    tally.note("one", report(1, 1, is_ready=False))
    assert not tally.total([]).is_ready


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans())))
def test_counters_never_go_back_and_gauges_are_of_the_living(steps: list[tuple[int, int, bool]]) -> None:
    tally, living, before = Tally(), dict[int, int](), 0.0
    for worker, calls, ends in steps:
        living[worker] = living.get(worker, 0) + calls
        tally.note(worker, report(living[worker], 1))
        if ends:
            tally.bury(worker)
            del living[worker]
        found = values(tally.total([]).families)
        assert found["calls_total"] == before + calls
        assert found.get("connections", 0) == len(living)
        before = found["calls_total"]


def test_a_page_shows_the_sum() -> None:
    tally = Tally()
    tally.note("one", report(1, 2))
    tally.note("two", report(2, 3))
    _status, _type, page = page_of(tally.total([]).families)
    assert b"calls_total 3.0\n" in page
    assert b"# TYPE connections gauge\nconnections 5.0\n" in page


def test_of_heads_the_largest_counts() -> None:
    tally = Tally()
    for worker, number in (("one", 7.0), ("two", 9.0), ("three", 8.0)):
        tally.note(worker, Report([gauge("wsnode_head_number", "Head", {(): number})], True))
    assert values(tally.total([]).families) == {"wsnode_head_number": 9}
