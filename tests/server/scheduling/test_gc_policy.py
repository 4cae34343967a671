import gc
import socket
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock
from websockets.protocol import Protocol

from tests.server.conftest import OpenSite, Site
from wsnode.server.accepting import serve
from wsnode.server.scheduling import gc_policy
from wsnode.server.scheduling.gc_policy import (
    BUSY_SECONDS,
    IDLE_SECONDS,
    MAX_DUE,
    RIPE_OBJECTS,
    GcPolicy,
    collect_garbage,
)
from wsnode.server.server import Server
from wsnode.server.transport.poller import Reactor
from wsnode.server.transport.transport import SocketTransport

pytestmark = pytest.mark.slow

HANDSHAKE = (
    b"GET /ws/v3/key HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
CALL = b'{"jsonrpc":"2.0","id":1,"method":"slices","params":[3]}'
FRAME = bytes((0x81, 0x80 | len(CALL), 0, 0, 0, 0)) + CALL
SUBSCRIBE = b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":[0]}'
SUBSCRIPTION = bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE
PING = b"\x89\x80\0\0\0\0"
FRAGMENTS = b"\x01" + FRAME[1:] + b"\x80\x80\0\0\0\0"
NO_HANDSHAKE = HANDSHAKE.replace(b"Version: 13", b"Version: 12")
ZEROS = b"[" + b"0," * 150_000 + b"0]"
"""A batch that is too large, and long enough to be read in a thread."""
LARGE = b"\x81\xff" + len(ZEROS).to_bytes(8, "big") + b"\0\0\0\0" + ZEROS
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
        # A parser in a cycle is a suspended generator, which the collector ends, and then does not count.
        found += [type(each).__name__ for each in gc.get_objects() if isinstance(each, Protocol)]
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

    reactor = Reactor()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reactor.run)
        async with trio.open_nursery() as talking:
            talking.start_soon(site.server.serve_transport, SocketTransport(theirs, reactor))
            talking.start_soon(talk)
        nursery.cancel_scope.cancel()
    reactor.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param((HANDSHAKE, FRAME, CLOSE), id="closed"),
        pytest.param((HANDSHAKE, FRAME), id="gone"),
        pytest.param((HANDSHAKE, FRAME + FRAME[:9]), id="gone in the middle of a frame"),
        pytest.param((HANDSHAKE, PING + FRAME), id="gone after a ping"),
        pytest.param((HANDSHAKE, FRAGMENTS), id="gone after a message in fragments"),
        pytest.param((HANDSHAKE, SUBSCRIPTION, SUBSCRIPTION), id="gone with subscriptions"),
        pytest.param((HANDSHAKE, SUBSCRIPTION, CLOSE), id="closed with a subscription"),
        pytest.param((HANDSHAKE, b"\xff\xff\xff"), id="against the protocol"),
        pytest.param((NO_HANDSHAKE,), id="not let in"),
        pytest.param((HANDSHAKE, LARGE), id="gone after a batch that was refused in a thread"),
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


@contextmanager
def visits() -> Iterator[list[int]]:
    """Count the objects that each collection looks at."""
    counts: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            young = range(info["generation"] + 1)
            counts.append(sum(len(gc.get_objects(generation)) for generation in young))

    gc.callbacks.append(count)
    try:
        yield counts
    finally:
        gc.callbacks.remove(count)


@asynccontextmanager
async def open_server() -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve, Server([]), []))
        yield
        nursery.cancel_scope.cancel()


class Ring:
    def __init__(self) -> None:
        self.itself = self


def limited(monkeypatch: pytest.MonkeyPatch, *, thaw: int, most_at_once: int) -> GcPolicy:
    monkeypatch.setattr(gc_policy, "THAW", thaw)
    monkeypatch.setattr(gc_policy, "MAX_AT_ONCE", most_at_once)
    return GcPolicy()


