"""Accepts connections until the server is to stop, and then waits for those that are open."""

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.share import Party
from wsnode.server.access.peers import peer_of
from wsnode.server.access.refusals import RefusedError
from wsnode.server.doors import Door, door_of
from wsnode.server.http.connection import Service
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import EncryptedTransport
from wsnode.server.transport.readiness import Arrivals, Peer
from wsnode.server.transport.sockets import accept_each
from wsnode.server.transport.transport import SocketTransport, Transport, say
from wsnode.server.turns.workers import making_way
from wsnode.server.upkeep.background import keep_running, log_failure
from wsnode.server.websocket.handshake import refusal

logger = logging.getLogger("wsnode.server")

TASK_NAME = "connection"
"""One text for all tasks of connections; trio would make one for each."""


class Reception:
    """Begins to serve connections that were accepted, in this process or by one that passed them to it."""

    def __init__(
        self, server: Server, arrivals: Arrivals, connections: trio.Nursery, tls: ssl.SSLContext | None
    ) -> None:
        self._server = server
        self._arrivals = arrivals
        self._connections = connections
        self._tls = tls

    def take(
        self, connected: socket.socket, address: object, door: Door, on_end: Callable[[], None] | None = None
    ) -> None:
        """Serve a connection from `address`, or refuse it; `on_end` is called when it has ended."""
        party = Party(peer_of(address))
        try:
            tls = self._tls if door is Door.CLIENTS else None
            transport = _transport(connected, self._arrivals, party.peer, tls)
        except Exception as error:
            # The client may have gone already.
            connected.close()
            log_failure("a connection cannot be served", error)
            if on_end is not None:
                on_end()
            return
        service = self._service(door)
        if self._server.admit(party, service):
            serving = partial(self._server.serve_admitted, transport, party, service)
        else:
            serving = partial(_refuse, transport)
        if on_end is None:
            self._connections.start_soon(serving, name=TASK_NAME)
        else:
            self._connections.start_soon(_then, serving, on_end, name=TASK_NAME)

    def _service(self, door: Door) -> Service:
        match door:
            case Door.CLIENTS:
                return self._server.service
            case Door.UNIX:
                return self._server.socket_service
            case Door.OPERATORS:
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
    task_status: trio.TaskStatus[Reception] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the connections of `listeners` until cancelled; then say goodbye to each before returning.

    It starts with a `Reception`, for connections that come from elsewhere.

    With `tls`, TCP connections are encrypted; those to a Unix socket never are. On the sockets of `operators`
    are their pages alone, unencrypted.
    """
    doors = [(listener, door_of(listener)) for listener in listeners]
    doors += [(listener, Door.OPERATORS) for listener in operators]
    stopping, arrivals = trio.Event(), Arrivals()
    async with trio.open_nursery() as outer:
        connections = await outer.start(_hold_connections, server, arrivals, stopping)
        server.waits.append(connections.cancel_scope)
        reception = Reception(server, arrivals, connections, tls)
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(keep_running, server.keep_alive)
                for listener, door in doors:
                    accepting.start_soon(_accept, listener, door, reception)
                task_status.started(reception)
        finally:
            for listener, _door in doors:
                listener.close()
            with trio.CancelScope(shield=True) as draining:
                server.waits.append(draining)
                await server.drain()
            connections.cancel_scope.deadline = trio.current_time() + server.limits.close_seconds
            stopping.set()
    arrivals.close()


async def _hold_connections(
    server: Server,
    arrivals: Arrivals,
    stopping: trio.Event,
    *,
    task_status: trio.TaskStatus[trio.Nursery] = trio.TASK_STATUS_IGNORED,
) -> None:
    # Connections outlive the cancellation of `serve` by the time that their goodbye may take.
    with trio.CancelScope(shield=True), server.shared.shelter.serving(), making_way():
        async with trio.open_nursery() as publishing:
            publishing.start_soon(server.hand_out)
            publishing.start_soon(keep_running, arrivals.run)
            publishing.start_soon(server.shared.shelter.look_often)
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await stopping.wait()
            publishing.cancel_scope.cancel()


async def _accept(listener: socket.socket, door: Door, reception: Reception) -> None:
    async def take(connected: socket.socket, address: object) -> None:
        reception.take(connected, address, door)

    await accept_each(listener, take, logger)


def _transport(
    connected: socket.socket, arrivals: Arrivals, peer: Peer, tls: ssl.SSLContext | None
) -> Transport:
    if tls is None:
        return SocketTransport(connected, arrivals, peer)
    return EncryptedTransport(connected, tls, arrivals, peer)


async def _refuse(transport: Transport) -> None:
    error = RpcError(LIMIT_EXCEEDED, "too many connections")
    try:
        await say(transport, refusal(RefusedError(503, error, {"Retry-After": "5"})), seconds=1.0)
    except Exception as failure:
        log_failure("a connection cannot be refused", failure)
    finally:
        await transport.aclose()
