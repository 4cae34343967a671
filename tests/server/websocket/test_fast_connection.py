"""Connections whose plainest calls are answered where they are read: replies and counts are as of others."""

from collections.abc import Callable, Sequence
from pathlib import Path
from socket import socket, socketpair
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

from tests.jsonrpc.texts import requests
from tests.server.websocket.test_frames import masked
from tests.server.websocket.test_versioned_cache import TABLE, Node, View, frames, request
from wsnode._native.wire import VersionedCache
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.poller import FastConnection, Peer, Reactor, Take
from wsnode.server.transport.transport import SocketTransport
from wsnode.server.websocket.connection import WebSocketConnection
from wsnode.server.websocket.frames import text_frame
from wsnode.store.environment import Environment

CLIENTS = 3
MOVE, PAUSE = "move", "pause"
METHODS = ["cacheable", "cacheable", "constant", "constant", "other", "unknown"]
Step = tuple[int, int] | str
"""A client that sends that many bytes more; all replies received, after which the head may move."""


class ByReader(SocketTransport):
    """A socket of which everything is left to its reader."""

    __slots__ = ()

    def feed(self, take: Take, peer: Peer = None, plain: FastConnection | None = None) -> Any:
        return super().feed(take, peer)


class World:
    """A server on pairs of sockets, and its clients' ends after the handshake."""

    def __init__(self, folder: Path, nursery: trio.Nursery, kind: type[SocketTransport]) -> None:
        self.store = Environment(folder, [TABLE], writer=True)
        self.node = Node(self.store)
        self.reactor = Reactor()
        versioned_cache = VersionedCache(self)
        network = Network(
            "test", self.node.registry, lambda _caller: View(self.store), versioned_cache=versioned_cache
        )
        self.server = Server([network], Limits())
        self.ends: list[socket] = []
        self._nursery, self._kind = nursery, kind
        nursery.start_soon(self.reactor.run)

    async def connect(self) -> None:
        client, ours = socketpair()
        client.setblocking(False)
        self.ends.append(client)
        self._nursery.start_soon(self.server.serve_transport, self._kind(ours, self.reactor))
        protocol = ClientProtocol(parse_uri("ws://node/ws/v3/key"))
        protocol.send_request(protocol.connect())
        client.send(b"".join(protocol.data_to_send()))
        await self.settle()
        received(client)

    async def settle(self) -> None:
        await trio.testing.wait_all_tasks_blocked(0.002)

    def received(self) -> list[bytes]:
        """Return what each client has received since the last time."""
        return [received(client) for client in self.ends]

    @property
    def connections(self) -> list[WebSocketConnection]:
        return list(self.server._alive)

    def counts(self) -> dict[str, int]:
        counters, methods = self.server.shared.counters, self.node.registry.methods
        counted = {name: sum(method.succeeded.counts) for name, method in methods.items()}
        failed = {f"{name} failed": sum(method.failed.counts) for name, method in methods.items()}
        whole = {"messages": counters.messages, "bytes": counters.input_bytes}
        return counted | failed | whole | {"unknown": self.node.registry.unknown_calls}

    def close(self) -> None:
        for client in self.ends:
            client.close()
        self.reactor.close()
        self.store.close()


def received(client: socket) -> bytes:
    found = b""
    while True:
        try:
            data = client.recv(1 << 20)
        except BlockingIOError:
            return found
        if not data:
            return found + b"(end)"
        found += data


def within(folder: Path, act: Callable[[World], Any], kind: type[SocketTransport] = SocketTransport) -> Any:
    """Return what `act` returns in a new world whose clients are connected."""

    async def main() -> Any:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                world = World(folder, nursery, kind)
                try:
                    for _ in range(CLIENTS):
                        await world.connect()
                    return await act(world)
                finally:
                    nursery.cancel_scope.cancel()
                    with trio.CancelScope(shield=True):
                        await world.settle()
                    world.close()

    return trio.run(main)


