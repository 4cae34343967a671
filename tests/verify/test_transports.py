"""Faulty nodes: each request reports its failure, and the transport continues."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from wsnode.verify.transports import HttpTransport, SocketTransport

REFUSED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnever"
SILENT = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Serve a port where every connection is answered so and ended; the address without its scheme."""

    async def end(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, end, 0, host="127.0.0.1"))
        yield f"127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"nonsense\r\n\r\n", "no WebSocket: "), (REFUSED, "no WebSocket: HTTP status 404")],
)
async def test_who_speaks_no_websocket_is_told_each_time(
    answer: bytes, reason: str, nursery: trio.Nursery
) -> None:
    async with answering(answer) as place:
        transport = SocketTransport(f"ws://{place}/", nursery)
        for _ in range(2):
            with pytest.raises(ConnectionError, match=reason):
                await transport.ask("{}")
        await transport.close()


async def test_the_body_of_any_status_is_a_reply() -> None:
    async with answering(REFUSED) as place:
        assert await HttpTransport(f"http://{place}/").ask("{}") == "never"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(SILENT, "HTTP status 503"), (b"nonsense\r\n\r\n", "no HTTP reply"), (b"", "no HTTP")],
)
async def test_without_a_body_there_is_no_reply(answer: bytes, reason: str) -> None:
    async with answering(answer) as place:
        with pytest.raises(ConnectionError, match=reason):
            await HttpTransport(f"http://{place}/").ask("{}")
