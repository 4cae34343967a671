"""A hundred thousand mutated conversations: each ends well-formed, and nothing of it stays behind."""

import itertools
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import h11
import pytest
import trio
from websockets.client import ClientProtocol
from websockets.frames import CTRL_OPCODES, Frame
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

from tests.server.conftest import NUMBER, Gate, View, registry
from tests.server.feed import Feed
from tests.server.http.test_connection import ONE, post
from tests.server.websocket.test_frames import compressed, masked
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.poller import FastConnection, Take

pytestmark = pytest.mark.slow

MAX_TURNS = 20_000
"""Of the loop, for one conversation; some take 24."""
HANDSHAKE = (
    b"GET /ws/v3/key HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
TEXTS = [
    ONE,
    b"[%b,%b,5,{}]" % (ONE, ONE),
    b'{"jsonrpc":"2.0","id":"\\ud800\xc3\xa9","method":"zeros","params":[40]}',
    b'{"jsonrpc":"2.0","id":null,"method":"slices","params":[3]}',
    b'{"jsonrpc":"2.0","method":"bug"}',
    b'{"jsonrpc":"2.0","id":1e5,"method":"late_zeros","params":[3000]}',
    b'{"jsonrpc":"2.0","id":2,"method":"rpc_limits","params":null}',
    b'{"jsonrpc":"2.0","id":3,"method":"subscribe","params":[]}',
    b'[{"jsonrpc":"2.0","id":4,"method":"subscribe","params":[0]},%b]' % ONE,
    b'{"jsonrpc":"2.0","id":5,"method":"publish","params":[4,300]}',
    b'{"jsonrpc":"2.0","id":6,"method":"unsubscribe","params":["0x%b"]}' % (b"0" * 32),
    b'{"a":[{"b":[1.5e3,-0,true,"\\u00e9"]}],"jsonrpc":"2.0","id":{},"method":7}',
]
FRAMES = [
    *(masked(first, text) for text in TEXTS for first in (0x81, 0x82)),
    *(masked(0xC1, compressed(text)) for text in TEXTS[:4]),
    masked(0x01, ONE[:9]) + masked(0x89, b"ping") + masked(0x80, ONE[9:]),
    masked(0x8A, b""),
    masked(0x88, b"\x03\xe8bye"),
    masked(0x81, NUMBER.encode() % b'"x"', width=127),
]
REQUESTS = [
    post(ONE),
    post(b"%x\r\n%b\r\n0\r\n\r\n" % (len(ONE), ONE), "Transfer-Encoding: chunked"),
    post(TEXTS[1], "Accept-Encoding: gzip, zstd", "Origin: https://a.example"),
    b"GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n",
    b"OPTIONS /v3/x HTTP/1.1\r\nHost: n\r\nOrigin: null\r\n\r\n",
    b"GET /metrics HTTP/1.0\r\n\r\n",
]


class Script:
    """A transport whose client says what it has to say, in pieces, and leaves."""

    def __init__(self, pieces: list[bytes], chance: random.Random) -> None:
        self.pieces = pieces
        self.chance = chance
        self.answer = bytearray()
        self.woken = False

    @property
    def ready(self) -> int:
        return self.chance.randrange(1, 100)

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return self.pieces.pop(0) if self.pieces else b""

    async def feed(self, take: Take, peer: str | None = None, plain: FastConnection | None = None) -> bool:
        while data := await self.receive():
            if not take(data) or self.woken:
                self.woken = False
                return True
        return False

    def receive_nowait(self) -> None:
        return

    def feed_nowait(self) -> bool:
        return False

    def wake(self) -> None:
        self.woken = True

    def send_nowait(self, data: bytes | memoryview) -> int:
        taken = len(data) if self.chance.random() < 0.8 else self.chance.randrange(len(data) + 1)
        self.answer += data[:taken]
        return taken

    async def send_some(self, data: memoryview) -> int:
        await trio.lowlevel.checkpoint()
        if self.chance.random() < 0.01:
            raise trio.BrokenResourceError
        return self.send_nowait(bytes(data)) or self.send_nowait(bytes(data))

    async def send_eof(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def mutate(text: bytes, chance: random.Random) -> bytes:
    """`text` with a few bytes changed, lost, doubled or put in."""
    data = bytearray(text)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                del data[place : place + chance.randrange(1, 9)]
            case 2:
                data[place:place] = chance.randbytes(chance.randrange(1, 5))
            case 3:
                data[place:place] = data[place : place + chance.randrange(1, 40)]
            case _ if place < len(data):
                data[place] = chance.choice(b'\x00\xff{}[]"\\,:\r\n 0')
    return bytes(data)


def conversation(chance: random.Random) -> bytes:
    """What one client says."""
    if chance.random() < 0.3:
        return b"".join(mutate(chance.choice(REQUESTS), chance) for _ in range(chance.randrange(1, 4)))
    head = HANDSHAKE + (DEFLATE if chance.random() < 0.3 else b"") + b"\r\n"
    if chance.random() < 0.2:
        head = mutate(head, chance)
    said = [head]
    for _ in range(chance.randrange(1, 12)):
        if chance.random() < 0.5:
            said.append(masked(chance.choice([0x81, 0x82]), mutate(chance.choice(TEXTS), chance)))
        else:
            said.append(mutate(chance.choice(FRAMES), chance))
    return b"".join(said)


def pieces(said: bytes, chance: random.Random) -> list[bytes]:
    """`said` cut at random places."""
    cuts = sorted({0, len(said), *(chance.randrange(len(said) + 1) for _ in range(chance.randrange(4)))})
    return [said[start:stop] for start, stop in itertools.pairwise(cuts)]


def judge(answer: bytes) -> None:
    """Fail unless `answer` is what HTTP or WebSocket allows."""
    if answer.startswith(b"HTTP/1.1 101"):
        judge_websocket(answer)
    elif answer:
        judge_http(answer)


def judge_websocket(answer: bytes) -> None:
    client = ClientProtocol(parse_uri("ws://node/"), state=State.OPEN, max_size=None)
    head, _, frames = answer.partition(b"\r\n\r\n")
    if b"permessage-deflate" in head:
        return
    client.receive_data(frames)
    assert client.parser_exc is None
    parts: list[bytes] = []
    for event in client.events_received():
        assert not isinstance(event, Response)
        assert isinstance(event, Frame)
        if event.opcode in CTRL_OPCODES:
            continue
        parts.append(bytes(event.data))
        if event.fin:
            judge_reply(b"".join(parts))
            parts = []


def judge_http(answer: bytes) -> None:
    client = h11.Connection(h11.CLIENT)
    while answer:
        client.send(h11.Request(method="POST", target="/", headers=[("Host", "n"), ("Content-Length", "0")]))
        client.send(h11.EndOfMessage())
        client.receive_data(answer)
        while (event := client.next_event()) is not h11.NEED_DATA and not isinstance(event, h11.EndOfMessage):
            assert isinstance(event, h11.Response | h11.InformationalResponse | h11.Data)
        if client.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return
        answer = client.trailing_data[0]
        client = h11.Connection(h11.CLIENT)


def judge_reply(text: bytes) -> None:
    replies = json.loads(text)
    for reply in replies if isinstance(replies, list) else [replies]:
        if "subscription" in reply:
            assert "number" in reply or "missed" in reply
            continue
        assert reply["jsonrpc"] == "2.0"
        assert ("result" in reply) != ("error" in reply)


class Turns:
    """The turns of the loop that one conversation takes, with an event in each that has a subscriber."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._count = 0
        self._scope = trio.CancelScope()

    async def keep_publishing(self) -> None:
        while True:
            self._count += 1
            if self._count > MAX_TURNS:
                self._scope.cancel()
            if len(self.feed.group):
                self.feed.publish(3, size=900)
            await trio.lowlevel.checkpoint()

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """End what takes more than `MAX_TURNS`, however long each is.

        Raises:
            RuntimeError: It did.
        """
        self._count, self._scope = 0, trio.CancelScope()
        with self._scope:
            yield
        if self._scope.cancelled_caught:
            raise RuntimeError(f"no end in {MAX_TURNS} turns")


@pytest.mark.parametrize(
    "count", [pytest.param(2_000, id="short"), pytest.param(100_000, marks=pytest.mark.nightly)]
)
async def test_mutated_conversations_end_well_and_leave_nothing(
    count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    # The gate judges a change, not luck.
    gate, seed = Gate(), 1 if "CI" in os.environ else random.randrange(2**32)
    limits = Limits(
        message_bytes=5000, body_bytes=5000, outbox_bytes=2000, read_ahead_bytes=500, fragment_bytes=1000
    )
    feed, methods = Feed(), registry()
    feed.register(methods)
    network = Network("test", methods, lambda _caller: View(gate), fan_out=feed.fan_out)
    server = Server([network], limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.hand_out)
        turns = Turns(feed)
        nursery.start_soon(turns.keep_publishing)
        for number in range(count):
            chance = random.Random(seed + number)
            said = conversation(chance)
            script = Script(pieces(said, chance), chance)
            try:
                with turns.bounded():
                    await server.serve_transport(script)
                judge(bytes(script.answer))
                assert len(feed.group) == 0
            except Exception as error:
                raise AssertionError(f"{seed=} {number=} {said=} {bytes(script.answer)=}") from error
            feed.events.clear()
        nursery.cancel_scope.cancel()
    counters = server.shared.counters
    assert not any(server.shared.open_subscriptions.values())
    assert counters.notifications
    assert counters.fallen_behind
    assert (counters.connections, counters.websockets, gate.closed) == (0, 0, 0)
    assert (server.shared.waiting.used, server.shared.received.used, server.shared.executor.in_flight) == (
        0,
        0,
        0,
    )
    assert not server._alive
    assert counters.refusals
    assert counters.closes
