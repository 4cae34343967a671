"""The forms of a request's target (RFC 9112, section 3.2): a path, a whole URL, and `*`."""

import json

import pytest
import trio.testing

from tests.server.conftest import Gate, OpenSite, View, registry
from tests.server.http.test_connection import ONE, RESULT, client, post
from wsnode.server.access.origin_policy import OriginPolicy
from wsnode.server.access.request_errors import HttpRequestRefusedError
from wsnode.server.access.router import Network, RequestTarget, target_of
from wsnode.server.server import Server


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", RequestTarget("header", "/")),
        ("/v3/key?a=//b", RequestTarget("header", "/v3/key?a=//b")),
        ("*", RequestTarget("header", "*")),
        ("node:8545", RequestTarget("header", "node:8545")),
        ("ftp://host/", RequestTarget("header", "ftp://host/")),
        ("http://host/", RequestTarget("host", "/")),
        ("http://host", RequestTarget("host", "/")),
        ("HTTPS://Host:8545?a=1", RequestTarget("Host:8545", "/?a=1")),
        ("ws://[::1]:8545/ws/v3/key?min_block=0x1", RequestTarget("[::1]:8545", "/ws/v3/key?min_block=0x1")),
        ("wss://host/a@b", RequestTarget("host", "/a@b")),
    ],
)
def test_the_host_and_the_path_of_a_target(text: str, expected: RequestTarget) -> None:
    assert target_of("header", text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http:///", "names no host"),
        ("http://", "names no host"),
        ("http://:8545/", "names no host"),
        ("http://user@host/", "names a user"),
        ("http://user:word@host/", "names a user"),
    ],
)
def test_a_url_that_names_no_place_is_refused(text: str, words: str) -> None:
    with pytest.raises(HttpRequestRefusedError, match=words) as refused:
        target_of("header", text)
    assert refused.value.status == 400


async def test_a_whole_url_is_answered_as_its_path_is(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        for target in ("http://node/", "http://other.example:8545", "https://node/v3/key?x=1"):
            answer = await http.ask(target=target)
            assert (answer.status, answer.json) == (200, RESULT)
        health = await http.ask(b"", "http://node/healthz", "GET")
        assert (health.status, health.body) == (200, b"ok\n")
        assert (await http.ask(target="http://node/v2")).status == 404
        refused = await client(site).ask(target="http://user@node/")
        assert (refused.status, refused.json["error"]["message"]) == (
            400,
            "the URL of the request names a user",
        )


async def test_a_handshake_for_a_whole_url_is_accepted(open_site: OpenSite) -> None:
    head = (
        "GET http://node/ws/v3/key HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    async with open_site() as site:
        assert (await site.http(head)).startswith(b"HTTP/1.1 101 ")
        # The path decides, as without the host.
        assert (await site.http(head.replace("/ws/v3", "/v3"))).startswith(b"HTTP/1.1 404 ")


async def test_the_urls_own_host_is_checked_and_chooses_the_network() -> None:
    networks = [
        Network(name, registry(), lambda _caller: View(Gate()), hosts=[f"{name}.example"])
        for name in ("one", "two")
    ]
    origin_policy = OriginPolicy.local(["one.example"], None)
    server = Server(networks, origin_policy=origin_policy)

    async def status(target: str) -> int:
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.serve_stream, theirs)
            await ours.send_all(post(ONE, target=target).replace(b"Host: node", b"Host: one.example"))
            answer = bytes(await ours.receive_some())
            await ours.aclose()
        return int(answer.split(b" ", 2)[1])

    assert await status("/") == 200
    assert await status("http://one.example/") == 200
    # A web page reaches the node under the page's own name, whatever its Host header says.
    assert await status("http://two.example/") == 403
    assert await status("http://localhost/") == 404


async def test_options_for_the_server_itself_names_the_verbs(open_site: OpenSite) -> None:
    async with open_site() as site:
        answer = await client(site).ask(b"", "*", "OPTIONS")
        assert (answer.status, answer.headers["allow"]) == (204, "POST, GET, HEAD, OPTIONS")
        assert json.loads((await client(site).ask(b"", "*", "POST")).body)["error"]["message"] == "not found"
