"""Faulty nodes: each request reports its failure, and the transport continues."""

import base64
import hashlib
import inspect
import re
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from wsnode.verify.differential import asking
from wsnode.verify.posting import post
from wsnode.verify.transports import HttpTransport, WebSocketTransport

REFUSED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnever"
SILENT = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Serve a port where every connection is answered so and ended; the address without its scheme."""

    async def end(stream: trio.SocketStream) -> None:
        async with stream:
            asked = b""
            # What is not read yet when a connection is closed makes a reset of its end.
            while not asked.endswith(b"{}" if asked.startswith(b"POST") else b"\r\n\r\n"):
                asked += await stream.receive_some()
            await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, end, 0, host="127.0.0.1"))
        yield f"127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"nonsense\r\n\r\n", "cannot open a WebSocket connection: "),
        (REFUSED, "cannot open a WebSocket connection: HTTP status 404"),
    ],
)
async def test_who_speaks_no_websocket_is_told_each_time(
    answer: bytes, reason: str, nursery: trio.Nursery
) -> None:
    async with answering(answer) as place:
        transport = WebSocketTransport(f"ws://{place}/", nursery)
        for _ in range(2):
            with pytest.raises(ConnectionError, match=reason):
                await transport.ask("{}")
        await transport.close()


async def test_the_body_of_any_status_is_a_reply() -> None:
    async with answering(REFUSED) as place:
        assert await HttpTransport(f"http://{place}/").ask("{}") == "never"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SILENT, "the node answered HTTP 503 without a body"),
        (b"nonsense\r\n\r\n", "no HTTP reply"),
        (b"", "no HTTP"),
    ],
)
async def test_without_a_body_there_is_no_reply(answer: bytes, reason: str) -> None:
    async with answering(answer) as place:
        with pytest.raises(ConnectionError, match=reason):
            await HttpTransport(f"http://{place}/").ask("{}")


async def test_a_body_may_have_so_many_bytes_and_not_one_more() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole") as place:
        bounded = partial(post, f"http://{place}/", "{}")
        assert (await trio.to_thread.run_sync(partial(bounded, most_bytes=5))).body == b"whole"
        with pytest.raises(ConnectionError, match="a reply has more than 4 bytes"):
            await trio.to_thread.run_sync(partial(bounded, most_bytes=4))


@asynccontextmanager
async def sending(frame: bytes) -> AsyncIterator[str]:
    """Serve a port where each WebSocket client gets `frame` for its first message; the URL."""

    async def send(stream: trio.SocketStream) -> None:
        async with stream:
            head = (await stream.receive_some()).decode()
            (key,) = re.findall(r"(?i)\nsec-websocket-key: (.*)\r\n", head)
            # RFC 6455, section 4.2.2.
            accepted = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
            await stream.send_all(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: %b\r\n\r\n" % base64.b64encode(accepted)
            )
            await stream.receive_some()
            await stream.send_all(frame)
            await stream.send_eof()
            while await stream.receive_some():
                pass

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, send, 0, host="127.0.0.1"))
        yield f"ws://127.0.0.1:{listener.socket.getsockname()[1]}/"
        nursery.cancel_scope.cancel()


async def test_a_message_may_have_so_many_bytes_and_not_one_more(nursery: trio.Nursery) -> None:
    async with sending(b"\x81\x05whole") as url:
        assert await WebSocketTransport(url, nursery, most_bytes=5).ask("{}") == "whole"
        with pytest.raises(ConnectionError, match="1009"):
            await WebSocketTransport(url, nursery, most_bytes=4).ask("{}")


@pytest.mark.parametrize(("size", "is_too_big"), [(1 << 30, False), ((1 << 30) + 1, True)])
async def test_a_message_of_a_node_that_is_compared_may_have_a_gibibyte(
    size: int, *, is_too_big: bool
) -> None:
    def ask_once(url: str) -> None:
        with asking(url) as ask:
            ask("eth_chainId", [])

    # The connection ends before the message does, unless it is refused by its head.
    async with sending(struct.pack("!BBQ", 0x81, 127, size)) as url:
        with pytest.raises(ConnectionError) as lost:
            await trio.to_thread.run_sync(ask_once, url)
    assert ("message too big" in str(lost.value)) == is_too_big


@pytest.mark.parametrize("reader", [post, WebSocketTransport])
def test_a_reply_may_have_a_gibibyte(reader: Callable[..., object]) -> None:
    assert inspect.signature(reader).parameters["most_bytes"].default == 1 << 30
