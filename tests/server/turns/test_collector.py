import gc
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio

from tests.server.conftest import OpenSite, Site
from wsnode.server.transport.readiness import Arrivals
from wsnode.server.transport.transport import SocketTransport
from wsnode.server.turns.collector import STEP, SUBSCRIPTIONS, Shelter

HANDSHAKE = (
    b"GET /ws/v3/key HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
CALL = b'{"jsonrpc":"2.0","id":1,"method":"slices","params":[3]}'
FRAME = bytes((0x81, 0x80 | len(CALL), 0, 0, 0, 0)) + CALL
SUBSCRIBE = b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":[0]}'
SUBSCRIPTION = bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE
CLOSE = b"\x88\x82\0\0\0\0\x03\xe8"
POST = (
    b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)


@contextmanager
def cycles() -> Iterator[list[str]]:
    """Find the names of what only the collector could free, at the end."""
    found: list[str] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += [type(each).__name__ for each in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def visit(site: Site, *sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    client = trio.SocketStream(trio.socket.from_stdlib_socket(ours))

    async def talk() -> None:
        async with client:
            for data in sent:
                await client.send_all(data)
                await client.receive_some()

    arrivals = Arrivals()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(arrivals.run)
        async with trio.open_nursery() as talking:
            talking.start_soon(site.server.serve_transport, SocketTransport(theirs, arrivals))
            talking.start_soon(talk)
        nursery.cancel_scope.cancel()
    arrivals.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param((HANDSHAKE, FRAME, CLOSE), id="closed"),
        pytest.param((HANDSHAKE, FRAME), id="gone"),
        pytest.param((HANDSHAKE, FRAME + FRAME[:9]), id="gone in the middle of a frame"),
        pytest.param((HANDSHAKE, SUBSCRIPTION, SUBSCRIPTION), id="gone with subscriptions"),
        pytest.param((HANDSHAKE, SUBSCRIPTION, CLOSE), id="closed with a subscription"),
        pytest.param((HANDSHAKE, b"\xff\xff\xff"), id="against the protocol"),
        pytest.param((POST % (len(CALL), CALL),), id="HTTP"),
    ],
)
async def test_a_connection_leaves_nothing_for_the_collector(
    sent: tuple[bytes, ...], open_site: OpenSite
) -> None:
    async with open_site() as site:
        site.feed.publish(1)
        await visit(site, *sent)
        with cycles() as found:
            for _ in range(3):
                await visit(site, *sent)
        assert found == []


@pytest.fixture
def _nothing_sheltered() -> Iterator[None]:
    """Have the collector look at everything, as in a new process: a run of tests hides much from it."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.freeze()


@pytest.mark.usefixtures("_nothing_sheltered")
def test_what_has_been_open_for_a_while_is_sheltered_until_few_are_left() -> None:
    shelter = Shelter()
    shelter.adapt(STEP - 1)
    assert gc.get_freeze_count() == 0
    shelter.adapt(STEP)
    sheltered = gc.get_freeze_count()
    assert sheltered > 0
    kept = [[number] for number in range(10_000)]
    shelter.adapt(2 * STEP)
    assert gc.get_freeze_count() > sheltered + len(kept) // 2
    del kept
    shelter.adapt(STEP)
    shelter.adapt(STEP // 16)
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("_nothing_sheltered")
def test_subscriptions_are_sheltered_as_connections_are() -> None:
    shelter = Shelter()
    shelter.adapt(1, (STEP - 1) * SUBSCRIPTIONS - 1)
    assert gc.get_freeze_count() == 0
    shelter.adapt(1, (STEP - 1) * SUBSCRIPTIONS)
    assert gc.get_freeze_count() > 0
