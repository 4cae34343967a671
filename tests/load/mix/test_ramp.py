"""Steps of a ramp: what they are read from, and where something begins."""

import pytest

from wsnode.load.measured import Measurement
from wsnode.load.mix.ramp import Ramp, RampError, RampStep, begins, falls_behind, has_errors, is_over
from wsnode.load.mix.window import LoadSettings
from wsnode.load.report import ramp as report


def step(value: float, seconds: float, errors: int = 0, replies: int = 100) -> RampStep:
    measured = Measurement(seconds=1.0)
    for number in range(replies):
        measured.add("eth_chainId", seconds, "-32000 no" if number < errors else None)
    return RampStep(value, measured)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("rate=100", [100]),
        ("rate=100,200.5,300", [100, 200.5, 300]),
        ("connections=1..9/5", [1, 3, 5, 7, 9]),
        ("rate=1000..4000/4", [1000, 2000, 3000, 4000]),
    ],
)
def test_a_ramp_is_values_or_even_steps(text: str, values: list[float]) -> None:
    assert Ramp.parse(text) == Ramp(text.partition("=")[0], values)


@pytest.mark.parametrize(
    "text",
    [
        *("", "rate", "depth=1,2", "rate=", "rate=a", "rate=0,1", "rate=2,1", "rate=nan", "rate=1,inf"),
        *("rate=1..2", "rate=1..2/1", "rate=1..2/1001", "rate=1..2..3/4", "connections=1,20001"),
    ],
)
def test_what_is_no_ramp_is_refused(text: str) -> None:
    with pytest.raises(RampError):
        Ramp.parse(text)


def test_each_step_is_the_pattern_with_its_value() -> None:
    pattern = LoadSettings(connections=8, rate=50.0)
    connections = Ramp.parse("connections=2,30")
    assert connections.pattern(30, pattern) == LoadSettings(connections=30, rate=50.0)
    assert (connections.least_connections(pattern), connections.most_connections(pattern)) == (2, 30)
    rate = Ramp.parse("rate=2,30")
    assert rate.pattern(30, pattern) == LoadSettings(connections=8, rate=30)
    assert (rate.least_connections(pattern), rate.most_connections(pattern)) == (8, 8)


def test_the_first_step_over_a_limit_is_found() -> None:
    steps = [step(100, 0.01), step(200, 0.2, replies=200), step(300, 0.02, errors=1)]
    assert begins(steps, is_over(100)) == 200
    assert begins(steps, has_errors) == 300
    assert begins(steps, falls_behind) == 300
    assert begins(steps, is_over(1000)) is None
    assert has_errors(RampStep(400, Measurement(), "the node closed the connection"))


def test_the_lines_name_the_limits() -> None:
    ramp, steps = Ramp("rate", [100, 200]), [step(100, 0.01), step(200, 0.2, errors=3)]
    assert [report.line(ramp, each, 0, 1).split() for each in steps] == [
        ["100", "a", "second", "100", *["10.000"] * 4, "0", "0"],
        ["200", "a", "second", "100", *["200.000"] * 4, "3", "0"],
    ]
    assert list(report.limits([steps], ramp, 50)) == [
        "p99 over 50 ms: from 200 a second on",
        "errors: from 200 a second on",
        "less answered than asked: from 200 a second on",
    ]


def test_a_step_that_was_given_up_says_why() -> None:
    ramp, lost = Ramp("connections", [1, 2]), RampStep(2, Measurement(), "the node <closed> the connection")
    assert report.line(ramp, lost, 1, 2).strip() == "B 2 connections: the node <closed> the connection"
    html = "".join(report.sections([[step(1, 0.01)], [lost]], ramp, 50))
    assert "the node &lt;closed&gt; the connection" in html
    assert report.document([lost], ramp, 50)["begins"]["errors"] == 2


def test_unanswered_requests_are_explained_where_there_are_some() -> None:
    ramp, steps = Ramp("rate", [100, 200]), [step(100, 0.01), step(200, 0.01, replies=200)]
    explained = "unanswered: requests that were due in a step and had no reply when it ended"
    assert not any(line.startswith(explained) for line in report.limits([steps], ramp, 50))
    steps[1].measured.unanswered = 3
    assert next(report.limits([steps], ramp, 50)).startswith(explained)
