"""The HTTP shim: JSON-RPC by POST, what else may be asked, and what is refused with which status."""

import gzip
import json
import random
from typing import Any

import h11
import pytest
import trio
import trio.testing
import zstandard

from tests.server.conftest import NUMBER, OpenSite, Site, read_all, until
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.access.origin_policy import OriginPolicy
from wsnode.server.limits import Limits
from wsnode.server.scheduling.executor import SHORT_THREADS
from wsnode.server.transport.transport import StreamTransport

ONE = (NUMBER % 1).encode()
RESULT = {"jsonrpc": "2.0", "id": 1, "result": "0x1"}


class Answer:
    def __init__(self, response: h11.Response, body: bytes) -> None:
        self.status = response.status_code
        self.headers = {name.decode(): value.decode() for name, value in response.headers}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Requests on one connection, with h11 as the judge of what comes back."""

    def __init__(self, stream: trio.abc.HalfCloseableStream) -> None:
        self.stream = stream
        self.parser = h11.Connection(h11.CLIENT)

    async def ask(
        self, body: bytes = ONE, target: str = "/v3/key", method: str = "POST", **headers: str
    ) -> Answer:
        named = {"Host": "node", "Content-Type": "application/json", "Content-Length": str(len(body))}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = h11.Request(method=method, target=target, headers=list(named.items()))
        await self.stream.send_all(self.parser.send(request) or b"")
        if body:
            await self.stream.send_all(self.parser.send(h11.Data(data=body)) or b"")
        await self.stream.send_all(self.parser.send(h11.EndOfMessage()) or b"")
        return await self.answer()

    async def answer(self) -> Answer:
        parts: list[bytes] = []
        response = None
        while True:
            event = self.parser.next_event()
            if event is h11.NEED_DATA:
                self.parser.receive_data(bytes(await self.stream.receive_some()))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                assert response is not None
                if self.parser.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                    self.parser.start_next_cycle()
                return Answer(response, b"".join(parts))


def client(site: Site) -> Client:
    return Client(site.connect())


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


async def test_a_post_is_answered_and_the_connection_stays(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        for target in ("/v3/key", "/v3/", "/", "/v3/key?x=1"):
            answer = await http.ask(target=target)
            assert (answer.status, answer.json) == (200, RESULT)
            assert answer.headers["content-type"] == "application/json"


async def test_batches_errors_and_notifications(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        assert (await http.ask(b"[%b,%b]" % (ONE, ONE))).json == [RESULT, RESULT]
        assert (await http.ask(b"{")).json["error"]["code"] == -32700
        assert (await http.ask(b"\xff")).json["error"]["code"] == -32700
        assert (await http.ask(b'{"jsonrpc":"2.0","method":"number"}')).body == b""
        assert (await http.ask(b"")).body == b""
        assert (await http.ask(b'{"jsonrpc":"2.0","id":1,"method":"bug"}')).json["error"]["code"] == -32603


async def test_slow_calls_are_waited_for_and_what_is_pipelined_behind_them_is_answered(
    open_site: OpenSite,
) -> None:
    async with open_site() as site:
        stream = site.connect()
        slow = post(b'{"jsonrpc":"2.0","id":9,"method":"wait"}')
        await stream.send_all(post(ONE) + slow + post(ONE))
        answer = b""
        while not answer.count(b"HTTP/1.1 200"):
            answer += await stream.receive_some()
        await stream.send_all(post(NUMBER.encode() % b'"last"'))
        await until(lambda: site.gate.entered > 0)
        site.gate.opened = 1
        while answer.count(b"result") < 4:
            answer += await stream.receive_some()
        order = [answer.index(text) for text in (b'"id":1', b'"passed"', b'"last"')]
        assert order == sorted(order)


def post(body: bytes, *headers: str, target: str = "/v3/key") -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Host: node", "Content-Type: application/json", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_a_client_that_leaves_takes_its_slow_call_with_it(open_site: OpenSite) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(post(b'{"jsonrpc":"2.0","id":9,"method":"wait"}'))
        await until(lambda: site.gate.entered > 0)
        await stream.aclose()
        await until(lambda: not site.server.connections)
        assert site.gate.cancelled == 1


async def test_a_chunked_body_is_put_together(open_site: OpenSite) -> None:
    async with open_site() as site:
        body = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (ONE[:5], len(ONE) - 5, ONE[5:])
        assert b'"result":"0x1"' in await site.http(post(body, "Transfer-Encoding: chunked"))


async def test_a_client_that_expects_to_be_asked_is_asked(open_site: OpenSite) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(post(b"", f"Content-Length: {len(ONE)}", "Expect: 100-continue"))
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 100 ")
        await stream.send_all(ONE)
        assert b'"result":"0x1"' in await stream.receive_some()


REFUSED: dict[str, tuple[str | bytes, int]] = {
    "another method": ("PUT /v3/key HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n", 405),
    "DELETE": ("DELETE / HTTP/1.1\r\nHost: n\r\n\r\n", 405),
    "an unknown path": ("POST /v2/key HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n", 404),
    "a path too long": ("POST /v3/key/more HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n", 404),
    "GET of an unknown path": ("GET /favicon.ico HTTP/1.1\r\nHost: n\r\n\r\n", 404),
    "GET of the socket's path": ("GET /ws/v3/key HTTP/1.1\r\nHost: n\r\n\r\n", 426),
    "POST to the socket's path": (post(ONE, target="/ws/v3/key"), 426),
    "no content type": ("POST /v3/key HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n", 415),
    "another content type": (post(ONE).replace(b"application/json", b"text/plain"), 415),
    "another content encoding": (post(ONE, "Content-Encoding: br"), 415),
    "a damaged encoding": (post(ONE, "Content-Encoding: gzip"), 400),
    "a body too large": (post(b"", "Content-Length: 100000"), 413),
    "chunks too large together": (post(b"1000\r\n" + b" " * 4096, "Transfer-Encoding: chunked"), 413),
    "a body too large when inflated": (post(gzip.compress(b" " * 9000), "Content-Encoding: gzip"), 413),
    "zstd too large": (post(zstandard.compress(b" " * 9000), "Content-Encoding: zstd"), 413),
    "a head too large": (b"GET / HTTP/1.1\r\nHost: n\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    "a head without end": (b"GET / HTTP/1.1\r\nHost: n\r\nX: " + b"x" * 20_000, 431),
    "no HTTP at all": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello hello", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "two lengths": (post(ONE, "Content-Length: 3", "Content-Length: 4"), 400),
    "a length and chunks": (post(b"0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"), 400),
    "a length that is none": (post(ONE, "Content-Length: +5"), 400),
    "an unknown transfer encoding": (post(ONE, "Transfer-Encoding: gzip"), 501),
    "a space before the colon": (b"GET / HTTP/1.1\r\nHost : n\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\nHost: n\r\nX: a\r\n\x00b\r\n\r\n", 400),
    "a control character": (b"GET / HTTP/1.1\r\nHost: n\x00\r\n\r\n", 400),
    "a bad handshake": (
        b"GET / HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        400,
    ),
    "a handshake of another version": (
        b"GET / HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n\r\n",
        400,
    ),
    "a handshake by POST": (
        b"POST / HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
        405,
    ),
    "a handshake without connection": (b"GET / HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\n\r\n", 426),
    "a handshake elsewhere": (b"GET /v3/key HTTP/1.1\r\nHost: n\r\nUpgrade: websocket\r\n\r\n", 404),
    "a handshake for two hosts": (b"GET / HTTP/1.1\r\nHost: n\r\nHost: m\r\nUpgrade: websocket\r\n\r\n", 400),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_wrong_is_refused_with_its_status_and_a_json_rpc_error(
    open_site: OpenSite, case: str
) -> None:
    request, status = REFUSED[case]
    async with open_site(Limits(body_bytes=4000)) as site:
        answer = await site.http(request)
        assert status_of(answer) == status
        error = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert error["id"] is None
        assert error["error"]["code"] == -32600
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.connections == 0


def of_head(size: int, *headers: str) -> bytes:
    """Return a request whose head has `size` bytes."""
    short = post(ONE, *headers, "X: ")
    return post(ONE, *headers, "X: " + "x" * (size + len(ONE) - len(short)))


@pytest.mark.parametrize(
    "headers",
    [pytest.param((), id="plain"), pytest.param(("TE: trailers",), id="read by the parser")],
)
@pytest.mark.parametrize("pieces", [1, 3])
async def test_the_bound_of_a_head_holds_for_every_request_of_a_connection(
    open_site: OpenSite, headers: tuple[str, ...], pieces: int
) -> None:
    async with open_site(Limits(head_bytes=2000)) as site:
        stream = site.connect()
        for size in (300, 2000, 2001):
            request = of_head(size, *headers)
            length = -(-len(request) // pieces)
            for start in range(0, len(request), length):
                await stream.send_all(request[start : start + length])
                await trio.testing.wait_all_tasks_blocked()
            answer = await stream.receive_some()
            assert status_of(bytes(answer)) == (200 if size <= 2000 else 431), size
        assert await stream.receive_some() == b""


async def test_a_long_head_behind_another_request_is_refused(open_site: OpenSite) -> None:
    async with open_site(Limits(head_bytes=2000)) as site:
        stream = site.connect()
        await stream.send_all(post(ONE) + of_head(2001))
        answer = await read_all(stream)
        assert [int(part[:4]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 431]


@pytest.mark.parametrize("before", [b"", post(ONE)], ids=["first", "second"])
async def test_a_long_head_of_a_head_request_is_refused_without_a_body(
    open_site: OpenSite, before: bytes
) -> None:
    async with open_site(Limits(head_bytes=2000)) as site:
        stream = site.connect()
        await stream.send_all(before + b"HEAD / HTTP/1.1\r\nHost: n\r\nX: " + b"x" * 2000 + b"\r\n\r\n")
        answer = (await read_all(stream)).split(b"HTTP/1.1 ")[-1]
        assert int(answer[:4]) == 431
        assert answer.partition(b"\r\n\r\n")[2] == b""


async def test_a_head_request_is_refused_without_a_body_whatever_the_reason(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    unfinished = b"HEAD / HTTP/1.1\r\nHost: n\r\n"
    upgrade = unfinished + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with open_site() as site:
        for request, status in ((unfinished, 408), (upgrade, 405)):
            stream = site.connect()
            await stream.send_all(request)
            answer = await read_all(stream)
            assert status_of(answer) == status
            assert answer.partition(b"\r\n\r\n")[2] == b""


async def test_bodies_and_replies_are_compressed_as_asked(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        assert (await http.ask(gzip.compress(ONE), Content_Encoding="gzip")).json == RESULT
        assert (await http.ask(zstandard.compress(ONE), Content_Encoding="zstd")).json == RESULT
        for size in (5000, 500_000):
            zeros = b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[%d]}' % size
            answer = await http.ask(zeros, Accept_Encoding="br, gzip;q=0.5")
            assert answer.headers["content-encoding"] == "gzip"
            assert len(json.loads(gzip.decompress(answer.body))["result"]) == size
            answer = await http.ask(zeros, Accept_Encoding="gzip, zstd")
            assert answer.headers["content-encoding"] == "zstd"
            assert len(json.loads(zstandard.decompress(answer.body))["result"]) == size
            answer = await http.ask(zeros, Accept_Encoding="gzip;q=0")
            assert len(answer.json["result"]) == size
        assert "content-encoding" not in (await http.ask(Accept_Encoding="gzip")).headers


async def test_content_types_that_pass(open_site: OpenSite) -> None:
    async with open_site() as site:
        for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json-rpc"):
            assert status_of(await site.http(post(ONE).replace(b"application/json", kind.encode()))) == 200


async def test_browsers_of_any_origin_may_ask_unless_some_are_named(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        answer = await http.ask(b"", method="OPTIONS", Origin="https://wallet.example")
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "POST" in answer.headers["access-control-allow-methods"]
        wanted = "content-type,sentry-trace"
        answer = await http.ask(
            b"", method="OPTIONS", Origin="https://a.example", Access_Control_Request_Headers=wanted
        )
        assert answer.headers["access-control-allow-headers"] == wanted
        refused = await client(site).ask(target="/elsewhere", Origin="https://a.example")
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (404, "*")
        assert (await http.ask(Origin="https://wallet.example")).headers["access-control-allow-origin"] == "*"
    async with open_site(origin_policy=OriginPolicy.of_origins(["https://wallet.example"])) as site:
        http = client(site)
        answer = await http.ask(Origin="https://wallet.example")
        assert answer.headers["access-control-allow-origin"] == "https://wallet.example"
        assert (await http.ask()).status == 200
        assert (await http.ask(Origin="https://other.example")).status == 403


async def test_a_page_of_an_allowed_origin_may_reach_a_private_network(open_site: OpenSite) -> None:
    asked = {"method": "OPTIONS", "Access_Control_Request_Private_Network": "true"}
    name = "access-control-allow-private-network"
    async with open_site(origin_policy=OriginPolicy.of_origins(["https://wallet.example"])) as site:
        http = client(site)
        answer = await http.ask(b"", Origin="https://wallet.example", **asked)
        assert (answer.status, answer.headers[name]) == (204, "true")
        # A client without a request gets no response.
        answer = await http.ask(b"", method="OPTIONS", Origin="https://wallet.example")
        assert name not in answer.headers
        answer = await http.ask(b"", Origin="https://other.example", **asked)
        assert answer.status == 403
        assert name not in answer.headers


async def test_the_health_pages(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        assert (await http.ask(b"", "/healthz", "GET")).body == b"ok\n"
        assert (await http.ask(b"", "/readyz", "GET")).status == 200
        assert (await http.ask(b"", "/v3/key", "GET")).body == b""
        site.server.shared.draining = True
        assert (await http.ask(b"", "/readyz", "GET")).status == 503


async def test_the_head_and_the_next_request_have_their_time(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site() as site:
        stream, began = site.connect(), trio.current_time()
        await stream.send_all(b"GET / HT")
        assert status_of(bytes(await stream.receive_some())) == 408
        assert trio.current_time() - began == pytest.approx(10)

        http = client(site)
        await http.ask(b"", "/healthz", "GET")
        began = trio.current_time()
        assert await http.stream.receive_some() == b""
        assert trio.current_time() - began == pytest.approx(120)


async def test_a_body_has_its_time(open_site: OpenSite, autojump_clock: trio.testing.MockClock) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(post(b"", "Content-Length: 5"))
        assert status_of(bytes(await stream.receive_some())) == 408


async def test_a_drain_waits_for_calls_and_ends_their_connections(open_site: OpenSite) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(post(b'{"jsonrpc":"2.0","id":1,"method":"wait"}'))
        await until(lambda: site.gate.entered == 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(site.server.drain)
            await until(lambda: not site.server.ready)
            site.gate.opened = 1
            answer = await read_all(stream)
        assert b"Connection: close" in answer
        assert answer.endswith(b'"result":"passed"}')


async def test_a_drain_ends_idle_connections_at_once(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        assert (await http.ask()).status == 200
        await site.server.drain()
        assert await http.stream.receive_some() == b""


async def test_bodies_and_replies_count_while_they_wait_for_a_thread(open_site: OpenSite) -> None:
    async with open_site() as site:
        shared = site.server.shared
        for _ in range(SHORT_THREADS):
            site.nursery.start_soon(shared.executor.short_work.run, ClientId(), site.gate.pass_through)
        await until(lambda: site.gate.entered == SHORT_THREADS)
        noise = random.Random(1).randbytes(200_000).hex()
        body = gzip.compress(
            b'{"jsonrpc":"2.0","id":1,"method":"number","params":[],"x":"%b"}' % noise.encode()
        )
        sent, asked = site.connect(), site.connect()
        await sent.send_all(post(body, "Content-Encoding: gzip"))
        await asked.send_all(
            post(b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[300000]}', "Accept-Encoding: gzip")
        )
        await until(lambda: shared.received.used > shared.limits.body_bytes and shared.waiting.used > 0)
        assert shared.received.used == len(body) + shared.limits.body_bytes
        assert 300_000 < shared.waiting.used < 301_000
        site.gate.opened = 1
        for stream in (sent, asked):
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200 ")
        await until(lambda: (shared.received.used, shared.waiting.used) == (0, 0))


async def test_a_large_reply_counts_once_until_it_is_read(open_site: OpenSite) -> None:
    async with open_site() as site:
        requests, taken = trio.testing.memory_stream_one_way_pair()
        replies, read = trio.testing.lockstep_stream_one_way_pair()
        site.nursery.start_soon(site.server.serve_stream, trio.StapledStream(replies, taken))
        await requests.send_all(post(b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[300000]}'))
        waiting, answer = site.server.shared.waiting, b""
        await until(lambda: waiting.used > 0)
        assert 300_000 < waiting.used < 301_000
        while not answer.endswith(b'"}'):
            answer += await read.receive_some()
        await until(lambda: waiting.used == 0)


async def test_requests_that_wait_their_turn_count_and_go_with_the_largest(open_site: OpenSite) -> None:
    sent = post(ONE) * (60 * 1024 // len(post(ONE)))
    limit = 3 * len(sent)
    async with open_site(Limits(input_bytes=limit, slice_seconds=0.0)) as site:
        shared, answers = site.server.shared, list[bytes]()
        await shared.executor.turns.acquire(None)

        async def ask() -> None:
            client, server = trio.testing.memory_stream_pair()
            site.nursery.start_soon(site.server.serve_transport, StreamTransport(server), ClientId("one"))
            await client.send_all(sent)
            await client.send_eof()
            answers.append(await read_all(client))

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            assert 0 < shared.received.used <= limit / 2
            shared.executor.turns.release(None)
        counts = [(answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 503")) for answer in answers]
        # How much one has answered by the time that it goes is up to the clock.
        assert sorted(refused for _, refused in counts) == [0, 1, 1, 1]
        assert [answered == sent.count(b"POST") for answered, refused in counts] == [
            not refused for _, refused in counts
        ]
        for answer in answers:
            assert (
                answer.count(b"Connection: close")
                == answer.count(b" 503 ")
                == answer.count(b"Retry-After: 1")
            )
        assert shared.received.used == 0


async def test_a_connection_that_is_given_up_while_it_answers_says_so_behind_that_answer(
    open_site: OpenSite,
) -> None:
    sent = post(ONE) * (60 * 1024 // len(post(ONE)))
    async with open_site(Limits(input_bytes=7 * len(sent) // 2)) as site:
        received, client = site.server.shared.received, ClientId("one")
        largest, theirs = trio.testing.lockstep_stream_pair()
        site.nursery.start_soon(site.server.serve_transport, StreamTransport(theirs), client)
        await largest.send_all(sent)
        answer = bytes(await largest.receive_some())
        await until(lambda: received.used > 0)
        other, there = trio.testing.memory_stream_pair()
        site.nursery.start_soon(site.server.serve_transport, StreamTransport(there), client)
        await other.send_all(sent[len(post(ONE)) * 4 :])
        await until(lambda: received.used < len(sent) - 2 * len(post(ONE)))
        await other.send_eof()
        await read_all(other)
        answer += await read_all(largest)
        assert (answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 503")) == (2, 1)
        assert answer.count(b"Connection: close") == 1


async def test_a_connection_that_is_given_up_with_its_last_answer_is_told_nothing_more(
    open_site: OpenSite,
) -> None:
    large, many = post(ONE + b" " * 50_000), post(ONE) * (45_000 // len(post(ONE)))
    async with open_site(Limits(input_bytes=150_000)) as site:
        received, client = site.server.shared.received, ClientId("one")
        first, theirs = trio.testing.lockstep_stream_pair()
        site.nursery.start_soon(site.server.serve_transport, StreamTransport(theirs), client)
        await first.send_all(post(ONE) + large)
        answer = bytes(await first.receive_some())
        await until(lambda: received.used > 50_000)
        other, theirs = trio.testing.lockstep_stream_pair()
        site.nursery.start_soon(site.server.serve_transport, StreamTransport(theirs), client)
        await other.send_all(many)
        await other.receive_some()
        await until(lambda: received.used < 50_000)
        answer += await read_all(first)
        assert (answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 503")) == (2, 0)


async def test_a_call_that_is_given_up_is_answered_once_and_ends_its_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        received, stream = site.server.shared.received, site.connect()
        await stream.send_all(post(b'{"jsonrpc":"2.0","id":9,"method":"wait"}'))
        await until(lambda: site.gate.entered == 1)
        await stream.send_all(post(ONE))
        await trio.testing.wait_all_tasks_blocked()
        for connection in list(received._holders):
            connection.evict()
        await stream.send_eof()
        answer = await read_all(stream)
        assert answer.count(b"HTTP/1.1 503 ") == answer.count(b"HTTP/1.1 ") == 1
        assert b"Connection: close" in answer
        assert received.used == 0
