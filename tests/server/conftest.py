"""A server of a few methods on memory streams, with independent WebSocket peers at the other end."""

import json
import time
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import CTRL_OPCODES, Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from tests.server.certificates import make_certificate
from tests.server.feed import Feed
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import CallTask, CancelToken, RunInThread, Step
from wsnode.server.access.router import KeyStore, Network, TokenCheck
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.executor import TaskExecutor
from wsnode.server.server import Server

NUMBER = '{"jsonrpc":"2.0","id":%s,"method":"number","params":[]}'


class Size(msgspec.Struct, array_like=True, frozen=True):
    size: int


class Gate:
    """Calls of `wait` stay in a thread until the gate is opened or they are cancelled."""

    def __init__(self) -> None:
        self.opened = self.closed = self.entered = self.cancelled = 0
        self.broken = False

    def pass_through(self, cancel: CancelToken) -> str:
        self.entered += 1
        while not self.opened and not cancel.is_set:
            time.sleep(0.001)
        self.cancelled += cancel.is_set
        return "passed"


class View:
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def __enter__(self) -> "View":
        self.gate.closed -= 1
        return self

    def __exit__(self, *_details: object) -> None:
        self.gate.closed += 1
        if self.gate.broken:
            raise RuntimeError("the view does not close")


def registry() -> Registry:
    methods = Registry()

    @methods.method("number", cacheable=True)
    def number(_view: View) -> bytes:
        return b'"0x1"'

    @methods.method("zeros", view=False)
    def zeros(params: Size) -> bytes:
        return b'"%b"' % (b"0" * params.size)

    @methods.method("late_zeros", view=False)
    def late_zeros(params: Size) -> Generator[Step, Any, bytes]:
        yield None
        return zeros(params)

    @methods.method("slices")
    def slices(_view: View, params: Size) -> Generator[Step, Any, int]:
        for _ in range(params.size):
            yield None
        return params.size

    @methods.method("patient", deadline=5.0)
    def patient(_view: View, params: Size) -> Generator[Step, Any, int]:
        return (yield from slices(_view, params))

    @methods.method("wait")
    def wait(view: View) -> Generator[Step, Any, Any]:
        return (yield RunInThread(view.gate.pass_through))

    @methods.method("endless")
    def endless(view: View) -> Generator[Step, Any, None]:
        try:
            while True:
                yield None
        finally:
            view.gate.cancelled += 1

    @methods.method("bug", view=False)
    def bug() -> None:
        raise KeyError("absent")

    return methods


class Peer:
    """A client on the library's client protocol, which the server has no part in."""

    def __init__(
        self, stream: trio.abc.HalfCloseableStream, *, path: str = "/ws/v3/key", deflate: bool = False
    ) -> None:
        self.stream = stream
        extensions = [ClientPerMessageDeflateFactory()] if deflate else None
        self.protocol = ClientProtocol(parse_uri("ws://node" + path), extensions=extensions, max_size=None)
        self.frames: list[Frame] = []

    async def open(self, **headers: str) -> Response:
        request = self.protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        self.protocol.send_request(request)
        await self.flush()
        while True:
            for event in await self.receive():
                if isinstance(event, Response):
                    return event

    async def flush(self) -> None:
        for data in self.protocol.data_to_send():
            if data:
                await self.stream.send_all(data)

    async def receive(self) -> list[Any]:
        data = await self.stream.receive_some()
        if data:
            self.protocol.receive_data(bytes(data))
        else:
            self.protocol.receive_eof()
        await self.flush()
        return self.protocol.events_received()

    async def send(self, text: str | bytes) -> None:
        if isinstance(text, str):
            self.protocol.send_text(text.encode())
        else:
            self.protocol.send_binary(text)
        await self.flush()

    async def send_raw(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def frame(self) -> Frame:
        """The next frame."""
        while not self.frames:
            if self.protocol.close_rcvd or self.protocol.reader.eof:
                raise trio.EndOfChannel
            self.frames += [event for event in await self.receive() if isinstance(event, Frame)]
        return self.frames.pop(0)

    async def message(self) -> bytes:
        """The next text message; control frames before it are passed over."""
        parts: list[bytes] = []
        while True:
            frame = await self.frame()
            if frame.opcode in CTRL_OPCODES:
                if frame.opcode is Opcode.CLOSE:
                    raise trio.EndOfChannel
                continue
            assert frame.opcode is (Opcode.CONT if parts else Opcode.TEXT)
            parts.append(bytes(frame.data))
            if frame.fin:
                return b"".join(parts)

    async def reply(self) -> Any:
        return json.loads(await self.message())

    async def call(self, method: str, *params: Any, id: Any = 1) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))

    async def close_code(self) -> int | None:
        """The code that the server closes with; replies before it are passed over."""
        while self.protocol.close_rcvd is None and not self.protocol.reader.eof:
            await self.receive()
        return self.protocol.close_rcvd.code if self.protocol.close_rcvd else None


class Site:
    """A server on memory streams."""

    def __init__(
        self,
        nursery: trio.Nursery,
        gate: Gate,
        limits: Limits,
        keys: KeyStore | None = None,
        tokens: TokenCheck | None = None,
        **options: Any,
    ) -> None:
        self.nursery = nursery
        self.gate = gate
        self.feed = Feed()
        methods = registry()
        self.feed.register(methods)
        network = Network(
            "test",
            methods,
            lambda _caller: View(gate),
            keys=keys,
            fan_out=self.feed.fan_out,
            tokens=tokens,
        )
        self.server = Server([network], limits, **options)
        nursery.start_soon(self.server.hand_out)

    def connect(self) -> trio.abc.HalfCloseableStream:
        client, server = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self.server.serve_stream, server)
        return client

    async def peer(self, *, deflate: bool = False, path: str = "/ws/v3/key", **headers: str) -> Peer:
        peer = Peer(self.connect(), deflate=deflate, path=path)
        response = await peer.open(**headers)
        assert response.status_code == 101, response
        return peer

    async def http(self, request: str | bytes) -> bytes:
        """All that is answered to `request` and the end of the stream."""
        stream = self.connect()
        await stream.send_all(request.encode() if isinstance(request, str) else request)
        await stream.send_eof()
        return await read_all(stream)


async def finish(executor: TaskExecutor, call: CallTask, client: Any, account: ClientQuota) -> None:
    """Run a call to its end, and let it have its reply back."""
    call.reply = await executor.finish(call, client, account)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what a worker thread does."""
    with trio.fail_after(60):
        while not condition():  # noqa: ASYNC110 - a thread has no event to set
            await trio.sleep(0.001)


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    answer = b""
    async for data in stream:
        answer += data
    return answer


OpenSite = Callable[..., AbstractAsyncContextManager[Site]]


@pytest.fixture
def open_site() -> OpenSite:
    @asynccontextmanager
    async def site(limits: Limits | None = None, **options: Any) -> AsyncIterator[Site]:
        gate = Gate()
        async with trio.open_nursery() as nursery:
            yield Site(nursery, gate, limits or Limits(), **options)
            nursery.cancel_scope.cancel()
        assert gate.closed == 0, "a view was left open"

    return site


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the files of a certificate of `localhost` and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))
