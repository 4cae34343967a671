"""Bounds of the work that one message of an upstream makes, over both transports."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, memory_stream_pair

from tests.node_process import PATIENCE
from tests.untrusted.hostile import frame
from wsnode.upstream import http, websocket
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.link import CONNECTING_SECONDS, MESSAGE_BYTES
from wsnode.upstream.metering import (
    HANDSHAKE_BYTES,
    MAX_INFORMATIONAL,
    MAX_SMALL_PIECES,
    MESSAGE_SECONDS,
    MIN_MEAN_BYTES,
    PIECES_A_TURN,
    ExcessiveWorkError,
    MessageWork,
    MeteredStream,
)

Say = Callable[[trio.abc.Stream], Awaitable[None]]
TEXT, CONTINUED, LAST, PING = 0x01, 0x00, 0x80, 0x89
WORD: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@asynccontextmanager
async def asking(url: str, say: Say) -> AsyncIterator[Client]:
    """Yield a client of a server that says these bytes on each connection, once it has heard something."""
    async with trio.open_nursery() as nursery:

        async def serve(stream: trio.abc.Stream) -> None:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await say(stream)

        async def connect(_address: UpstreamAddress) -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            ours, theirs = memory_stream_pair()
            nursery.start_soon(serve, theirs)
            return ours

        client = Client(UpstreamAddress.parse(url), seconds=PATIENCE, connect=connect)
        await nursery.start(client.run)
        yield client
        nursery.cancel_scope.cancel()


async def accept(stream: trio.abc.Stream) -> None:
    """Answer a handshake, and wait for a question."""
    head = bytes(await stream.receive_some())
    found = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
    assert found is not None
    word = base64.b64encode(hashlib.sha1(found[1] + WORD).digest())
    await stream.send_all(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + word + b"\r\n\r\n"
    )
    await stream.receive_some()


ANSWER: Final = b'{"id":1,"result":"%b"}'


async def asked(client: Client) -> tuple[object, int]:
    """Return the answer, or why there is none, and how many turns another task had meanwhile."""
    turns, found = 0, trio.Event()
    outcome: object = None

    async def ask() -> None:
        nonlocal outcome
        try:
            outcome = await client.ask("m", [])
        except UpstreamError as error:
            outcome = error.reason
        found.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        while not found.is_set():
            await trio.lowlevel.checkpoint()
            turns += 1
    return outcome, turns


def in_frames(text: bytes, pieces: int, size: int = 0) -> bytes:
    """Return a message in some pieces of a size, and the rest of it in a last one."""
    parts = (
        [text[place : place + size] for place in range(0, pieces * size, size)] if size else [b""] * pieces
    )
    frames = [frame(part, CONTINUED) for part in parts]
    frames[0] = frame(parts[0], TEXT)
    return b"".join(frames) + frame(text[pieces * size :], LAST)


@pytest.mark.parametrize("url", ["ws://node/", "http://node/"])
@pytest.mark.parametrize("beyond", [0, 1])
async def test_a_message_has_a_bound_in_bytes(monkeypatch: pytest.MonkeyPatch, url: str, beyond: int) -> None:
    assert MESSAGE_BYTES == 64 << 20
    most = 1 << 16
    for module in (http, websocket):
        monkeypatch.setattr(module, "MESSAGE_BYTES", most)
    text = ANSWER % (b"a" * (most - len(ANSWER % b"") + beyond))

    async def say(stream: trio.abc.Stream) -> None:
        if url.startswith("ws"):
            await accept(stream)
            await stream.send_all(frame(text, TEXT | LAST))
        else:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    async with asking(url, say) as client:
        outcome, _turns = await asked(client)
        assert (outcome in ("unreachable", "invalid")) == bool(beyond)
        assert bool(client.score.failures) == bool(beyond)


async def test_a_handshake_has_its_time(autojump_clock: MockClock) -> None:
    async def say_nothing(_stream: trio.abc.Stream) -> None:
        await trio.sleep_forever()

    begun = trio.current_time()
    async with asking("ws://node/", say_nothing) as client:
        with pytest.raises(UpstreamError, match="unreachable"):
            await client.link()
    assert trio.current_time() - begun == pytest.approx(CONNECTING_SECONDS) == 10


@pytest.mark.parametrize("pieces", [2, MAX_SMALL_PIECES - 1, MAX_SMALL_PIECES, 100_000])
@pytest.mark.parametrize("size", [0, 1])
async def test_a_message_over_websocket_has_few_small_pieces(pieces: int, size: int) -> None:
    text = ANSWER % (b"a" * max(0, pieces))

    async def say(stream: trio.abc.Stream) -> None:
        await accept(stream)
        await stream.send_all(in_frames(text, pieces, size))

    async with asking("ws://node/", say) as client:
        outcome, turns = await asked(client)
        # Its last piece has all the rest, and explains some more.
        if pieces < MAX_SMALL_PIECES:
            assert (outcome, client.score.failures) == ("a" * pieces, 0)
        elif pieces > 10 * MAX_SMALL_PIECES:
            assert outcome == "unreachable"
            assert client.score.failures == 2
        assert turns >= min(pieces, MAX_SMALL_PIECES) // PIECES_A_TURN


@pytest.mark.slow
async def test_pings_without_end_leave_others_their_turns() -> None:
    async def say(stream: trio.abc.Stream) -> None:
        await accept(stream)
        await stream.send_all(frame(b"", 0x8A) * 20_000 + frame(ANSWER % b"found", 0x81))

    async with asking("ws://node/", say) as client:
        outcome, turns = await asked(client)
        assert outcome == "found"
        assert turns > 20_000 // PIECES_A_TURN


async def test_a_handshake_is_bounded() -> None:
    ours, theirs = memory_stream_pair()
    excesses: list[ExcessiveWorkError] = []
    stream = MeteredStream(ours, excesses.append)
    await theirs.send_all(b"HTTP/1.1 100 Continue\r\n\r\n" * (HANDSHAKE_BYTES // 25))
    received = 0
    while received < HANDSHAKE_BYTES // 25 * 25:
        received += len(await stream.receive_some(1000))
    await theirs.send_all(b"X: " + b"a" * 100)
    with pytest.raises(ExcessiveWorkError, match=f"a handshake of more than {HANDSHAKE_BYTES} bytes"):
        await stream.receive_some(1000)
    assert len(excesses) == 1


def chunked(text: bytes, pieces: int) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    small = b"".join(b"1\r\n%b\r\n" % text[place : place + 1] for place in range(pieces))
    return head + small + b"%x\r\n%b\r\n0\r\n\r\n" % (len(text) - pieces, text[pieces:])


@pytest.mark.parametrize("pieces", [1, MAX_SMALL_PIECES, 50_000])
async def test_an_answer_over_http_has_few_small_chunks(pieces: int) -> None:
    text = ANSWER % (b"a" * pieces)

    async def say(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(chunked(text, pieces))

    async with asking("http://node/", say) as client:
        outcome, turns = await asked(client)
        assert outcome == ("a" * pieces if pieces <= MAX_SMALL_PIECES else "invalid")
        assert client.score.failures == (pieces > MAX_SMALL_PIECES)
        assert turns >= min(pieces, MAX_SMALL_PIECES) // PIECES_A_TURN


@pytest.mark.parametrize("count", [MAX_INFORMATIONAL, MAX_INFORMATIONAL + 1, 10_000])
@pytest.mark.parametrize("status", [b"100 Continue", b"102 Processing", b"103 Early Hints"])
async def test_few_responses_come_before_the_response(count: int, status: bytes) -> None:
    text = ANSWER % b"found"

    async def say(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text)
        await stream.send_all(b"HTTP/1.1 %b\r\n\r\n" % status * count + head + text)

    async with asking("http://node/", say) as client:
        assert (await asked(client))[0] == ("found" if count <= MAX_INFORMATIONAL else "invalid")


async def test_pieces_are_bounded_by_their_bytes() -> None:
    pieces = MessageWork()
    for _ in range(10 * MAX_SMALL_PIECES):
        pieces.add(MIN_MEAN_BYTES)
    pieces.end()
    for _ in range(MAX_SMALL_PIECES):
        pieces.add(0)
    with pytest.raises(
        ExcessiveWorkError,
        match=f"{MAX_SMALL_PIECES + 1} pieces of 0 bytes in all: at most {MAX_SMALL_PIECES} pieces",
    ):
        pieces.add(0)


async def test_a_message_has_its_time(autojump_clock: MockClock) -> None:
    pieces = MessageWork()
    pieces.add(1)
    await trio.sleep(MESSAGE_SECONDS)
    pieces.add(1)
    await trio.sleep(0.1)
    with pytest.raises(ExcessiveWorkError, match="more than 60 s"):
        pieces.add(1)


HANDSHAKE: Final = b"HTTP/1.1 101 Switching Protocols\r\nX: y\r\n\r\n"


@given(
    payloads=st.lists(st.binary(max_size=300), min_size=1, max_size=80),
    cuts=st.lists(st.integers(min_value=1, max_value=400), max_size=50),
)
def test_a_metered_stream_gives_all_bytes_however_they_arrive(payloads: list[bytes], cuts: list[int]) -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\n" + HANDSHAKE + b"".join(frame(each, 0x82) for each in payloads)
    parts, place = [], 0
    for cut in [*cuts, len(data)]:
        if place < len(data):
            parts.append(data[place : place + cut])
            place += cut

    async def check() -> None:
        ours, theirs = memory_stream_pair()
        stream = MeteredStream(ours, lambda excess: None)
        received = b""
        for part in parts:
            await theirs.send_all(part)
            left = len(part)
            while left:
                given = await stream.receive_some(1 << 17)
                received += given
                left -= len(given)
        assert received == data

    trio.run(check)
