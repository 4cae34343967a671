"""A measurement as JSON and as a page."""

import json
import os
import platform
import re
from datetime import UTC, datetime
from html import escape
from html.parser import HTMLParser
from importlib.metadata import version

import msgspec

from wsnode.load.interference import HeadOfLineResult
from wsnode.load.measured import Measurement
from wsnode.load.mix.samples import ChainSamples
from wsnode.load.mix.window import LoadSettings
from wsnode.load.plan import MeasuredNode, MixOutcome, MixPlan
from wsnode.load.report.charts import Axis
from wsnode.load.report.mix import document, page

SAMPLES = ChainSamples(9, [9], "0x", 9, [], [], [], [])
VOID = {"meta", "line"}


def outcome(nodes: int = 2) -> MixOutcome:
    found = []
    for number in range(nodes):
        measured = Measurement(seconds=2.0, slice_seconds=0.5, busy=[0.2, 0.95])
        for place in range(100):
            method, error = ("eth_<call>", "-32000 <no>") if place % 10 == 0 else ("eth_chainId", None)
            measured.add(method, (place + 1) / 1000 * (number + 1), error, at=place / 50)
        found.append(measured)
    node = MeasuredNode("ws://user:secret@node:8545/ws/v3/secret", "client/<v1>", SAMPLES)
    heavy = HeadOfLineResult([1.0] * 4, [2.0] * 4, [3.0] * 4, 16, 0.5, "out of gas")
    plan = MixPlan({"eth_chainId": 1.0}, LoadSettings(4, 1, 2.0))
    return MixOutcome([node] * nodes, plan, found, [heavy] * nodes)


class Checker(HTMLParser):
    """Holds a page's elements against each other and gathers what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.fetched += [str(value) for name, value in attrs if name in {"src", "href", "xlink:href", "data"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing() -> None:
    text = page(outcome())
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.fetched == []
    assert checker.seen.count("svg") == 5
    assert "script" not in checker.seen
    assert "url(" not in text
    assert "@import" not in text
    assert "secret" not in text
    assert "<call>" not in text
    assert "eth_&lt;call&gt;" in text
    assert "the client or its machine was the limit" in text


def test_the_page_of_one_node_has_no_second_line() -> None:
    text = page(outcome(1))
    assert 'class="a"' in text
    assert 'class="b"' not in text


def test_the_json_has_what_the_page_shows() -> None:
    told = json.loads(msgspec.json.encode(document(outcome())))
    first, second = told["nodes"]
    assert "secret" not in json.dumps(told)
    assert first["address"] == "ws://node:8545"
    assert first["mix"]["replies"] == 100
    assert first["mix"]["requests_per_second"] == 50
    assert first["mix"]["errors"] == 10
    assert first["mix"]["client_limit"] is True
    assert first["mix"]["methods"]["eth_<call>"]["first_error"] == "-32000 <no>"
    assert abs(first["mix"]["latency"]["p50"] / 51 - 1) < 0.01
    assert abs(second["mix"]["latency"]["p50"] / 102 - 1) < 0.01
    assert sum(count for _, _, count in first["mix"]["histogram"]) == 100
    assert sum(piece["replies"] for piece in first["mix"]["over_time"]) == 100
    assert first["head_of_line"]["alone"]["p99"] == 1.0


def test_rounds_follow_each_other_in_time() -> None:
    whole = Measurement(slice_seconds=0.5)
    for _ in range(3):
        turn = Measurement(seconds=1.0, slice_seconds=0.5, busy=[0.1, 0.3])
        turn.add("eth_chainId", 0.01, None, at=0.2)
        turn.add("eth_chainId", 0.01, None, at=0.7)
        whole.follow(turn)
    assert whole.seconds == 3
    assert sorted(whole.slices) == list(range(6))
    assert whole.busy == [0.1, 0.3]
    assert whole.rate == 2


def test_axes_have_few_round_numbers() -> None:
    assert list(Axis(0.0, 10.0).ticks()) == [0, 2, 4, 6, 8, 10]
    assert list(Axis(0.9, 40.0, is_logarithmic=True).ticks()) == [1, 3, 10, 30]
    assert Axis(1.0, 100.0, is_logarithmic=True).place(10.0) == 0.5
    assert re.fullmatch(r"0\.\d+|1\.0", str(Axis(0.0, 3.0).place(1.0)))


def test_both_forms_say_when_and_on_what_was_measured() -> None:
    measured = document(outcome())["measured"]
    cores = len(os.sched_getaffinity(0))
    assert (measured["cores"], measured["client"]) == (
        cores,
        f"wsnode {version('wsnode')}, Python {platform.python_version()}",
    )
    assert datetime.fromisoformat(measured["date"]).tzinfo is UTC
    text = page(outcome())
    for words in (measured["machine"], f"{cores} core", measured["system"], measured["client"]):
        assert escape(words) in text
    assert datetime.now(UTC).date().isoformat() in text


def test_dashed_lines_have_a_legend_and_wide_tables_scroll_by_themselves() -> None:
    text = page(outcome())
    legend = '<p class="legend"><span class="line"></span> p50 <span class="line dashed"></span> p99</p>'
    dashed = re.findall(r"<svg(?:(?!</svg>).)* dashed.*?</svg>(<p.*?</p>)?", text, re.S)
    assert dashed
    assert set(dashed) == {legend}
    assert len(re.findall("<table", text)) == len(re.findall(r'<div class="scroll"><table', text)) > 0
