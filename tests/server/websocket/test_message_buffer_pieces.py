"""Pieces that are small and many, unfinished, or never read: what each costs others is counted."""

import itertools
import json
import socket
import tracemalloc

import h11
import pytest
import trio
import trio.testing
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Opcode

from tests.server.conftest import NUMBER, OpenSite, Peer, Site, until
from tests.server.websocket.test_connection import slow_reader
from tests.server.websocket.test_frames import compressed, masked
from wsnode.jsonrpc.batch import ITEM_BYTES
from wsnode.server.limits import Limits
from wsnode.server.transport.poller import Reactor
from wsnode.server.transport.transport import SocketTransport
from wsnode.server.websocket.connection import MESSAGE_OVERHEAD
from wsnode.server.websocket.frames import CLOSING_BYTES, FRAME_BYTES, TURN_FRAMES, Framing

MIB = 1024 * 1024
CHUNK = 64 * 1024
POST = b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"


def turns(framing: Framing, data: bytes) -> list[tuple[int, int]]:
    """Return how many messages and how many answers each turn made that `data` took."""
    made = []
    while data or framing.has_more:
        messages = framing.receive(data)
        made.append((len(messages), len(framing.writes)))
        framing.writes, data = [], b""
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "unit"),
    [
        (b"", masked(0x89, b"")),
        (masked(0x01, b""), masked(0x00, b"")),
        (b"", masked(0xC1, b"\x00")),
        (b"", masked(0x01, b"") + masked(0x80, b"")),
    ],
    ids=["pings", "empty fragments", "empty compressed messages", "messages in fragments"],
)
def test_a_turn_reads_so_many_frames_whatever_they_are(before: bytes, unit: bytes) -> None:
    framing = Framing(MIB, [PerMessageDeflate(True, True, 15, 15)])
    framing.receive(before)
    frames = CHUNK // 6
    made = turns(framing, unit * (CHUNK // len(unit)))
    assert len(made) >= frames * 6 // (TURN_FRAMES * len(unit))
    assert all(messages <= TURN_FRAMES and answers <= TURN_FRAMES for messages, answers in made)


def test_pongs_are_passed_over_without_a_parser() -> None:
    framing = Framing(MIB)
    framing.heard = False
    assert framing.receive(masked(0x8A, b"sign of life") * 1000 + masked(0x81, b"{}")) == [b"{}"]
    assert (framing.heard, framing.has_more, framing.is_midway, framing.writes) == (True, False, False, [])


def test_a_turn_inflates_so_many_bytes() -> None:
    framing = Framing(5 * MIB, [PerMessageDeflate(True, True, 15, 15)])
    size = TURN_FRAMES * FRAME_BYTES
    made = turns(framing, masked(0xC1, compressed(b"a" * size)) * 20)
    assert made == [(1, 0)] * 20


def test_once_a_close_was_sent_a_turn_reads_as_little() -> None:
    framing = Framing(MIB)
    framing.close(1001, "")
    framing.writes = []
    made = turns(framing, masked(0x89, b"") * (CHUNK // 6))
    assert max(answers for _, answers in made) <= CLOSING_BYTES // 6 + 1
    assert sum(answers for _, answers in made) == CHUNK // 6


def test_empty_fragments_take_no_room() -> None:
    framing = Framing(MIB)
    framing.receive(masked(0x01, b"ab"))
    for _ in range(20):
        turns(framing, masked(0x00, b"") * 1000)
    assert framing.output_bytes == 2
    assert framing.receive(masked(0x80, b"c")) == [b"abc"]


def test_an_unfinished_message_is_kept_once() -> None:
    framing, frame = Framing(5 * MIB), masked(0x01, b"a" * (4 * MIB))
    tracemalloc.start()
    try:
        for position in range(0, len(frame), CHUNK):
            framing.receive(frame[position : position + CHUNK])
        assert tracemalloc.get_traced_memory()[0] < 5 * MIB
    finally:
        tracemalloc.stop()
    assert framing.output_bytes == 4 * MIB


@pytest.mark.slow
async def test_only_the_last_ping_is_answered_if_nobody_reads(open_site: OpenSite) -> None:
    async with open_site() as site:
        stream = await slow_reader(site)
        for first in range(0, 20_000, 500):
            pings = b"".join(masked(0x89, b"%0125d" % number) for number in range(first, first + 500))
            await stream.send_all(pings)
            await trio.testing.wait_all_tasks_blocked()
            # One that is being sent, and one that waits.
            assert site.server.shared.waiting.used <= 2 * 127
        assert site.server.shared.received.used == 0
        answer = b""
        with trio.fail_after(60):
            while not answer.endswith(b"%0125d" % 19_999):
                answer += await stream.receive_some()
        assert answer.count(b"\x8a\x7d") == len(answer) // 127 <= 3


async def test_a_message_that_does_not_end_is_given_up(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site(Limits(message_seconds=60)) as site:
        site.nursery.start_soon(site.server.keep_alive)
        # Pings are due at other times.
        await trio.sleep(13)
        peer = await site.peer()
        await trio.sleep(5)
        await peer.send_raw(masked(0x01, b"half a "))
        began = trio.current_time()
        # Pings are answered all the time, and pongs are signs of life.
        assert await peer.close_code() == 1008
        assert 60 <= trio.current_time() - began <= 61
        assert site.server.shared.received.used == 0


async def test_a_message_may_have_less_time_than_there_is_between_pings(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site(Limits(message_seconds=2)) as site:
        site.nursery.start_soon(site.server.keep_alive)
        peer = await site.peer()
        await trio.sleep(1)
        await peer.send_raw(masked(0x01, b"half a "))
        await trio.sleep(1.5)
        await peer.send_raw(masked(0x80, b"message"))
        assert (await peer.reply())["error"]["code"] == -32700
        await peer.send_raw(masked(0x01, b"half a "))
        began = trio.current_time()
        assert await peer.close_code() == 1008
        assert 2 <= trio.current_time() - began <= 3


async def test_a_call_in_flight_takes_nothing_of_the_time_of_a_message(
    open_site: OpenSite, mock_clock: trio.testing.MockClock
) -> None:
    async with open_site(Limits(message_seconds=60, batch_seconds=600)) as site:
        site.nursery.start_soon(site.server.keep_alive)
        peer = await site.peer()
        await peer.call("wait")
        for more in (b"", b"", masked(0x01, b"half a "), b""):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(31)
            assert (await peer.frame()).opcode is Opcode.PING
            await peer.send_raw(more)
        await peer.send_raw(masked(0x80, b"message"))
        assert (await peer.reply())["error"]["code"] == -32700
        site.gate.opened = 1


async def test_messages_one_after_another_are_never_given_up(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site(Limits(message_seconds=60)) as site:
        site.nursery.start_soon(site.server.keep_alive)
        peer = await site.peer()
        rest, frame = b"", masked(0x81, (NUMBER % 1).encode())
        # Each receive ends within a message.
        for _ in range(20):
            data = rest + frame + frame
            await peer.send_raw(data[: len(frame) + 10])
            rest = data[len(frame) + 10 :][: len(frame) - 10]
            while (await peer.frame()).opcode is not Opcode.TEXT:
                pass
            await trio.sleep(25)
            await peer.send_raw(rest)
            while (await peer.frame()).opcode is not Opcode.TEXT:
                pass
            rest = b""


async def test_the_request_with_the_largest_body_goes_first(open_site: OpenSite) -> None:
    async with open_site(Limits(input_bytes=150_000)) as site:
        head = POST + b"Content-Length: 100000\r\n\r\n"
        body = b" " * (100_000 - len(NUMBER % 1)) + (NUMBER % 1).encode()
        large, small = site.connect(), site.connect()
        for stream, size in ((large, 90_000), (small, 70_000)):
            await stream.send_all(head + body[:size])
            await trio.testing.wait_all_tasks_blocked()
        assert (await large.receive_some()).startswith(b"HTTP/1.1 503 ")
        await small.send_all(body[70_000:])
        assert (await small.receive_some()).startswith(b"HTTP/1.1 200 ")
        assert site.server.shared.received.used == 0


async def test_requests_that_are_read_ahead_count_as_received(open_site: OpenSite) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[50000]}'
    async with open_site(Limits(outbox_bytes=100_000)) as site:
        received, stream = site.server.shared.received, await slow_reader(site)
        await stream.send_all(masked(0x81, request) * 1000)
        await trio.testing.wait_all_tasks_blocked()
        assert 900 * (len(request) + MESSAGE_OVERHEAD) < received.used < 1000 * (len(request) + 200)
        answers = 0
        with trio.fail_after(60):
            while answers < 1000:
                answers += (await stream.receive_some()).count(b'"result"')
            await until(lambda: received.used == 0)


async def test_messages_of_calls_in_flight_have_a_limit(open_site: OpenSite) -> None:
    async with open_site(Limits(call_bytes=40_000)) as site:
        peer = await site.peer()
        for number in range(4):
            call = {"jsonrpc": "2.0", "id": number, "method": "wait", "params": []}
            await peer.send(json.dumps(call) + " " * 15_000)
        refused = await peer.reply()
        assert refused["error"] == {"code": -32005, "message": "too many calls in flight"}
        # Both messages, and what was read of them.
        assert 60_000 < site.server.shared.received.used < 62_000
        site.gate.opened = 1
        assert {(await peer.reply()).get("result") for _ in range(3)} >= {"passed"}
        await until(lambda: site.server.shared.received.used == 0)


async def test_each_call_of_a_batch_in_flight_counts_beside_its_text(open_site: OpenSite) -> None:
    calls = [{"jsonrpc": "2.0", "id": number, "method": "wait"} for number in range(60)]
    async with open_site(Limits(call_bytes=15_000)) as site:
        peer = await site.peer()
        await peer.send(json.dumps(calls))
        await until(lambda: site.server.shared.received.used > 60 * ITEM_BYTES)
        await peer.call("wait", id=60)
        assert (await peer.reply())["error"] == {"code": -32005, "message": "too many calls in flight"}
        site.gate.opened = 60
        assert len(json.loads(await peer.message())) == 60
        await until(lambda: site.server.shared.received.used == 0)


async def test_notifications_end_a_turn_as_calls_do(open_site: OpenSite) -> None:
    async with open_site(Limits(slice_seconds=0.0001)) as site:
        await site.peer()
        connection = next(iter(site.server._alive))
        text = b'{"jsonrpc":"2.0","method":"zeros","params":[20000]}'
        connection._receive(masked(0x81, text) * 1000)
        assert connection.has_more


def pair(site: Site, reactor: Reactor) -> socket.socket:
    """Return the client's end of a socket that is served."""
    client, server = socket.socketpair()
    client.setblocking(False)
    site.nursery.start_soon(site.server.serve_transport, SocketTransport(server, reactor))
    return client


async def passes_while(client: socket.socket, request: bytes, answers: int, end: bytes) -> int:
    """Return how often another task runs while a request is answered that has arrived whole."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
    client.send(request)
    answer, passes = b"", 0
    with trio.fail_after(60):
        while answer.count(end) < answers:
            await trio.lowlevel.checkpoint()
            passes += 1
            try:
                answer += client.recv(MIB)
            except BlockingIOError:
                continue
    client.close()
    return passes


@pytest.mark.parametrize("form", ["posts", "pages", "chunks"])
async def test_requests_behind_one_another_end_a_turn(open_site: OpenSite, form: str) -> None:
    post = "POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
    text = NUMBER % 1
    requests = {
        "posts": f"{post}Content-Length: {len(text)}\r\n\r\n{text}" * 300,
        "pages": "GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n" * 300,
        "chunks": f"{post}Transfer-Encoding: chunked\r\n\r\n"
        + "".join(f"1\r\n{letter}\r\n" for letter in text + " " * 5000)
        + "0\r\n\r\n",
    }
    ends = {"posts": b'"result"', "pages": b"ok\n", "chunks": b'"result"'}
    reactor = Reactor()
    async with open_site(Limits(slice_seconds=0.0001)) as site:
        site.nursery.start_soon(reactor.run)
        client = pair(site, reactor)
        await trio.testing.wait_all_tasks_blocked()
        answers = 1 if form == "chunks" else 300
        assert await passes_while(client, requests[form].encode(), answers, ends[form]) > 20
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.shared.received.used == 0
    reactor.close()


async def head_of(peer: trio.abc.HalfCloseableStream, request: bytes) -> bytes:
    await peer.send_all(request)
    with trio.fail_after(60):
        return bytes(await peer.receive_some())


@pytest.mark.parametrize("page", ["/healthz", "/readyz", "/", "/nowhere"])
async def test_head_is_answered_as_get_without_a_body(open_site: OpenSite, page: str) -> None:
    async with open_site() as site:
        answers = {}
        for method in ("GET", "HEAD"):
            stream = site.connect()
            request = f"{method} {page} HTTP/1.1\r\nHost: node\r\n\r\n".encode()
            # The connection stays, so that nothing of a body can be left in it.
            answers[method] = [await head_of(stream, request) for _ in range(2)]
        for got, headed in itertools.product(answers["GET"], answers["HEAD"]):
            assert headed == got.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        connection = h11.Connection(h11.CLIENT)
        connection.send(h11.Request(method="HEAD", target=page, headers=[("Host", "node")]))
        connection.receive_data(answers["HEAD"][0])
        assert isinstance(connection.next_event(), h11.Response)


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (b"x-trace, Content-Type", b"x-trace, Content-Type"),
        (b"\xe9", b"Content-Type"),
        (b"a:b", b"Content-Type"),
        (b"a,,b", b"Content-Type"),
    ],
)
async def test_only_names_of_headers_are_allowed_to_pages(
    open_site: OpenSite, asked: bytes, allowed: bytes
) -> None:
    async with open_site() as site:
        request = (
            b"OPTIONS /v3/key HTTP/1.1\r\nHost: node\r\nAccess-Control-Request-Headers: %b\r\n\r\n" % asked
        )
        answer = await head_of(site.connect(), request)
        assert answer.startswith(b"HTTP/1.1 204 ")
        assert b"Access-Control-Allow-Headers: %b\r\n" % allowed in answer


@pytest.mark.parametrize("method", [b"OPTIONS", b"POST"])
async def test_an_origin_is_ascii(open_site: OpenSite, method: bytes) -> None:
    async with open_site() as site:
        request = method + b" /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
        request += b"Origin: http://\xe9\r\nContent-Length: 2\r\n\r\n{}"
        assert (await head_of(site.connect(), request)).startswith(b"HTTP/1.1 400 ")


async def test_a_long_message_is_read_in_a_thread_and_answered(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer: Peer = await site.peer()
        await peer.send((NUMBER % 1) + " " * (300 * 1024))
        await peer.call("number", id=2)
        assert {(await peer.reply())["id"] for _ in range(2)} == {1, 2}
        request = POST + b"Content-Length: 400000\r\n\r\n" + (NUMBER % 3).encode().ljust(400_000)
        answer = await head_of(site.connect(), request)
        assert answer.endswith(b'"result":"0x1"}')
        await until(lambda: site.server.shared.received.used == 0)
