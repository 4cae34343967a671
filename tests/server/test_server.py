"""Listening, being full and stopping, on a Unix socket."""

import re
import socket
import ssl
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.server.conftest import NUMBER, Gate, Peer, View, registry, until
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.accepting import ConnectionAcceptor, serve
from wsnode.server.access.origin_policy import OriginPolicy
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import tls_context
from wsnode.server.transport.sockets import open_tcp, open_unix

GET_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: any.example\r\n\r\n"


def make_server(gate: Gate, limits: Limits | None = None) -> Server:
    return Server([Network("test", registry(), lambda _caller: View(gate))], limits)


async def start(nursery: trio.Nursery, server: Server, path: Path) -> None:
    await start_on(nursery, server, open_unix(path))


async def start_on(nursery: trio.Nursery, server: Server, listener: socket.socket) -> None:
    async def run(task_status: trio.TaskStatus[ConnectionAcceptor] = trio.TASK_STATUS_IGNORED) -> None:
        await serve(server, [listener], task_status=task_status)

    await nursery.start(run)


async def test_a_stop_lets_calls_end_says_goodbye_and_takes_nobody_new(tmp_path: Path) -> None:
    path, gate = tmp_path / "node.sock", Gate()
    server = make_server(gate)
    async with trio.open_nursery() as nursery:
        await start(nursery, server, path)
        peer = Peer(await trio.open_unix_socket(path))
        assert (await peer.open()).status_code == 101
        await peer.call("wait")
        await peer.call("number", id=2)
        assert (await peer.reply())["id"] == 2
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True), trio.fail_after(60):
            await until(lambda: not server.ready)
            with pytest.raises(OSError, match="refused"):
                await trio.open_unix_socket(path)
            gate.opened = 1
            assert (await peer.reply())["result"] == "passed"
            assert await peer.close_code() == 1001
            await peer.stream.aclose()
    assert server.connections == 0
    assert gate.closed == 0


async def get(path: Path, page: str) -> bytes:
    stream = await trio.open_unix_socket(path)
    async with stream:
        await stream.send_all(b"GET %b HTTP/1.1\r\nHost: any.example\r\n\r\n" % page.encode())
        return bytes(await stream.receive_some())


async def test_operators_see_a_node_that_is_full_and_take_no_clients_place(tmp_path: Path) -> None:
    path, own = tmp_path / "node.sock", tmp_path / "own.sock"
    server = make_server(Gate(), Limits(connections=2, operators_connections=1))
    listener, operators = open_unix(path), [open_unix(own)]
    async with trio.open_nursery() as nursery:

        async def run(task_status: trio.TaskStatus[ConnectionAcceptor] = trio.TASK_STATUS_IGNORED) -> None:
            await serve(server, [listener], operators=operators, task_status=task_status)

        await nursery.start(run)
        async with await trio.open_unix_socket(own) as idle:
            await trio.testing.wait_all_tasks_blocked()
            assert (await get(own, "/metrics")).startswith(b"HTTP/1.1 503 ")
            async with await trio.open_unix_socket(path), await trio.open_unix_socket(path):
                await trio.testing.wait_all_tasks_blocked()
                assert (await get(path, "/healthz")).startswith(b"HTTP/1.1 503 ")
                await idle.aclose()
                await trio.testing.wait_all_tasks_blocked()
                for page in ("/metrics", "/healthz", "/readyz"):
                    assert (await get(own, page)).startswith(b"HTTP/1.1 200 ")
        nursery.cancel_scope.cancel()
    assert server.connections == server.shared.operators.used == 0


