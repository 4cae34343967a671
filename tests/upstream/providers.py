"""Providers in memory: what answers a client over streams that have no port."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import h11
import msgspec
import trio
from trio.testing import memory_stream_pair
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_server_stream

from wsnode.upstream.address import UpstreamAddress

Answer = Callable[[str, list[Any]], Any]
"""Returns the result of a call, or an `Error`."""


class Error(msgspec.Struct):
    """What a provider refuses with."""

    code: int
    message: str
    data: Any = msgspec.UNSET


class SocketProvider:
    """Answers over WebSocket; `connect` is what a client opens connections by."""

    def __init__(self, nursery: trio.Nursery, answer: Answer) -> None:
        self._nursery = nursery
        self.answer = answer
        self.connections: list[WebSocketConnection] = []
        self.calls: list[tuple[str, list[Any]]] = []
        self.headers: list[list[tuple[bytes, bytes]]] = []
        self.is_gone = False
        self.batches: list[int] = []
        """How many calls each batch had."""
        self.most_batched = 1000
        """A larger batch is refused, as one whole."""
        self._streams: list[trio.abc.Stream] = []

    async def connect(self, address: UpstreamAddress) -> trio.abc.Stream:
        if self.is_gone:
            raise OSError("nobody there")
        ours, theirs = memory_stream_pair()
        self._streams.append(theirs)
        self._nursery.start_soon(self.serve, theirs)
        return ours

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Answer what comes over a stream, until it ends."""
        async with trio.open_nursery() as nursery:
            request = await wrap_server_stream(nursery, stream)
            self.headers.append(list(request.headers))
            connection = await request.accept()
            self.connections.append(connection)
            with suppress(ConnectionClosed):
                while True:
                    await self._reply(connection, msgspec.json.decode(await connection.get_message()))
            nursery.cancel_scope.cancel()

    async def _reply(self, connection: WebSocketConnection, call: Any) -> None:
        await connection.send_message(msgspec.json.encode(self.reply(call)).decode())

    def reply(self, call: Any) -> Any:
        """Return what is answered to a call, or to a batch of calls."""
        return self._batch_reply(call) if isinstance(call, list) else self._call_reply(call)

    def _batch_reply(self, calls: list[dict[str, Any]]) -> Any:
        self.batches.append(len(calls))
        if len(calls) > self.most_batched:
            return {"id": None, "error": {"code": -32600, "message": "batch too large"}}
        # In any order, as the specification of JSON-RPC allows.
        return [self._call_reply(call) for call in reversed(calls)]

    def _call_reply(self, call: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((call["method"], call["params"]))
        found = self.answer(call["method"], call["params"])
        if isinstance(found, Error):
            return {"id": call["id"], "error": found}
        return {"id": call["id"], "result": found}

    async def tell(self, subscription: str, result: Any) -> None:
        """Send an event of a subscription on every connection."""
        params = {"subscription": subscription, "result": result}
        text = msgspec.json.encode({"method": "eth_subscription", "params": params}).decode()
        for connection in self.connections:
            # A connection that has ended may not know it yet.
            with suppress(ConnectionClosed):
                if connection.closed is None:
                    await connection.send_message(text)

    async def close(self) -> None:
        """End every connection without a word."""
        for stream in self._streams:
            await trio.aclose_forcefully(stream)


class PostProvider:
    """Answers POSTs; each answer is a status, headers and a body."""

    def __init__(
        self,
        nursery: trio.Nursery,
        answer: Callable[[dict[str, Any]], tuple[int, list[tuple[str, str]], bytes]],
    ) -> None:
        self._nursery = nursery
        self._answer = answer
        self.connections = 0
        self.targets: list[bytes] = []
        self.closes_after_each = False

    async def connect(self, address: UpstreamAddress) -> trio.abc.Stream:
        ours, theirs = memory_stream_pair()
        self.connections += 1
        self._nursery.start_soon(self.serve, theirs)
        return ours

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Answer what comes over a stream, until it ends."""
        protocol, body = h11.Connection(h11.SERVER), bytearray()
        with suppress(trio.BrokenResourceError):
            while True:
                event = protocol.next_event()
                if event is h11.NEED_DATA:
                    protocol.receive_data(bytes(await stream.receive_some(65536)))
                elif isinstance(event, h11.Request):
                    self.targets.append(event.target)
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    await self._send(stream, protocol, bytes(body))
                    body.clear()
                    if self.closes_after_each:
                        break
                    protocol.start_next_cycle()
                else:
                    break
        await stream.aclose()

    async def _send(self, stream: trio.abc.Stream, protocol: h11.Connection, body: bytes) -> None:
        status, headers, text = self._answer(msgspec.json.decode(body))
        response = h11.Response(status_code=status, headers=[*headers, ("Content-Length", str(len(text)))])
        for event in (response, h11.Data(data=text), h11.EndOfMessage()):
            await stream.send_all(protocol.send(event) or b"")


Work = Callable[[], Awaitable[None]]
