"""A connection has a nursery once something runs beside its reader or it is to end, and loses nothing."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from websockets.frames import Opcode

from tests.server.conftest import NUMBER, OpenSite, Peer, Site, until
from tests.server.transport.test_poller import Sockets
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING
from wsnode.server.transport.poller import Reactor


class Clients:
    """The clients of a site, over sockets."""

    def __init__(self, site: Site, sockets: Sockets) -> None:
        self.site = site
        self._sockets = sockets

    async def peer(self) -> Peer:
        client, transport = self._sockets.pair()
        self.site.nursery.start_soon(self.site.server.serve_transport, transport)
        peer = Peer(trio.SocketStream(trio.socket.from_stdlib_socket(client)))
        assert (await peer.open()).status_code == 101
        await self._sockets.settle()
        return peer

    @property
    def nurseries(self) -> list[int]:
        """How many each connection has open."""
        tasks = [task for task in self.site.nursery.child_tasks if "serve_transport" in task.name]
        return [len(task.child_nurseries) for task in tasks]


@pytest.fixture
async def over_sockets(open_site: OpenSite) -> AsyncIterator[Clients]:
    # Who answers a close in time is not cut off, also where the machine does something else for a while.
    async with sockets_of(open_site, Limits(close_seconds=1)) as found:
        yield found


@asynccontextmanager
async def sockets_of(open_site: OpenSite, limits: Limits) -> AsyncIterator[Clients]:
    reactor = Reactor()
    with trio.fail_after(60):
        async with open_site(limits) as site:
            site.nursery.start_soon(reactor.run)
            sockets = Sockets(reactor, site.nursery)
            yield Clients(site, sockets)
            for client in sockets.clients:
                client.close()
    reactor.close()


async def test_quick_calls_pings_and_subscriptions_need_none(over_sockets: Clients) -> None:
    peer = await over_sockets.peer()
    await peer.send(NUMBER % 1)
    assert (await peer.reply())["result"] == "0x1"
    peer.protocol.send_ping(b"sign")
    await peer.flush()
    assert (await peer.frame()).opcode is Opcode.PONG
    await peer.call("subscribe")
    identity = (await peer.reply())["result"]
    over_sockets.site.feed.publish(1)
    assert (await peer.reply())["subscription"] == identity
    assert over_sockets.nurseries == [0]


async def test_slow_calls_of_a_connection_at_rest_are_answered(over_sockets: Clients) -> None:
    peer, site = await over_sockets.peer(), over_sockets.site
    for identity in range(3):
        peer.protocol.send_text(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "wait"}).encode())
    await peer.flush()
    await until(lambda: site.gate.entered > 0)
    assert over_sockets.nurseries == [1]
    await peer.send(NUMBER % 9)
    assert (await peer.reply())["id"] == 9
    site.gate.opened = 1
    assert {(await peer.reply())["id"] for _ in range(3)} == {0, 1, 2}


async def test_what_a_client_does_not_read_is_sent_when_it_does(over_sockets: Clients) -> None:
    peer = await over_sockets.peer()
    await peer.call("zeros", 3_000_000)
    await trio.testing.wait_all_tasks_blocked(0.01)
    assert over_sockets.nurseries == [1]
    assert len((await peer.reply())["result"]) == 3_000_000


async def test_a_goodbye_ends_a_connection_at_rest_that_does_not_answer(over_sockets: Clients) -> None:
    peer, _silent = await over_sockets.peer(), await over_sockets.peer()
    assert over_sockets.nurseries == [0, 0]
    for connection in list(over_sockets.site.server._alive):
        connection.close(*RESTARTING)
    assert await peer.close_code() == 1012
    await peer.flush()
    await until(lambda: not over_sockets.nurseries)
    assert not over_sockets.site.server._alive


async def test_a_connection_at_rest_ends_with_its_server(open_site: OpenSite) -> None:
    async with sockets_of(open_site, Limits()) as found:
        await found.peer()
        await found.peer()
        server = found.site.server
        assert server.connections == 2
    assert server.connections == 0
    assert not server._alive


async def test_a_client_that_leaves_a_connection_at_rest_needs_none(over_sockets: Clients) -> None:
    peer = await over_sockets.peer()
    await peer.stream.aclose()
    while over_sockets.nurseries:
        assert over_sockets.nurseries == [0]
        await trio.lowlevel.checkpoint()
    assert not over_sockets.site.server._alive


async def test_no_call_begins_behind_the_end(open_site: OpenSite) -> None:
    async with sockets_of(open_site, Limits(close_seconds=1, outbox_bytes=20_000)) as found:
        peer, site = await found.peer(), found.site
        await peer.call("zeros", 3_000_000)
        peer.protocol.send_text(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "wait"}).encode())
        # The reply is larger than the outbox, so the call waits; then comes what is no frame.
        await peer.stream.send_all(b"".join(peer.protocol.data_to_send()) + b"\xff\xff\xff")
        await trio.testing.wait_all_tasks_blocked(0.002)
        assert await peer.close_code() == 1002
        await until(lambda: not found.nurseries)
        assert (site.gate.entered, site.server.shared.executor.in_flight) == (0, 0)
