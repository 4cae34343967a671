"""Accepts connections until the server is to stop, and then waits for those that are open."""

import logging
import socket
import ssl
from collections.abc import Sequence

import msgspec
import trio

from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.share import Party
from wsnode.server.access.peers import peer_of
from wsnode.server.access.refusals import RefusedError
from wsnode.server.http.connection import Service
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import EncryptedTransport
from wsnode.server.transport.readiness import Arrivals
from wsnode.server.transport.transport import SocketTransport, Transport, say
from wsnode.server.upkeep.background import keep_running, log_failure
from wsnode.server.websocket.handshake import refusal

ACCEPTS_AT_ONCE = 64

logger = logging.getLogger("wsnode.server")


class _Entry(msgspec.Struct, frozen=True):
    """A listening socket, and what its connections are served."""

    listener: socket.socket
    service: Service
    tls: ssl.SSLContext | None = None


async def serve(
    server: Server,
    listeners: Sequence[socket.socket],
    *,
    tls: ssl.SSLContext | None = None,
    operators: Sequence[socket.socket] = (),
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the connections of `listeners` until cancelled; then say goodbye to each before returning.

    With `tls`, TCP connections are encrypted; those to a Unix socket never are. On the sockets of `operators`
    are their pages alone, unencrypted.
    """
    entries = [_client_entry(server, listener, tls) for listener in listeners]
    entries += [_Entry(listener, server.operators_service) for listener in operators]
    stopping, arrivals = trio.Event(), Arrivals()
    server.shared.shelter.begin()
    async with trio.open_nursery() as outer:
        connections = await outer.start(_hold_connections, server, arrivals, stopping)
        server.waits.append(connections.cancel_scope)
        try:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(keep_running, server.keep_alive)
                for entry in entries:
                    accepting.start_soon(_accept, server, arrivals, entry, connections)
                task_status.started()
        finally:
            for entry in entries:
                entry.listener.close()
            with trio.CancelScope(shield=True) as draining:
                server.waits.append(draining)
                await server.drain()
            connections.cancel_scope.deadline = trio.current_time() + server.limits.close_seconds
            stopping.set()
    arrivals.close()


def _client_entry(server: Server, listener: socket.socket, tls: ssl.SSLContext | None) -> _Entry:
    if listener.family in (socket.AF_INET, socket.AF_INET6):
        return _Entry(listener, server.service, tls)
    return _Entry(listener, server.socket_service)


async def _hold_connections(
    server: Server,
    arrivals: Arrivals,
    stopping: trio.Event,
    *,
    task_status: trio.TaskStatus[trio.Nursery] = trio.TASK_STATUS_IGNORED,
) -> None:
    # Connections outlive the cancellation of `serve` by the time that their goodbye may take.
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as publishing:
            publishing.start_soon(server.hand_out)
            publishing.start_soon(keep_running, arrivals.run)
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await stopping.wait()
            publishing.cancel_scope.cancel()


async def _accept(server: Server, arrivals: Arrivals, entry: _Entry, connections: trio.Nursery) -> None:
    while True:
        await trio.lowlevel.wait_readable(entry.listener)
        for _ in range(ACCEPTS_AT_ONCE):
            try:
                connected, address = entry.listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            except OSError as error:
                # Some failures are the network's and pass, as do those for want of files (accept(2)).
                logger.warning("cannot accept: %s", error)
                await trio.sleep(0.1)
                break
            try:
                transport = _transport(connected, arrivals, entry.tls)
            except Exception as error:
                # The client may have gone already.
                connected.close()
                log_failure("a connection cannot be served", error)
                continue
            party = Party(peer_of(address))
            if server.admit(party, entry.service):
                connections.start_soon(server.serve_admitted, transport, party, entry.service)
            else:
                connections.start_soon(_refuse, transport)


def _transport(connected: socket.socket, arrivals: Arrivals, tls: ssl.SSLContext | None) -> Transport:
    if tls is None:
        return SocketTransport(connected, arrivals)
    return EncryptedTransport(connected, tls, arrivals)


async def _refuse(transport: Transport) -> None:
    error = RpcError(LIMIT_EXCEEDED, "too many connections")
    try:
        await say(transport, refusal(RefusedError(503, error, {"Retry-After": "5"})), seconds=1.0)
        await transport.aclose()
    except Exception as failure:
        log_failure("a connection cannot be refused", failure)
