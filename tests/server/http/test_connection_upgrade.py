"""A WebSocket handshake as a later request of a connection (RFC 9110, section 7.8)."""

import h11
import pytest
import trio
import trio.testing

from tests.server.conftest import OpenSite, Peer, Site, read_all
from tests.server.http.test_connection import ONE, RESULT, Client
from wsnode.server.limits import Limits

PATH = "/ws/v3/key"


async def served(site: Site, before: str) -> Client:
    """Return a client that has had one answer, or two, on its connection."""
    client = Client(site.connect())
    if before == "page":
        await client.ask(b"", "/healthz", "GET")
    elif before == "preflight":
        await client.ask(b"", method="OPTIONS", Origin="http://localhost")
    elif before == "batch":
        await client.ask(b"[%b]" % ONE)
    elif before == "chunks":
        await chunked(client)
    else:
        for _ in range(1 + (before == "two calls")):
            assert (await client.ask()).json == RESULT
    return client


async def chunked(client: Client) -> None:
    headers = {"Host": "node", "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    request = h11.Request(method="POST", target="/v3/key", headers=list(headers.items()))
    for event in (request, h11.Data(data=ONE), h11.EndOfMessage()):
        await client.stream.send_all(client.parser.send(event) or b"")
    assert (await client.answer()).json == RESULT


async def called(peer: Peer) -> None:
    await peer.call("number")
    assert await peer.reply() == RESULT


@pytest.mark.parametrize("before", ["call", "two calls", "batch", "page", "preflight", "chunks"])
@pytest.mark.parametrize("deflate", [False, True])
async def test_a_handshake_is_accepted_after_other_requests(
    open_site: OpenSite, before: str, deflate: bool
) -> None:
    async with open_site() as site:
        client = await served(site, before)
        peer = Peer(client.stream, path=PATH, deflate=deflate)
        assert (await peer.open()).status_code == 101
        await called(peer)
        counters = site.server.shared.counters
        assert (counters.connections, counters.websockets, counters.http_serving) == (1, 1, 0)
        await peer.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert (counters.connections, counters.websockets) == (0, 0)


def handshake(path: str = PATH, more: str = "") -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{more}"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


async def test_a_handshake_may_come_byte_by_byte_and_with_its_first_frame(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site() as site:
        client = await served(site, "call")
        # An unmasked frame, which the connection closes for: it was read as a frame.
        request = handshake() + b"\x81\x02[]"
        for place in range(len(request)):
            await client.stream.send_all(request[place : place + 1])
            await trio.testing.wait_all_tasks_blocked()
        answer = await read_all(client.stream)
        head, _, frames = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert frames[:4] == b"\x88" + frames[1:2] + (1002).to_bytes(2, "big")


async def test_a_handshake_right_behind_a_call_waits_for_its_answer(open_site: OpenSite) -> None:
    async with open_site() as site:
        call = (
            f"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(ONE)}\r\n\r\n"
        )
        answer = await site.http(call.encode() + ONE + handshake())
        first, second = answer.split(b"HTTP/1.1 ")[1:]
        assert first.startswith(b"200 ")
        assert first.endswith(b'"result":"0x1"}')
        assert second.startswith(b"101 ")


async def test_a_refused_handshake_is_refused_as_on_a_new_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        for request in (handshake("/nowhere"), handshake(more="Sec-WebSocket-Key: x\r\n")):
            new = await site.http(request)
            client = await served(site, "call")
            await client.stream.send_all(request)
            assert await read_all(client.stream) == new
            assert new.startswith(b"HTTP/1.1 4")


async def test_a_handshake_above_the_bound_of_a_head_is_refused(open_site: OpenSite) -> None:
    async with open_site(Limits(head_bytes=1000)) as site:
        client = await served(site, "call")
        await client.stream.send_all(handshake(more="X: " + "a" * 1000)[:-4])
        answer = await client.stream.receive_some()
        assert bytes(answer).startswith(b"HTTP/1.1 431 ")


async def test_a_handshake_that_does_not_end_is_waited_for_as_long_as_other_requests(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site(Limits(idle_seconds=7)) as site:
        client = await served(site, "call")
        begin = trio.current_time()
        await client.stream.send_all(handshake()[:-2])
        assert await client.stream.receive_some() == b""
        assert trio.current_time() - begin == pytest.approx(7, abs=0.1)


async def test_a_drained_server_refuses_a_handshake_on_a_kept_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        client = await served(site, "call")
        await client.stream.send_all(handshake()[:-2])
        await trio.testing.wait_all_tasks_blocked()
        site.server.shared.draining = True
        await client.stream.send_all(b"\r\n")
        assert bytes(await client.stream.receive_some()).startswith(b"HTTP/1.1 503 ")
