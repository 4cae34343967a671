"""The sum of what several workers have counted."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.node.workers.ipc import MAX_BYTES as MAX_MESSAGE_BYTES
from wsnode.node.workers.master.metrics import MetricsSum
from wsnode.node.workers.messages import MetricsResponse, ProcessMetrics
from wsnode.server.observability.families import (
    LABEL_BYTES,
    MAX_BYTES,
    MAX_CHARACTERS,
    SAMPLE_BYTES,
    Family,
    Sample,
)
from wsnode.server.observability.metrics import page_of

HEAD = (("network", "one"), ("family", "eth"))
MAX_CODES = MAX_BYTES // (SAMPLE_BYTES + LABEL_BYTES + len("wsnode_http_errors_total" + "status" + "000000"))
LABELS = {"network": "one", "method": "eth_call", "outcome": "result"}


def gauge(name: str, meaning: str, samples: dict[tuple[tuple[str, str], ...], float]) -> Family:
    values = [Sample(name, dict(labels), value) for labels, value in samples.items()]
    return Family(name, meaning, "gauge", values)


def counter(name: str, meaning: str, value: float) -> Family:
    return Family(name, meaning, "counter", [Sample(f"{name}_total", {}, value)])


def report(calls: int, connections: int, *, is_ready: bool = True) -> ProcessMetrics:
    open_now = gauge("wsnode_connections", "Open", {(): float(connections)})
    return ProcessMetrics([counter("wsnode_messages", "Messages", calls), open_now], is_ready)


def values(families: list[Family]) -> dict[str, float]:
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_the_total_is_of_the_last_reports_and_the_parents_own() -> None:
    tally = MetricsSum()
    tally.note("one", report(1, 9))
    tally.note("one", report(5, 2))
    tally.note("two", report(7, 3, is_ready=False))
    total = tally.total([counter("ended", "Ended", 4)], answering={"one", "two"})
    assert values(total.families) == {"wsnode_messages_total": 12, "wsnode_connections": 5, "ended_total": 4}
    assert total.is_ready


def test_nobody_is_ready_if_no_worker_is() -> None:
    tally = MetricsSum()
    assert not tally.total([], answering=()).is_ready
    tally.note("one", report(1, 1, is_ready=False))
    assert not tally.total([], answering={"one"}).is_ready


def test_a_worker_that_does_not_answer_is_not_ready_whatever_it_said_before() -> None:
    tally = MetricsSum()
    tally.note("one", report(1, 1))
    tally.note("two", report(1, 1, is_ready=False))
    assert not tally.total([], answering={"two"}).is_ready
    assert tally.total([], answering={"one", "two"}).is_ready


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans())))
def test_counters_never_go_back_and_gauges_are_of_the_living(steps: list[tuple[int, int, bool]]) -> None:
    tally, living, before = MetricsSum(), dict[int, int](), 0.0
    for worker, calls, ends in steps:
        living[worker] = living.get(worker, 0) + calls
        tally.note(worker, report(living[worker], 1))
        if ends:
            tally.retire_counters(worker)
            del living[worker]
        found = values(tally.total([], answering=()).families)
        assert found["wsnode_messages_total"] == before + calls
        assert found.get("wsnode_connections", 0) == len(living)
        before = found["wsnode_messages_total"]


def test_a_page_shows_the_sum() -> None:
    tally = MetricsSum()
    tally.note("one", report(1, 2))
    tally.note("two", report(2, 3))
    _status, _type, page = page_of(tally.total([], answering=()).families)
    assert b"wsnode_messages_total 3.0\n" in page
    assert b"# TYPE wsnode_connections gauge\nwsnode_connections 5.0\n" in page


def test_of_heads_the_largest_counts() -> None:
    tally = MetricsSum()
    for worker, number in (("one", 7.0), ("two", 9.0), ("three", 8.0)):
        tally.note(worker, ProcessMetrics([gauge("wsnode_head_number", "Head", {HEAD: number})], True))
    assert values(tally.total([], answering=()).families) == {"wsnode_head_number": 9}


@pytest.mark.parametrize(
    "family",
    [
        counter("wsnode_invented", "Invented", 1),
        counter("wsnode_workers_ended", "Of the parent", 1),
        gauge("wsnode_messages", "Not that kind", {(): 1}),
        counter("wsnode_messages", "Two\nlines", 1),
        counter("wsnode_messages", "x" * (MAX_CHARACTERS + 1), 1),
    ],
    ids=["name", "parent", "kind", "line", "long"],
)
def test_a_metric_that_no_worker_has_is_dropped_and_counted(family: Family) -> None:
    tally = MetricsSum()
    tally.note("one", ProcessMetrics([family, counter("wsnode_accepted", "Accepted", 2)], True))
    assert values(tally.total([], answering=()).families) == {"wsnode_accepted_total": 2}
    assert tally.dropped == 1


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("wsnode_request_seconds_total", LABELS, 1.0),
        ("", LABELS, 1.0),
        ("wsnode_request_seconds_sum", {"network": "one"}, 1.0),
        ("wsnode_request_seconds_sum", dict(reversed(LABELS.items())), 1.0),
        ("wsnode_request_seconds_sum", {**LABELS, "other": "a"}, 1.0),
        ("wsnode_request_seconds_sum", {**LABELS, "method": "x" * (MAX_CHARACTERS + 1)}, 1.0),
        ("wsnode_request_seconds_sum", {**LABELS, "method": "\x1b[2J"}, 1.0),
        ("wsnode_request_seconds_sum", LABELS, math.nan),
        ("wsnode_request_seconds_sum", LABELS, math.inf),
        ("wsnode_request_seconds_sum", LABELS, -1.0),
        ("wsnode_request_seconds_bucket", {**LABELS, "le": "soon"}, 1.0),
        ("wsnode_request_seconds_bucket", LABELS, 1.0),
    ],
)
def test_a_sample_that_no_worker_has_is_dropped_and_counted(
    name: str, labels: dict[str, str], value: float
) -> None:
    tally = MetricsSum()
    good = {**LABELS, "method": "x" * MAX_CHARACTERS}
    samples = [Sample(name, labels, value), Sample("wsnode_request_seconds_sum", good, 2.0)]
    seconds = Family("wsnode_request_seconds", "Seconds", "histogram", samples)
    tally.note("one", ProcessMetrics([seconds], True))
    assert values(tally.total([], answering=()).families) == {"wsnode_request_seconds_sum": 2.0}
    assert tally.dropped == 1


def status_codes(first: int, count: int) -> ProcessMetrics:
    samples = [
        Sample("wsnode_http_errors_total", {"status": f"{first + each:06d}"}, 1) for each in range(count)
    ]
    return ProcessMetrics([Family("wsnode_http_errors", "Refused", "counter", samples)], True)


@pytest.mark.slow
@pytest.mark.parametrize(("beyond", "dropped"), [(0, 0), (1, 1)], ids=["at", "beyond"])
def test_the_samples_of_a_report_have_a_bound_in_bytes(beyond: int, dropped: int) -> None:
    tally = MetricsSum()
    tally.note("one", status_codes(0, MAX_CODES + beyond))
    assert len(tally.total([], answering=()).families[0].samples) == MAX_CODES
    assert tally.dropped == dropped


@pytest.mark.slow
def test_the_sum_has_the_same_bound_and_is_one_message() -> None:
    tally = MetricsSum()
    for number in range(3):
        tally.note(number, status_codes(number * MAX_CODES, MAX_CODES))
        tally.retire_counters(number)
        assert tally.dropped == number * MAX_CODES
    tally.note(3, status_codes(3 * MAX_CODES, MAX_CODES))
    total = tally.total([], answering=())
    assert len(total.families[0].samples) == MAX_CODES
    assert len(msgspec.msgpack.encode(MetricsResponse(1, total))) < MAX_MESSAGE_BYTES
