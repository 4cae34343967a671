"""Server: reads the head of each connection, and passes the connection to WebSocket or HTTP."""

import logging
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec
import trio

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import INVALID_REQUEST, LIMIT_EXCEEDED, RpcError
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.server.access.api_keys import ApiKey
from wsnode.server.access.origin_policy import OPEN, OriginPolicy
from wsnode.server.access.request_errors import HttpRequestRefusedError, try_later
from wsnode.server.access.router import Network, Router
from wsnode.server.http.connection import HttpConnection
from wsnode.server.http.headers import MalformedHeadError, Upgrade, read_head, wants_websocket
from wsnode.server.http.responses import StaticFile
from wsnode.server.http.service import Page, PageContent, Service
from wsnode.server.limit_report import NodeLimits, register_limits
from wsnode.server.limits import Limits
from wsnode.server.observability.supervisor import keep_running
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.scheduling.resources import NodeTotals
from wsnode.server.shared import Shared
from wsnode.server.transport.transport import StreamTransport, Transport, say
from wsnode.server.websocket.connection import WebSocketConnection
from wsnode.server.websocket.handshake import refusal, shake_hands

if TYPE_CHECKING:
    from wsnode.server.observability.families import Family
    from wsnode.server.observability.metrics import Metrics

STOPPING = (1001, "the server is stopping")
RESTARTING = (1012, "service restart")
REVOKED = (1008, "the API key was revoked")

logger = logging.getLogger("wsnode.server")

Serving: TypeAlias = Coroutine[Any, Any, Upgrade | None]
"""Coroutine that serves a connection to its end, or returns a request on it for WebSocket."""


class ProcessProbes(Protocol):
    """Questions of one process about all processes of the node: their metrics, and their readiness.
    `WorkerMetricsClient` implements it.
    """

    async def metrics_page(self) -> PageContent:
        """Return the page with the metrics of all processes."""
        ...

    async def is_ready(self) -> bool:
        """Return True if one of the processes takes calls."""
        ...


class _Arrival(NamedTuple):
    """WebSocket connection about to be served, its API key, and the bytes that answer its handshake."""

    connection: WebSocketConnection
    api_key: ApiKey | None
    answer: bytes


