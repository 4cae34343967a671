"""A file of requests sent to a node that remembers them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.server import ServerConnection

from tests.load.answering import answering, refusal, reply, silent
from wsnode.load.replay.measure import (
    MAX_METHODS,
    OTHERS,
    NoRequestsError,
    ReplayPlan,
    ReplayResult,
    measure_replay,
)
from wsnode.load.report import replay as report


@contextmanager
def remembering() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the URL of a node, and the requests that it gets."""
    requests: list[dict[str, Any]] = []

    def converse(connection: ServerConnection) -> None:
        for message in connection:
            request = json.loads(message)
            if request["method"] != "web3_clientVersion":
                requests.append(request)
            answer = refusal(request, "no") if request["method"] == "bad" else reply(request, "0x1")
            connection.send(answer)

    with answering(converse) as url:
        yield url, requests


def written(folder: Path, *requests: dict[str, Any]) -> Path:
    file = folder / "requests.jsonl"
    file.write_text("".join(json.dumps(request) + "\n" for request in requests))
    return file


def test_all_requests_are_sent_with_their_parameters(tmp_path: Path) -> None:
    file = written(tmp_path, *({"id": 1, "method": "good", "params": [number]} for number in range(50)))
    with file.open("a") as more:
        more.write('nonsense\n{"method":"bad","params":{"a":1}}\n')
    plan = ReplayPlan(file, connections=3, depth=2)
    with remembering() as (url, requests):
        found = measure_replay(url, plan, silent)
    assert sorted(each["params"][0] for each in requests if each["method"] == "good") == list(range(50))
    assert len({each["id"] for each in requests}) == 51
    assert (found.sent, found.lines, found.malformed, found.is_paced) == (51, 52, 1, False)
    assert {name: len(each) for name, each in found.measured.latencies.items()} == {"good": 50, "bad": 1}
    assert found.measured.errors == {"bad": 1}
    assert "line 51: " in "".join(report.lines([found], plan))


def test_requests_keep_their_distances_in_time(tmp_path: Path) -> None:
    times = [100.0, 100.2, 100.1, 100.3]
    file = written(tmp_path, *({"method": "good", "params": [time], "time": time} for time in times))
    with remembering() as (url, requests):
        found = measure_replay(url, ReplayPlan(file, connections=1), silent)
    assert [each["params"] for each in requests] == [[time] for time in times]
    assert found.is_paced
    assert found.measured.seconds >= 0.3
    assert len(found.measured.lateness) == 4


@pytest.mark.parametrize("plan", [{"speed": 10_000.0}, {"keeps_time": False}, {"rate": 100.0}], ids=str)
def test_times_may_be_hurried_or_passed_over(plan: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, *({"method": "good", "time": 1000.0 * number} for number in range(4)))
    with remembering() as (url, requests):
        found = measure_replay(url, ReplayPlan(file, connections=2, **plan), silent)
    assert (len(requests), found.measured.replies) == (4, 4)


def test_nothing_is_sent_after_the_end(tmp_path: Path) -> None:
    file = written(tmp_path, {"method": "good", "time": 0}, {"method": "good", "time": 10_000})
    with remembering() as (url, requests):
        found = measure_replay(url, ReplayPlan(file, seconds=0.2), silent)
    assert (len(requests), found.sent) == (1, 1)


def test_a_node_that_leaves_has_results_until_then(tmp_path: Path) -> None:
    def leave(connection: ServerConnection) -> None:
        for number, message in enumerate(connection):
            connection.send(reply(json.loads(message), "0x1"))
            if number == 4:
                return

    file = written(tmp_path, *({"method": "good"} for _ in range(50)))
    with answering(leave) as url:
        found = measure_replay(url, ReplayPlan(file, connections=1, depth=1), silent)
    assert found.failure is not None
    assert found.measured.replies == 5


def test_the_user_may_end_it(tmp_path: Path) -> None:
    file = written(tmp_path, {"method": "good", "time": 0}, {"method": "good", "time": 10_000})
    with remembering() as (url, _):
        found = measure_replay(url, ReplayPlan(file), lambda _text: True)
    assert (found.sent, found.failure) == (1, None)


def test_a_file_without_a_request_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text("nonsense\n")
    with remembering() as (url, _), pytest.raises(NoRequestsError, match="no request in 1 lines; line 1: "):
        measure_replay(url, ReplayPlan(file), silent)


def test_of_very_many_methods_the_later_ones_are_told_together(tmp_path: Path) -> None:
    file = written(tmp_path, *({"method": f"m{number}"} for number in range(MAX_METHODS + 100)))
    with remembering() as (url, _):
        found = measure_replay(url, ReplayPlan(file, connections=1, depth=1), silent)
    assert len(found.measured.latencies) == MAX_METHODS + 1
    assert len(found.measured.latencies[OTHERS]) == 100


def test_the_results_are_told_in_each_form(tmp_path: Path) -> None:
    file = written(tmp_path, {"method": "<good>"}, {"method": "bad"})
    plan = ReplayPlan(file)
    with remembering() as (url, _):
        found: list[ReplayResult] = [measure_replay(url, plan, silent) for _ in range(2)]
    told = json.loads(json.dumps(report.document(found, plan)))
    assert [node["methods"]["bad"]["errors"] for node in told["nodes"]] == [1, 1]
    page = report.page(found, plan)
    assert "&lt;good&gt;" in page
    assert "<good>" not in page