messages = requests(METHODS) | st.sampled_from([request(name) for name in METHODS])
pieces = (
    messages.map(frames)
    | st.sampled_from([masked(0x89, b"ping"), masked(0x82, request("constant"))])
    | st.binary(max_size=12)
)
streams = st.lists(st.lists(pieces, max_size=12).map(b"".join), min_size=CLIENTS, max_size=CLIENTS)
steps = st.lists(
    st.tuples(st.integers(0, CLIENTS - 1), st.sampled_from([1, 40, 70, 150, 400, 1000]))
    | st.sampled_from([MOVE, PAUSE]),
    max_size=14,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(streams, steps)
def test_replies_and_counts_are_those_of_the_reader_alone(
    tmp_path_factory: pytest.TempPathFactory, streams: list[bytes], steps: list[Step]
) -> None:
    async def act(world: World) -> tuple[list[bytes], dict[str, int]]:
        await warm(world)
        replies, rest = [b""] * CLIENTS, list(streams)
        everything: list[Step] = [(client, len(stream)) for client, stream in enumerate(streams)]
        for step in [*steps, *everything, PAUSE]:
            if isinstance(step, tuple):
                client, size = step
                world.ends[client].send(rest[client][:size])
                rest[client] = rest[client][size:]
                continue
            received_now = await settled(world)
            replies = [before + now for before, now in zip(replies, received_now, strict=True)]
            if step == MOVE:
                world.node.set(b"%d" % len(b"".join(replies)))
        return replies, world.counts()

    folder = tmp_path_factory.mktemp("world")
    assert within(folder / "a", act) == within(folder / "b", act, ByReader)


def asking(world: World, calls: Sequence[str] = ("constant",)) -> None:
    for client in world.ends:
        client.send(frames(*map(request, calls)))


CONSTANT = text_frame(b'{"jsonrpc":"2.0","id":1,"result":"c"}')


async def settled(world: World) -> list[bytes]:
    await world.settle()
    return world.received()


async def warm(world: World) -> None:
    """Have each client ask until its calls are answered where they are read."""
    for _ in range(3):
        asking(world, ("constant", "cacheable"))
        await settled(world)


def test_the_engine_is_let_at_connections_that_are_at_rest(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        for connection in [*world.connections, *world.connections]:
            assert connection.fast_reply_limit() > 0

    within(tmp_path / "store", act)


@pytest.mark.parametrize(
    "data",
    [frames(request("constant"))[:-1], masked(0x01, b"{"), b"\x81"],
    ids=["partial", "fragment", "begun"],
)
def test_after_what_is_not_whole_the_reader_is_next(tmp_path: Path, data: bytes) -> None:
    async def act(world: World) -> None:
        await warm(world)
        world.ends[0].send(data)
        await settled(world)
        assert world.connections[0].fast_reply_limit() == 0
        assert world.connections[1].fast_reply_limit() > 0

    within(tmp_path / "store", act)


def test_after_calls_of_handlers_the_engine_is_next(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        for _ in range(3):
            asking(world, ("other", "constant"))
            await settled(world)
            assert all(connection.fast_reply_limit() > 0 for connection in world.connections)

    within(tmp_path / "store", act)


class Until:
    """Holds calls until an event; implements `CallBarrier`."""

    def __init__(self) -> None:
        self.event = trio.Event()

    def is_over(self) -> bool:
        return self.event.is_set()

    async def wait(self, _client: Any) -> None:
        await self.event.wait()


def test_calls_that_wait_for_a_block_are_the_reader_s(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        barrier = Until()
        world.connections[0]._session.hold_calls(barrier)
        assert world.connections[0].fast_reply_limit() == 0
        for expected in ([b"", CONSTANT, CONSTANT], [b"", CONSTANT, CONSTANT]):
            asking(world)
            assert await settled(world) == expected
        barrier.event.set()
        got = b""
        while len(got) < 2 * len(CONSTANT):
            got += (await settled(world))[0]
        assert got == 2 * CONSTANT
        asking(world)
        assert await settled(world) == [CONSTANT] * CLIENTS
        assert world.connections[0].fast_reply_limit() > 0

    within(tmp_path / "store", act)


def test_a_closing_connection_is_the_reader_s(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        connection = world.connections[0]
        connection.close(1001, "the server is stopping")
        assert connection.fast_reply_limit() == 0
        asking(world)
        closed, *others = await settled(world)
        assert closed.startswith(b"\x88")
        assert CONSTANT not in closed
        assert others == [CONSTANT] * 2

    within(tmp_path / "store", act)


def test_arrived_calls_are_signs_of_life(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        for _ in range(3):
            for connection in world.connections:
                connection.keep_alive()
            asking(world)
            assert await settled(world) == [b"\x89\x00" + CONSTANT] * CLIENTS
        assert len(world.connections) == CLIENTS

    within(tmp_path / "store", act)


def test_replies_come_behind_all_that_waits(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        client, connection = world.ends[0], world.connections[0]
        # More than the system takes at once.
        large = text_frame(b"0" * 3_000_000)
        connection.post(large)
        got = b""
        for _ in range(40):
            asking(world)
            await world.settle()
            got += client.recv(100_000)
        got += b"".join([(await settled(world))[0] for _ in range(60)])
        assert got == large + 40 * CONSTANT

    within(tmp_path / "store", act)


def test_a_client_that_does_not_read_gets_every_reply_once_it_does(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        client, count = world.ends[0], 0
        # Its replies fill what the system keeps for it, and then the outbox.
        while not world.connections[0].output_bytes:
            client.send(frames(*[request("constant")] * 60))
            count += 60
            await world.settle()
            assert count < 200_000
        got = b""
        while len(got) < count * len(CONSTANT):
            got += (await settled(world))[0]
        assert got == count * CONSTANT
        assert world.counts()["constant"] >= count

    within(tmp_path / "store", act)


def test_a_client_that_is_gone_ends_like_any_other(tmp_path: Path) -> None:
    async def act(world: World) -> None:
        await warm(world)
        world.ends[0].send(frames(request("constant")))
        world.ends[0].close()
        await world.settle()
        assert len(world.connections) == CLIENTS - 1
        asking_others = world.ends[1:]
        for client in asking_others:
            client.send(frames(request("constant")))
        await world.settle()
        assert [received(client) for client in asking_others] == [CONSTANT] * 2

    within(tmp_path / "store", act)
