"""Storms on nodes that take connections, refuse them, and do not answer."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from tests.load.answering import answering, converse, refusal, silent
from tests.server.certificates import make_certificate
from wsnode.load.report import storm as report
from wsnode.load.storm.measure import FIRST, LAST, StormPlan, StormResult, measure_storm

ASKERS = 1
"""Connections before a storm."""


def measured(url: str, plan: StormPlan) -> StormResult:
    return measure_storm(url, plan, silent)


@contextmanager
def admitting(most: int, *, answers: bool = True) -> Iterator[str]:
    """Serve a node that admits `most` connections, and refuses further ones or does not answer them."""
    lock, end, count = threading.Lock(), threading.Event(), 0

    def admit(connection: ServerConnection, _request: Request) -> Response | None:
        nonlocal count
        with lock:
            count += 1
            is_admitted = count <= most + ASKERS
        if is_admitted:
            return None
        if not answers:
            end.wait()
        return connection.respond(503, "full")

    with answering(converse, admit) as url:
        yield url
        end.set()


def test_all_connections_are_opened_and_answered() -> None:
    with answering(converse) as url:
        storm = measured(url, StormPlan(connections=40, opening=8))
    assert (storm.opened.replies, storm.held) == (40, 40)
    assert {name: len(each) for name, each in storm.answered.latencies.items()} == {FIRST: 40}
    assert (storm.failures.total(), storm.lost.total()) == (0, 0)


def test_encrypted_connections_are_opened_too(tmp_path: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*make_certificate(tmp_path))
    with answering(converse, tls=tls) as url:
        storm = measured(url, StormPlan(connections=5, opening=2, hold=0.1))
    assert {name: len(each) for name, each in storm.answered.latencies.items()} == {FIRST: 5, LAST: 5}
    assert (storm.failures.total(), storm.held) == (0, 5)


def test_held_connections_are_asked_once_more() -> None:
    with answering(converse) as url:
        storm = measured(url, StormPlan(connections=10, rate=500.0, hold=0.1))
    assert {name: len(each) for name, each in storm.answered.latencies.items()} == {FIRST: 10, LAST: 10}
    assert storm.held == 10
    assert storm.seconds >= 9 / 500


def test_refusals_are_counted_by_their_words() -> None:
    with admitting(5) as url:
        storm = measured(url, StormPlan(connections=12, opening=3))
    assert storm.opened.replies == 5
    assert storm.failures == {"refused: HTTP/1.1 503 Service Unavailable": 7}


def test_connections_without_an_answer_are_given_up() -> None:
    with admitting(5, answers=False) as url:
        storm = measured(url, StormPlan(connections=8, timeout=1.0))
    assert storm.failures == {"no answer to the handshake in 1 s": 3}


def test_connections_that_end_in_the_hold_are_lost() -> None:
    def leave(connection: ServerConnection) -> None:
        for message in connection:
            request = json.loads(message)
            connection.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "0x1"}))
            if request["method"] == "eth_blockNumber":
                return

    with answering(leave) as url:
        storm = measured(url, StormPlan(connections=4, hold=0.2))
    assert storm.opened.replies == 4
    assert (storm.lost.total(), storm.held) == (4, 0)
    assert any(line.startswith("lost later: 4: ") for line in report.lines([storm], StormPlan(4, hold=0.2)))


def test_a_call_that_is_refused_is_a_failure() -> None:
    def refuse(connection: ServerConnection) -> None:
        for message in connection:
            connection.send(refusal(json.loads(message), "no"))

    with answering(refuse) as url:
        storm = measured(url, StormPlan(connections=2))
    assert storm.failures == {"the call was refused: -32000 no": 2}
    assert storm.failure == "no connection was opened: the call was refused: -32000 no"


def test_an_absent_node_is_an_error() -> None:
    with pytest.raises(ConnectionError, match="refused"):
        measured("ws://127.0.0.1:1", StormPlan(connections=2))


def test_the_results_are_told_in_each_form() -> None:
    plan = StormPlan(connections=6, hold=0.01)
    with admitting(4) as url, admitting(6) as other:
        found = [measured(url, plan), measured(other, plan)]
    told = json.loads(json.dumps(report.document(found, plan)))
    assert [node["opened"] for node in told["nodes"]] == [4, 6]
    assert told["nodes"][0]["failures"] == {"refused: HTTP/1.1 503 Service Unavailable": 2}
    page = report.page(found, plan)
    assert "HTTP/1.1 503" in page
    assert page.count("<svg") == 5