class Server:
    """Server of one process: its services for clients and operators, and the state that all of its
    connections share.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        limits: Limits | None = None,
        *,
        origin_policy: OriginPolicy = OPEN,
        operators: OriginPolicy = OPEN,
        files: Mapping[str, StaticFile] | None = None,
        closes_slow: bool = False,
        public_metrics: bool = True,
        processes: int = 1,
        totals: NodeTotals | None = None,
        open_files: int | None = None,
    ) -> None:
        """Make a server; `origin_policy` is for clients, `operators` for the operators' address.

        `files` are served to clients by path. A client that falls behind with a subscription catches up, or
        is closed if `closes_slow`. Unless `public_metrics`, metrics are served to operators only. `limits`
        are those of all `processes` together, and `totals` counts their subscriptions. `open_files` bounds
        the connections of each process.
        """
        self._processes = processes
        self._open_files = open_files
        self._all_limits = self._within_files(limits or Limits())
        self.shared = Shared(self._all_limits.share(processes), closes_slow=closes_slow)
        self.shared.totals = totals
        self.shared.fan_outs += [network.fan_out for network in networks if network.fan_out is not None]
        for network in networks:
            register_limits(network, lambda: NodeLimits(self._all_limits, self.limits, processes))
        self._dispatchers = {
            network.name: Dispatcher(
                network.registry,
                network.open_view,
                bounds=self.limits,
                clock=trio.current_time,
                versions=network.versions,
                versioned_cache=network.versioned_cache,
            )
            for network in networks
        }
        hosts = {host: network.name for network in networks for host in network.hosts}
        keys = {network.name: network.keys for network in networks if network.keys is not None}
        tokens = {network.name: network.tokens for network in networks if network.tokens is not None}
        barriers = {network.name: network.barrier for network in networks if network.barrier is not None}
        rpc_versions = {network.name: network.rpc_versions for network in networks}
        self.router = Router(self._dispatchers, hosts, keys, origin_policy, tokens, barriers, rpc_versions)
        self.final_notice = STOPPING
        """Close code and reason for WebSocket clients when the server stops."""
        self.waits: list[trio.CancelScope] = []
        """Scopes of tasks for which the end of the server waits."""
        self._networks = networks
        health = self._health_pages()
        self.together: ProcessProbes | None = None
        """Access to all processes of the node, if there are several; pages are then about all of them."""
        metered: dict[str, Page] = {"/metrics": self._metrics_page}
        public = {**health, **(metered if public_metrics else {})}
        self.service = Service(self.router, self.shared, public, self.shared.connections, files or {})
        """Service for clients over TCP."""
        # A web page cannot connect to a path of the file system, so clients of the Unix socket may use any
        # host name.
        unnamed = msgspec.structs.replace(origin_policy, hosts=None)
        self.socket_service = msgspec.structs.replace(
            self.service,
            router=Router(self._dispatchers, hosts, keys, unnamed, tokens, barriers, rpc_versions),
        )
        """Service for clients of a Unix socket."""
        self.operators_service = Service(
            Router({}, {}, {}, operators), self.shared, {**health, **metered}, self.shared.operators
        )
        """Service for operators on an address of their own: health and metrics, no network."""
        self._alive: dict[WebSocketConnection, float] = {}
        self._displaced: set[ClientId] = set()
        """Connections that end because new ones have taken their places."""
        self.shared.waiting.on_overflow = self._drop_replies

    @cached_property
    def _metrics(self) -> "Metrics":
        # prometheus_client takes as long to load as the whole server, and few servers are ever asked for
        # metrics.
        from wsnode.server.observability.metrics import Metrics

        served = [each for network in self._networks for each in (network, *_beside(network))]
        registries = {network.name: network.registry for network in served}
        versions = {network.name: network.versions for network in self._networks}
        figures = {network.name: network.figures for network in self._networks}
        return Metrics(
            registries,
            self.shared,
            versions,
            figures,
            is_ready=lambda: self.ready,
            limits=lambda: self._all_limits,
        )

    def families(self) -> "list[Family]":
        """Return the metrics of this process."""
        return self._metrics.families()

    @property
    def limits(self) -> Limits:
        return self.shared.limits

    def apply(self, limits: Limits) -> None:
        """Replace the limits (of all processes together) for work that begins from now on.

        An open connection keeps the sizes of its messages, replies and outbox.
        """
        self._all_limits = self._within_files(limits)
        self.shared.apply(self._all_limits.share(self._processes))
        for dispatcher in self._dispatchers.values():
            dispatcher.apply(self.limits)

    @property
    def all_limits(self) -> Limits:
        """Return the limits in force for all processes together."""
        return self._all_limits

    def _within_files(self, limits: Limits) -> Limits:
        return limits if self._open_files is None else limits.within(self._open_files * self._processes)

    @property
    def connections(self) -> int:
        return self.shared.counters.connections

    async def serve_stream(self, stream: trio.abc.Stream) -> None:
        """Serve one connection on any trio stream, until it ends."""
        await self.serve_transport(StreamTransport(stream))

    def admit(self, client: ClientId, service: Service | None = None) -> bool:
        """Count one more connection; return False if there is no room.

        At the limit, the HTTP connection that has been idle longest is closed to make room.
        """
        service = service or self.service
        connections = service.connections
        if connections.used < connections.limit:
            if not connections.admits(client):
                return False
        elif (idle := next(iter(service.idle), None)) is None:
            return False
        else:
            displaced = service.idle.pop(idle)
            self._displaced.add(displaced)
            connections.give_back(displaced)
            idle.cancel()
        connections.take(client)
        return True

    async def serve_transport(
        self, transport: Transport, client: ClientId | None = None, service: Service | None = None
    ) -> None:
        """Serve one connection without admission, by default as a client's."""
        client, service = client or ClientId(), service or self.service
        service.connections.take(client)
        await self.serve_admitted(transport, client, service)

    async def serve_admitted(self, transport: Transport, client: ClientId, service: Service) -> None:
        """Serve one connection that has been counted; raises nothing."""
        counters = self.shared.counters
        counters.accepted += 1
        counters.connections += 1
        try:
            try:
                serving = await self._begin(transport, client, service)
                while serving is not None:
                    if (upgrade := await serving) is None:
                        break
                    serving = await self._begin_websocket(transport, upgrade, client, service.router)
            finally:
                self._leave(client, service)
                counters.connections -= 1
                await transport.aclose()
        except Exception:
            logger.exception("a connection failed")

    def _leave(self, client: ClientId, service: Service) -> None:
        if client in self._displaced:
            self._displaced.remove(client)
        else:
            service.connections.give_back(client)

    async def keep_alive(self) -> None:
        """Send due pings to WebSocket connections and close those with overdue messages, for ever."""
        while True:
            due = min(self._ping(now := trio.current_time()), self._give_up_messages(now))
            await trio.sleep(max(due - now, 0.05))

    # All entries have the same time limit, so the order of insertion is the order in which they are due. An
    # entry inserted during the sleep after an empty dictionary is due later than the time returned.

    def _ping(self, now: float) -> float:
        """Send the pings that are due; return the time of the next one, on trio's clock in seconds."""
        while self._alive and (first := next(iter(self._alive.items())))[1] <= now:
            connection = first[0]
            del self._alive[connection]
            self._alive[connection] = now + self.limits.ping_seconds
            connection.keep_alive()
        return next(iter(self._alive.values()), now + self.limits.ping_seconds)

    def _give_up_messages(self, now: float) -> float:
        """Close connections with overdue messages; return the time of the next check, in seconds."""
        unfinished, seconds = self.shared.unfinished, self.limits.message_seconds
        while unfinished and (first := next(iter(unfinished.items())))[1] + seconds <= now:
            first[0].abort_message()
        return next(iter(unfinished.values()), now) + seconds

    @property
    def ready(self) -> bool:
        """Return True if `/readyz` answers 200: calls are accepted, and the stores can be read."""
        crowded = any(dispatcher.is_crowded for dispatcher in self._dispatchers.values())
        return not (self.shared.draining or crowded or self._network_hindrance() is not None)

    def _network_hindrance(self) -> str | None:
        reasons = (network.not_ready_reason() for network in self._networks)
        return next((found for found in reasons if found is not None), None)

    def hurry(self) -> None:
        """End the drain now, if the server is stopping."""
        for scope in self.waits:
            scope.cancel()

    async def hand_out(self) -> None:
        """Deliver the networks' events to their subscribers, for ever."""
        async with trio.open_nursery() as nursery:
            for fan_out in self.shared.fan_outs:
                nursery.start_soon(keep_running, fan_out.run)

    async def drain(self) -> None:
        """End subscriptions, let calls in flight end, and close every connection with a reason.

        A subscription's last notification names its position, so all published events are sent first.
        """
        self.shared.draining = True
        for service in (self.service, self.operators_service):
            for scope in service.idle:
                scope.cancel()
        await self._end_subscriptions()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.shared.executor.wait_idle, self.limits.drain_seconds)
            for connection in list(self._alive):
                nursery.start_soon(connection.retire, *self.final_notice)

    async def _end_subscriptions(self) -> None:
        with trio.move_on_after(self.limits.drain_seconds):
            for fan_out in self.shared.fan_outs:
                await fan_out.finish()
        # A last notice must not name a position after undelivered events, so delivery ends first.
        for fan_out in self.shared.fan_outs:
            fan_out.give_up()
        for connection in self._alive:
            connection.send_final_notices()

    # A coroutine that awaits another one stays in memory for as long as the connection: 250 to 350 bytes
    # each. So the functions below return the coroutine that serves the connection.

    async def _begin(self, transport: Transport, client: ClientId, service: Service) -> Serving | None:
        """Return the coroutine that serves the connection, None if it was refused."""
        try:
            head, rest = await read_head(transport, self.limits)
        except MalformedHeadError as error:
            if error.status is not None:
                text = {400: "not HTTP", 408: "read timeout", 431: "header fields too large"}[error.status]
                self.shared.counters.refusals[error.status] += 1
                refused = HttpRequestRefusedError(error.status, RpcError(INVALID_REQUEST, text))
                answer = refusal(refused, error.data)
                await say(transport, answer, seconds=self.limits.close_seconds)
            return None
        if wants_websocket(head):
            return await self._begin_websocket(transport, Upgrade(head, rest), client, service.router)
        return HttpConnection(transport, service, client).run(head + rest)

    async def _begin_websocket(
        self, transport: Transport, upgrade: Upgrade, client: ClientId, router: Router
    ) -> Serving | None:
        if (arrival := await self._arrival(transport, upgrade.head, client, router)) is None:
            return None
        connection, api_key, answer = arrival
        # The connection is counted before its answer is sent, because other connections could be admitted
        # while the answer is on its way.
        try:
            if api_key is not None:
                api_key.take_connection(connection, self._revoke)
        except RpcError as error:
            await self._refuse(transport, upgrade.head, try_later(429, error))
            return None
        is_there = False
        try:
            is_there = await say(transport, answer, seconds=self.limits.close_seconds, last=False)
        finally:
            if not is_there and api_key is not None:
                api_key.give_back_connection(connection)
        return self._run_websocket(connection, upgrade.rest, api_key) if is_there else None

    async def _arrival(
        self, transport: Transport, head: bytes, client: ClientId, router: Router
    ) -> _Arrival | None:
        """Return a connection that is about to begin, None if it was refused."""
        if self.shared.draining:
            error = RpcError(LIMIT_EXCEEDED, self.final_notice[1])
            await self._refuse(transport, head, try_later(503, error))
            return None
        handshake = shake_hands(head, router, client)
        route = handshake.route
        if route is None:
            self.shared.counters.refusals[handshake.status] += 1
            await say(transport, handshake.answer, seconds=self.limits.close_seconds)
            return None
        if handshake.demand is not None and (refused := await handshake.demand()) is not None:
            await self._refuse(transport, head, refused)
            return None
        api_key = route.caller.api_key
        network, client_of_key = route.caller.network, route.caller.client
        quota = ClientQuota(self.shared, client_of_key, network=network, api_key=api_key)
        caller = msgspec.structs.replace(route.caller, quota=quota)
        session = route.dispatcher.session(caller, api_key, shares_results=True)
        connection = WebSocketConnection(
            transport, route.dispatcher, session, self.shared, quota, handshake.deflate
        )
        return _Arrival(connection, api_key, handshake.answer)

    async def _refuse(self, transport: Transport, head: bytes, refused: HttpRequestRefusedError) -> None:
        self.shared.counters.refusals[refused.status] += 1
        await say(transport, refusal(refused, head), seconds=self.limits.close_seconds)

    async def _run_websocket(
        self, connection: WebSocketConnection, rest: bytes, api_key: ApiKey | None
    ) -> None:
        self._alive[connection] = trio.current_time() + self.limits.ping_seconds
        self.shared.counters.websockets += 1
        # The handshake may have been in progress when `drain` or a revocation closed the connections in
        # `_alive`.
        final_notice = self.final_notice if self.shared.draining else None
        if api_key is not None and api_key.is_revoked:
            final_notice = REVOKED
        try:
            await connection.run(rest, final_notice)
        finally:
            self.shared.counters.websockets -= 1
            del self._alive[connection]
            if api_key is not None:
                api_key.give_back_connection(connection)

    def _revoke(self, connection: WebSocketConnection) -> None:
        """Close a connection whose key was revoked; a connection that has not begun closes when it begins."""
        if connection in self._alive:
            connection.close(*REVOKED)

    def _drop_replies(self) -> None:
        """End the connection with the most unread bytes, of the peer with the most bytes."""
        waiting = self.shared.waiting

        def weight(connection: WebSocketConnection) -> tuple[int, int]:
            unread = connection.output_bytes
            return (waiting.held_by(connection.client) if unread else 0), unread

        largest = max(self._alive, key=weight, default=None)
        if largest is not None and largest.output_bytes:
            logger.warning(
                "too many bytes of replies wait to be read: the client with the most is disconnected"
            )
            largest.evict_output()

    def _hindrance(self) -> bytes:
        if self.shared.draining:
            return b"draining\n"
        if (found := self._network_hindrance()) is not None:
            return found.encode() + b"\n"
        return b"too many versions of the chain are read\n"

    def _health_pages(self) -> dict[str, Page]:
        def healthy() -> tuple[int, str, bytes]:
            return 200, "text/plain", b"ok\n"

        return {"/healthz": healthy, "/readyz": self._ready_page}

    def _ready_page(self) -> PageContent | Awaitable[PageContent]:
        # The node is ready while one of its processes is, so the others are asked only if this one is not.
        # When the node drains, all its processes do, and the others need not be asked.
        if self.together is None or self.ready or self.shared.draining:
            return self._readiness(is_ready=self.ready)
        return self._readiness_together(self.together)

    async def _readiness_together(self, together: ProcessProbes) -> PageContent:
        return self._readiness(is_ready=await together.is_ready())

    def _readiness(self, *, is_ready: bool) -> PageContent:
        return (200, "text/plain", b"ready\n") if is_ready else (503, "text/plain", self._hindrance())

    def _metrics_page(self) -> PageContent | Awaitable[PageContent]:
        return self._metrics.page() if self.together is None else self.together.metrics_page()


def _beside(network: Network) -> list[Network]:
    return [port.network for port in network.ports]
