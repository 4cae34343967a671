"""What is counted, and what is logged."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import trio.testing
from prometheus_client.parser import text_string_to_metric_families

from tests.server.conftest import OpenSite, Site
from tests.server.http.test_connection import ONE, client
from wsnode.server.limits import Limits
from wsnode.server.observability.logs import configure


async def metrics(site: Site) -> dict[tuple[str, str], float]:
    """The samples of /metrics, by name and labels."""
    answer = await client(site).ask(b"", "/metrics", "GET")
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, ",".join(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }


async def test_calls_are_counted_by_method_and_outcome(open_site: OpenSite) -> None:
    async with open_site() as site:
        http, peer = client(site), await site.peer()
        for _ in range(3):
            await http.ask(ONE)
        await peer.call("bug")
        await peer.call("absent")
        await peer.call("slices", 2)
        await peer.call("number", "unwanted")
        await peer.send("[" + ",".join([ONE.decode()] * 5) + "]")
        for _ in range(5):
            await peer.reply()
        found = await metrics(site)
        assert found["wsnode_request_seconds_count", "number,test,result"] == 8
        assert found["wsnode_request_seconds_bucket", "+Inf,number,test,result"] == 8
        assert found["wsnode_request_seconds_sum", "number,test,result"] > 0
        assert found["wsnode_request_seconds_count", "number,test,error"] == 1
        assert found["wsnode_request_seconds_count", "slices,test,result"] == 1
        assert found["wsnode_errors_total", "-32603,bug,test"] == 1
        assert found["wsnode_errors_total", "-32602,number,test"] == 1
        assert found["wsnode_unknown_methods_total", "test"] == 1
        assert found["wsnode_messages_total", ""] == 5
        assert found["wsnode_websockets", ""] == 1


async def test_waits_of_calls_with_a_time_limit_are_counted(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        for method in ("slices", "patient"):
            await peer.call(method, 2)
            await peer.reply()
        found = await metrics(site)
        assert found["wsnode_call_wait_seconds_count", "patient,test"] == 1
        assert found["wsnode_calls_not_begun_total", "patient,test"] == 0
        assert ("wsnode_call_wait_seconds_count", "slices,test") not in found


async def test_calls_that_waited_too_long_are_counted(open_site: OpenSite) -> None:
    async with open_site(Limits(call_wait_seconds=0.0001, slice_seconds=0.0001)) as site:
        peer = await site.peer()
        for size in (1000, 1000):
            await peer.call("patient", size)
        errors = [await peer.reply() for _ in range(2)]
        found = await metrics(site)
        refused = sum("error" in each for each in errors)
        assert found["wsnode_calls_not_begun_total", "patient,test"] == refused > 0
        assert found["wsnode_call_wait_seconds_count", "patient,test"] == 2


async def test_refusals_and_closes_are_counted(open_site: OpenSite) -> None:
    async with open_site() as site:
        await site.http("PUT / HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n")
        await site.http("GET /nowhere HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\n\r\n")
        await site.http("nonsense nonsense nonsense")
        peer = await site.peer()
        await peer.send_raw(b"\x83\x00")
        assert await peer.close_code() == 1002
        peer = await site.peer()
        await peer.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        found = await metrics(site)
        assert [found["wsnode_http_errors_total", status] for status in ("405", "404", "400")] == [1, 1, 1]
        assert found["wsnode_websocket_closes_total", "1006"] == 1


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("wsnode")
    before = root.handlers[:], root.level, own.level
    yield
    root.handlers[:], root.level, own.level = before[0], before[1], before[2]


@pytest.mark.usefixtures("restored_logging")
async def test_slow_calls_are_logged_with_their_beginning(open_site: OpenSite) -> None:
    lines = io.StringIO()
    configure("info", "json", lines)
    async with open_site(Limits(slow_seconds=0)) as site:
        peer = await site.peer()
        await peer.call("zeros", 5)
        await peer.reply()
        await peer.call("slices", 1)
        await peer.reply()
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(line["method"], line["params"], line["level"]) for line in logged] == [
        ("zeros", "[5]", "warning"),
        ("slices", "[1]", "warning"),
    ]


@pytest.mark.usefixtures("restored_logging")
def test_both_forms_show_details_and_tracebacks() -> None:
    for form in ("human", "json"):
        lines = io.StringIO()
        configure("warning", form, lines)
        logging.getLogger("wsnode.x").info("not shown")
        try:
            raise ValueError("why")
        except ValueError:
            logging.getLogger("wsnode.x").exception("it failed", extra={"details": {"request": "17"}})
        text = lines.getvalue()
        assert "not shown" not in text
        for part in ("it failed", "17", "ValueError: why"):
            assert part in text
    with pytest.raises(ValueError, match="log format"):
        configure("info", "xml")


async def test_versions_that_are_read_are_shown_by_network(open_site: OpenSite) -> None:
    async with open_site() as site:
        assert (await metrics(site))["wsnode_open_snapshots", "test"] == 0