async def test_clients_of_a_unix_socket_may_call_the_node_what_they_like(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    network = Network("test", registry(), lambda _caller: View(Gate()))
    server = Server([network], origin_policy=OriginPolicy.local((), ()), public_metrics=False)
    async with trio.open_nursery() as nursery:
        await start(nursery, server, path)
        assert (await get(path, "/healthz")).startswith(b"HTTP/1.1 200 ")
        assert (await get(path, "/metrics")).startswith(b"HTTP/1.1 404 ")
        peer = Peer(await trio.open_unix_socket(path))
        assert (await peer.open(Origin="https://evil.example")).status_code == 403
        await peer.stream.aclose()
        nursery.cancel_scope.cancel()


async def test_one_connection_too_many_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    server = make_server(Gate(), Limits(connections=1))
    async with trio.open_nursery() as nursery:
        await start(nursery, server, path)
        first = Peer(await trio.open_unix_socket(path))
        await first.open()
        second = await trio.open_unix_socket(path)
        assert (await second.receive_some()).startswith(b"HTTP/1.1 503 ")
        await second.aclose()
        await first.stream.aclose()
        await until(lambda: not server.connections)
        third = Peer(await trio.open_unix_socket(path))
        assert (await third.open()).status_code == 101
        nursery.cancel_scope.cancel()
        await third.stream.aclose()


async def test_of_many_that_come_at_once_as_many_are_served_as_there_may_be(tmp_path: Path) -> None:
    listener = open_unix(tmp_path / "node.sock")
    server = make_server(Gate(), Limits(connections=3))
    streams = [await trio.open_unix_socket(tmp_path / "node.sock") for _ in range(8)]
    async with trio.open_nursery() as nursery:
        await start_on(nursery, server, listener)
        for stream in streams[3:]:
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 503 ")
        await trio.testing.wait_all_tasks_blocked()
        assert server.shared.connections.used == server.connections == 3
        for stream in streams[:3]:
            await stream.send_all(GET_HEALTH)
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200 ")
        for stream in streams:
            await stream.aclose()
        nursery.cancel_scope.cancel()
    assert server.shared.connections.used == 0


async def test_who_takes_the_place_of_an_idle_connection_is_not_one_more(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    server = make_server(Gate(), Limits(connections=2))
    async with trio.open_nursery() as nursery:
        await start(nursery, server, path)
        idle = [await trio.open_unix_socket(path) for _ in range(2)]
        for stream in idle:
            await stream.send_all(GET_HEALTH)
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200 ")
        await trio.testing.wait_all_tasks_blocked()
        client = ClientId()
        assert server.admit(client)
        assert server.shared.connections.used == 2
        assert await idle[0].receive_some() == b""
        server.shared.connections.give_back(client)
        for stream in idle:
            await stream.aclose()
        await until(lambda: not server.connections)
        assert server.shared.connections.used == 0
        nursery.cancel_scope.cancel()


async def test_large_replies_pass_a_real_socket(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        await start(nursery, make_server(Gate()), tmp_path / "node.sock")
        peer = Peer(await trio.open_unix_socket(tmp_path / "node.sock"))
        await peer.open()
        for number in range(30):
            await peer.call("zeros", 300_000, id=number)
        await peer.send(NUMBER % 99)
        replies = [await peer.reply() for _ in range(31)]
        assert [reply["id"] for reply in replies] == [*range(30), 99]
        assert all(len(reply["result"]) == 300_000 for reply in replies[:30])
        await peer.stream.aclose()
        nursery.cancel_scope.cancel()


async def test_tls_end_to_end(certificate: tuple[Path, Path]) -> None:
    listeners = open_tcp("127.0.0.1", 0)
    context = ssl.create_default_context(cafile=certificate[0])
    async with trio.open_nursery() as nursery:
        server = make_server(Gate())

        async def run(task_status: trio.TaskStatus[ConnectionAcceptor] = trio.TASK_STATUS_IGNORED) -> None:
            await serve(server, listeners, tls=tls_context(*certificate), task_status=task_status)

        await nursery.start(run)
        plain = await trio.open_tcp_stream(*listeners[0].getsockname())
        peer = Peer(trio.SSLStream(plain, context, server_hostname="localhost"))  # type: ignore[arg-type]
        assert (await peer.open()).status_code == 101
        for size in (10, 1_000_000):
            await peer.call("zeros", size)
            assert len((await peer.reply())["result"]) == size
        not_tls = await trio.open_tcp_stream(*listeners[0].getsockname())
        await not_tls.send_all(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n")
        assert b"HTTP" not in await not_tls.receive_some()
        await not_tls.aclose()
        await plain.aclose()
        nursery.cancel_scope.cancel()


def test_a_socket_that_nobody_listens_on_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    open_unix(path).close()
    second = open_unix(path)
    with pytest.raises(OSError, match=re.escape(f"cannot listen on {path}: Address already in use")):
        open_unix(path)
    second.close()
    (tmp_path / "file").write_text("precious")
    with pytest.raises(OSError, match="in use"):
        open_unix(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


def test_every_address_of_a_host_is_listened_on() -> None:
    listeners = open_tcp("127.0.0.1", 0)
    assert [listener.family for listener in listeners] == [socket.AF_INET]
    assert listeners[0].getsockname()[1] > 0
    port = listeners[0].getsockname()[1]
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
        open_tcp("127.0.0.1", port)
    with pytest.raises(OSError, match=r"cannot listen on \[2001:db8::1\]:1: "):
        open_tcp("2001:db8::1", 1)
    listeners[0].close()
