"""Windows of requests against a node that takes its time."""

from tests.load.answering import answering, converse
from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import Pattern, run_window


def test_however_slow_a_node_is_one_reply_counts() -> None:
    with answering(converse) as url:
        measured = run_window(url, [Request("eth_chainId", [])], Pattern(connections=1, depth=1, seconds=0))
    assert len(measured.latencies["eth_chainId"]) == 1
    assert measured.seconds > 0
