"""A deadline counts against a client only after a last read: its bytes may lie unread while the loop is busy.

Nothing is read here but at a deadline: the sockets' `Reactor` does not run.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest
import trio
import trio.testing
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from tests.server.conftest import Gate, View, registry
from wsnode.server.access.router import Network
from wsnode.server.http.headers import MalformedHeadError, read_head
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.poller import Reactor
from wsnode.server.transport.transport import SocketTransport

LIMITS = Limits(
    head_seconds=10, idle_seconds=100, body_seconds=50, message_seconds=60, ping_seconds=30, close_seconds=5
)
CALL = b'{"jsonrpc":"2.0","id":1,"method":"number","params":[]}'
POST = b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
HEAD = POST % len(CALL)


class Client:
    """The other end of a connection that is served, but not read from."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        connected.setblocking(False)
        self._began = trio.current_time()

    @property
    def seconds(self) -> float:
        """Return how long it is connected."""
        return round(trio.current_time() - self._began, 3)

    async def at(self, seconds: float) -> None:
        """Wait until half a second after it has been connected for so long."""
        await trio.sleep_until(self._began + seconds + 0.5)

    def take(self) -> bytes:
        """Return what the server has sent since the last time."""
        received = b""
        with suppress(BlockingIOError):
            while part := self.socket.recv(1 << 16):
                received += part
        return received


@asynccontextmanager
async def unread() -> AsyncIterator[tuple[Client, SocketTransport]]:
    """Yield a client and the server's transport, whose reactor does not run."""
    theirs, ours = socket.socketpair()
    reactor = Reactor()
    transport = SocketTransport(ours, reactor)
    with theirs:
        try:
            yield Client(theirs), transport
        finally:
            await transport.aclose()
            reactor.close()


@asynccontextmanager
async def served(limits: Limits = LIMITS) -> AsyncIterator[Client]:
    """Yield the client of a server that reads nothing but at a deadline."""
    server = Server([Network("test", registry(), lambda _caller: View(Gate()))], limits=limits)
    async with unread() as (client, transport), trio.open_nursery() as nursery:
        nursery.start_soon(server.keep_alive)
        nursery.start_soon(server.serve_transport, transport)
        yield client
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "sent", [pytest.param(HEAD, id="whole"), pytest.param(HEAD + CALL, id="with a body")]
)
async def test_a_head_that_has_arrived_is_in_time(
    autojump_clock: trio.testing.MockClock, sent: bytes
) -> None:
    async with unread() as (client, transport):
        client.socket.send(sent)
        assert await read_head(transport, LIMITS) == (HEAD, sent[len(HEAD) :])
        assert client.seconds == 10


@pytest.mark.parametrize(
    ("sent", "status"), [pytest.param(b"", None, id="none"), pytest.param(HEAD[:-2], 408, id="a part")]
)
async def test_a_head_that_has_not_arrived_is_late(
    autojump_clock: trio.testing.MockClock, sent: bytes, status: int | None
) -> None:
    async with unread() as (client, transport):
        client.socket.send(sent)
        with pytest.raises(MalformedHeadError) as late:
            await read_head(transport, LIMITS)
        assert (late.value.status, client.seconds) == (status, 10)


async def test_a_body_that_has_arrived_is_in_time(autojump_clock: trio.testing.MockClock) -> None:
    async with served() as client:
        client.socket.send(HEAD)
        await client.at(10)
        client.socket.send(CALL)
        await client.at(59)
        assert client.take() == b""
        await client.at(60)
        assert client.take().endswith(b'"result":"0x1"}')


async def test_a_body_of_which_a_part_has_arrived_is_late(autojump_clock: trio.testing.MockClock) -> None:
    async with served() as client:
        client.socket.send(HEAD)
        await client.at(10)
        client.socket.send(CALL[:-1])
        await client.at(60)
        assert client.take().startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("parts", [(HEAD + CALL,), (HEAD[:20], HEAD[20:] + CALL)], ids=["whole", "in parts"])
async def test_a_next_request_that_has_arrived_is_in_time(
    autojump_clock: trio.testing.MockClock, parts: tuple[bytes, ...]
) -> None:
    async with served() as client:
        client.socket.send(HEAD + CALL)
        await client.at(10)
        assert client.take().endswith(b'"result":"0x1"}')
        for number, part in enumerate(parts):
            client.socket.send(part)
            await client.at(10 + 100 * (number + 1))
        assert client.take().endswith(b'"result":"0x1"}')


async def opened(client: Client, early: bytes = b"") -> ClientProtocol:
    """Return the protocol of a client that is connected, and that has sent `early` with its handshake."""
    protocol = ClientProtocol(parse_uri("ws://node/ws/v3/key"))
    protocol.send_request(protocol.connect())
    client.socket.send(b"".join(protocol.data_to_send()) + early)
    await client.at(10)
    protocol.receive_data(client.take())
    assert [type(event) for event in protocol.events_received()] == [Response]
    return protocol


def frames(client: Client, protocol: ClientProtocol) -> list[tuple[Opcode, bytes]]:
    """Return the frames that came since the last time, and send what the protocol answers."""
    protocol.receive_data(client.take())
    client.socket.send(b"".join(protocol.data_to_send()))
    return [(each.opcode, bytes(each.data)) for each in protocol.events_received() if isinstance(each, Frame)]


async def test_a_pong_that_has_arrived_is_a_sign_of_life(autojump_clock: trio.testing.MockClock) -> None:
    async with served() as client:
        protocol = await opened(client)
        for ping in range(1, 6):
            await client.at(10 + 30 * ping)
            assert frames(client, protocol) == [(Opcode.PING, b"")]


async def test_a_client_whose_pong_has_not_arrived_is_cut_off(autojump_clock: trio.testing.MockClock) -> None:
    async with served() as client:
        await opened(client)
        await client.at(100)
        assert client.socket.recv(100) == b"\x89\x00"
        assert client.socket.recv(100) == b""


@pytest.mark.parametrize(
    ("missing", "reply"),
    [
        pytest.param(0, (Opcode.TEXT, b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'), id="all"),
        pytest.param(1, (Opcode.CLOSE, b"\x03\xf0a message took too long to arrive"), id="a part"),
    ],
)
async def test_a_message_whose_rest_has_arrived_is_in_time(
    autojump_clock: trio.testing.MockClock, missing: int, reply: tuple[Opcode, bytes]
) -> None:
    async with served(msgspec.structs.replace(LIMITS, ping_seconds=1000)) as client:
        whole = Frame(Opcode.TEXT, CALL + b" " * 100_000).serialize(mask=True)
        protocol = await opened(client, whole[:15])
        rest = whole[15 : len(whole) - missing]
        assert client.socket.send(rest) == len(rest)
        await client.at(69)
        assert frames(client, protocol) == []
        await client.at(70)
        assert frames(client, protocol) == [reply]
