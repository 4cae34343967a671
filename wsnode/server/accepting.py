"""Accepting of connections until the server stops, and the wait for those that are open then."""

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from ipaddress import IPv6Address, ip_address

import trio

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.access.request_errors import try_later
from wsnode.server.http.service import Service
from wsnode.server.observability.supervisor import keep_running, log_failure
from wsnode.server.scheduling.worker_pool import making_way
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import EncryptedTransport
from wsnode.server.transport.poller import Peer, Reactor
from wsnode.server.transport.sockets import ListenerKind, accept_each, listener_kind
from wsnode.server.transport.transport import SocketTransport, Transport, say
from wsnode.server.websocket.handshake import refusal

logger = logging.getLogger("wsnode.server")

TASK_NAME = "connection"
"""Name of the tasks of all connections; without it trio would make a text for each task."""


class ConnectionAcceptor:
    """Starter of new connections, accepted by this process or passed to it by another: it admits or refuses
    each, and begins to serve it.
    """

    def __init__(
        self, server: Server, reactor: Reactor, connections: trio.Nursery, tls: ssl.SSLContext | None
    ) -> None:
        self._server = server
        self._reactor = reactor
        self._connections = connections
        self._tls = tls

    def take(
        self,
        connected: socket.socket,
        address: object,
        kind: ListenerKind,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        """Serve a connection from `address`, or refuse it; `on_end` is called when it has ended."""
        client = ClientId(peer_of(address))
        try:
            tls = self._tls if kind is ListenerKind.CLIENTS else None
            transport = _transport(connected, self._reactor, client.peer, tls)
        except Exception as error:
            # The client may have already disconnected.
            connected.close()
            log_failure("a connection cannot be served", error)
            if on_end is not None:
                on_end()
            return
        service = self._service(kind)
        if self._server.admit(client, service):
            serving = partial(self._server.serve_admitted, transport, client, service)
        else:
            serving = partial(_refuse, transport)
        if on_end is None:
            self._connections.start_soon(serving, name=TASK_NAME)
        else:
            self._connections.start_soon(_then, serving, on_end, name=TASK_NAME)

    def note_failure(self) -> None:
        """Count a connection that could not be accepted."""
        self._server.shared.counters.accept_failures += 1

    def _service(self, kind: ListenerKind) -> Service:
        match kind:
            case ListenerKind.CLIENTS:
                return self._server.service
            case ListenerKind.UNIX:
                return self._server.socket_service
            case ListenerKind.OPERATORS:
                return self._server.operators_service


async def _then(serving: Callable[[], Awaitable[None]], on_end: Callable[[], None]) -> None:
    try:
        await serving()
    finally:
        on_end()


async def serve(
    server: Server,
    listeners: Sequence[socket.socket],
    *,
    tls: ssl.SSLContext | None = None,
    operators: Sequence[socket.socket] = (),
    task_status: trio.TaskStatus[ConnectionAcceptor] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the connections of `listeners` until cancelled; then close each with a reason before returning.

    It starts with a `ConnectionAcceptor`, for connections accepted by another process.

    With `tls`, TCP connections are encrypted; those to a Unix socket never are. The sockets of `operators`
    serve only the operators' pages, unencrypted.
    """
    listeners_by_kind = [(listener, listener_kind(listener)) for listener in listeners]
    listeners_by_kind += [(listener, ListenerKind.OPERATORS) for listener in operators]
    stopping, reactor = trio.Event(), Reactor()
    async with trio.open_nursery() as outer:
        connections = await outer.start(_hold_connections, server, reactor, stopping)
        server.waits.append(connections.cancel_scope)
        reception = ConnectionAcceptor(server, reactor, connections, tls)
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(keep_running, server.keep_alive)
                for listener, kind in listeners_by_kind:
                    accepting.start_soon(_accept, listener, kind, reception)
                task_status.started(reception)
        finally:
            for listener, _door in listeners_by_kind:
                listener.close()
            with trio.CancelScope(shield=True) as draining:
                server.waits.append(draining)
                await server.drain()
            connections.cancel_scope.deadline = trio.current_time() + server.limits.close_seconds
            stopping.set()
    reactor.close()


async def _hold_connections(
    server: Server,
    reactor: Reactor,
    stopping: trio.Event,
    *,
    task_status: trio.TaskStatus[trio.Nursery] = trio.TASK_STATUS_IGNORED,
) -> None:
    # Connections continue after the cancellation of `serve` for as long as their last messages may take.
    with trio.CancelScope(shield=True), server.shared.policy.serving(), making_way():
        async with trio.open_nursery() as publishing:
            publishing.start_soon(server.hand_out)
            publishing.start_soon(keep_running, reactor.run)
            publishing.start_soon(server.shared.policy.collect_periodically)
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await stopping.wait()
            publishing.cancel_scope.cancel()


async def _accept(listener: socket.socket, kind: ListenerKind, reception: ConnectionAcceptor) -> None:
    async def take(connected: socket.socket, address: object) -> None:
        reception.take(connected, address, kind)

    await accept_each(listener, take, logger, reception.note_failure)


def _transport(
    connected: socket.socket, reactor: Reactor, peer: Peer, tls: ssl.SSLContext | None
) -> Transport:
    if tls is None:
        return SocketTransport(connected, reactor, peer)
    return EncryptedTransport(connected, tls, reactor, peer)


async def _refuse(transport: Transport) -> None:
    error = RpcError(LIMIT_EXCEEDED, "too many connections")
    try:
        await say(transport, refusal(try_later(503, error, 5)), seconds=1.0)
    except Exception as failure:
        log_failure("a connection cannot be refused", failure)
    finally:
        await transport.aclose()


def peer_of(address: object) -> str | None:
    """Return the IPv4 address of a socket's address, or its IPv6 network of 64 bits; None for this machine.

    Clients behind a proxy on this machine differ by their connections only.
    """
    if not isinstance(address, tuple) or not address:
        return None
    found = ip_address(str(address[0]).partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return None
    if isinstance(found, IPv6Address):
        return str(IPv6Address(int(found) >> 64 << 64)) + "/64"
    return str(found)