async def grow(held: list[list[int]], objects: int) -> None:
    """Hold more objects, in as many turns as calls and connections would take."""
    for _ in range(objects // 1_000):
        held += [[number] for number in range(1_000)]
        await trio.lowlevel.checkpoint()


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_no_collection_looks_at_all_that_a_server_holds() -> None:
    held: list[list[int]] = []
    with visits() as counts:
        async with open_server():
            await grow(held, 200_000)
    assert max(counts) < 50_000


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_what_takes_the_place_of_old_objects_is_looked_at_soon(autojump_clock: MockClock) -> None:
    held = [[number] for number in range(100_000)]
    with visits() as counts:
        async with open_server():
            for number in range(100_000):
                # One more and one less: Python counts none.
                held[number] = [number]
                if number % 1_000 == 0:
                    await trio.sleep(BUSY_SECONDS)
            await trio.sleep(IDLE_SECONDS)
    assert max(counts) < 10_000
    assert sum(counts) > 100_000


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_garbage_that_lived_long_is_freed_while_objects_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy, ring = limited(monkeypatch, thaw=2, most_at_once=10**7), Ring()
    found = weakref.ref(ring)
    policy.look()
    policy.look_at_all(is_quiet=True)
    del ring
    gc.collect()
    assert found() is not None
    policy.look()
    policy.look_at_all(is_quiet=True)
    assert found() is None


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_a_look_at_all_objects_waits_for_a_quiet_moment_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    policy, ring = limited(monkeypatch, thaw=1, most_at_once=10**7), Ring()
    found = weakref.ref(ring)
    policy.look()
    del ring
    await trio.sleep(MAX_DUE)
    policy.look()
    policy.look_at_all(is_quiet=False)
    assert found() is not None
    await trio.sleep(1)
    policy.look_at_all(is_quiet=False)
    assert found() is None


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_a_server_with_little_to_do_looks_at_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_policy, "THAW", 1)
    monkeypatch.setattr(gc_policy, "MAX_AT_ONCE", 10**7)
    ring, freed, held = Ring(), trio.Event(), list[list[int]]()
    weakref.finalize(ring, freed.set)
    async with open_server():
        await grow(held, 2 * RIPE_OBJECTS)
        del ring
        with trio.fail_after(120):
            await freed.wait()


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_frozen_garbage_stays_while_objects_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, ring = limited(monkeypatch, thaw=2, most_at_once=1_000), Ring()
    found = weakref.ref(ring)
    policy.look()
    del ring
    for _ in range(3):
        policy.look()
        policy.look_at_all(is_quiet=True)
    assert found() is not None


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_frozen_garbage_stays_if_objects_become_many_before_a_quiet_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy, ring = limited(monkeypatch, thaw=1, most_at_once=10**7), Ring()
    found = weakref.ref(ring)
    policy.look()
    del ring
    monkeypatch.setattr(gc_policy, "MAX_AT_ONCE", 1_000)
    policy.look_at_all(is_quiet=True)
    assert found() is not None


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_many_frozen_objects_are_counted_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, ring = limited(monkeypatch, thaw=1, most_at_once=1_000), Ring()
    found = weakref.ref(ring)
    for _ in range(9):
        policy.look()
        policy.look_at_all(is_quiet=True)
    del ring
    monkeypatch.setattr(gc_policy, "MAX_AT_ONCE", 10**7)
    # They were counted at the looks 1, 2, 4 and 8.
    for _ in range(6):
        policy.look()
        policy.look_at_all(is_quiet=True)
    assert found() is not None
    policy.look()
    policy.look_at_all(is_quiet=True)
    assert found() is None


@pytest.mark.usefixtures("_nothing_sheltered")
async def test_looks_at_young_objects_count_once_they_were_many(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, ring = limited(monkeypatch, thaw=1, most_at_once=10**7), Ring()
    found = weakref.ref(ring)
    policy.look_at_young()
    policy.look_at_all(is_quiet=True)
    del ring
    policy.look_at_young()
    policy.look_at_all(is_quiet=True)
    assert found() is not None
    held = [[number] for number in range(RIPE_OBJECTS)]
    assert policy.look_at_young() >= len(held)
    policy.look_at_all(is_quiet=True)
    assert found() is None


async def test_the_collector_is_as_before_once_nothing_is_served() -> None:
    before = gc.get_threshold(), list(gc.callbacks)
    async with open_server():
        assert gc.get_threshold() != before[0]
    assert (gc.get_threshold(), gc.callbacks) == before


def test_a_start_without_the_collector_ends_with_what_it_made_frozen() -> None:
    gc.disable()
    try:
        made = [object()]
        collect_garbage()
        assert gc.isenabled()
        assert all(each is not made for each in gc.get_objects())
    finally:
        gc.enable()
        gc.unfreeze()
