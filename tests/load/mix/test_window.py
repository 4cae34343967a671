"""Windows of requests against a node that takes its time."""

import json

import pytest
from websockets.sync.server import ServerConnection

from tests.load.answering import answering, converse, reply
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import LoadSettings, run_window


def test_however_slow_a_node_is_one_reply_counts() -> None:
    with answering(converse) as url:
        measured = run_window(
            url, [Request("eth_chainId", [])], LoadSettings(connections=1, depth=1, seconds=0)
        )
    assert len(measured.latencies["eth_chainId"]) == 1
    assert measured.seconds > 0


def test_a_node_that_leaves_has_results_until_then() -> None:
    def leave(connection: ServerConnection) -> None:
        for number, message in enumerate(connection):
            connection.send(reply(json.loads(message), "0x1"))
            if number == 9:
                return

    # Nothing is a warm-up at the very beginning, of a run this short.
    with answering(leave) as url:
        found = run_window(url, [Request("eth_chainId", [])] * 4, LoadSettings(1, 1, seconds=0.0001))
        assert found.failure is None
        lost = run_window(url, [Request("eth_chainId", [])] * 4, LoadSettings(1, 1, seconds=600))
    assert lost.failure is not None
    assert lost.seconds == 0


@pytest.mark.slow
def test_a_run_ends_when_it_is_told_to() -> None:
    with answering(converse) as url:
        found = run_window(
            url, [Request("eth_chainId", [])] * 4, LoadSettings(1, 1, seconds=600), hear=lambda _beat: True
        )
    assert found.failure is None
    assert found.busy[0] > 0
