import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from wsnode.server.http.headers import MalformedHeadError, read_head
from wsnode.server.limits import Limits
from wsnode.server.transport.encrypted import EncryptedTransport, tls_context
from wsnode.server.transport.poller import Reactor
from wsnode.server.transport.transport import send_all


class Client:
    """The other end: TLS in memory over a socket, so that a test decides what is sent when."""

    def __init__(self, connected: socket.socket, authority: Path) -> None:
        self.socket = connected
        connected.setblocking(False)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=authority)
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")

    async def shake_hands(self) -> None:
        await self._until_done(self._tls.do_handshake)

    def encrypt(self, data: bytes) -> bytes:
        self._tls.write(data)
        return self._outgoing.read()

    def goodbye(self) -> bytes:
        with suppress(ssl.SSLWantReadError):
            self._tls.unwrap()
        return self._outgoing.read()

    async def send(self, data: bytes) -> None:
        while data:
            await trio.lowlevel.wait_writable(self.socket)
            data = data[self.socket.send(data) :]

    async def receive(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            found += await self._until_done(lambda: self._tls.read(1 << 20))
        return found

    async def _until_done(self, step: Callable[[], object]) -> bytes:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                await self.send(self._outgoing.read())
                await trio.lowlevel.wait_readable(self.socket)
                self._incoming.write(self.socket.recv(1 << 20))
            else:
                await self.send(self._outgoing.read())
                return result if isinstance(result, bytes) else b""


class World:
    """Encrypted transports that are read through one `Reactor`."""

    def __init__(self, reactor: Reactor, nursery: trio.Nursery, certificate: tuple[Path, Path]) -> None:
        self.reactor = reactor
        self.nursery = nursery
        self._authority = certificate[0]
        self._tls = tls_context(*certificate)

    @asynccontextmanager
    async def pair(
        self, tls: ssl.SSLContext | None = None, *, send_bytes: int | None = None
    ) -> AsyncIterator[tuple[Client, EncryptedTransport]]:
        theirs, ours = socket.socketpair()
        if send_bytes is not None:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        transport = EncryptedTransport(ours, tls or self._tls, self.reactor)
        with theirs:
            try:
                yield Client(theirs, self._authority), transport
            finally:
                await transport.aclose()

    async def settle(self) -> None:
        await trio.testing.wait_all_tasks_blocked(0.01)


@pytest.fixture
async def world(certificate: tuple[Path, Path]) -> AsyncIterator[World]:
    reactor = Reactor()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            yield World(reactor, nursery, certificate)
            nursery.cancel_scope.cancel()
    reactor.close()


class Reading:
    """A reader in a task of its own, until it has `size` bytes or the end."""

    def __init__(self, size: int) -> None:
        self.data = b""
        self.has_more: bool | None = None
        self._size = size

    def take(self, data: bytes) -> bool:
        self.data += data
        return len(self.data) < self._size

    async def run(self, transport: EncryptedTransport) -> None:
        self.has_more = await transport.feed(self.take)


class Steps(trio.abc.Instrument):
    """Counts how often tasks go on."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


@pytest.fixture
async def steps() -> AsyncIterator[Steps]:
    counted = Steps()
    trio.lowlevel.add_instrument(counted)
    yield counted
    trio.lowlevel.remove_instrument(counted)


async def test_what_is_sent_before_the_handshake_waits_for_it(world: World, steps: Steps) -> None:
    async with world.pair() as (client, transport):
        world.nursery.start_soon(send_all, transport, b"too many connections", 60.0)
        await world.settle()
        await client.shake_hands()
        assert await client.receive(20) == b"too many connections"
    assert steps.count < 100


async def test_a_client_that_begins_no_handshake_is_given_up(world: World, steps: Steps) -> None:
    async with world.pair() as (_client, transport):
        with pytest.raises(trio.BrokenResourceError, match="does not read"):
            await send_all(transport, b"too many connections", 0.01)
    assert steps.count < 100


async def test_what_is_sent_arrives_whatever_its_length(world: World) -> None:
    content = Random(1).randbytes(300_000)
    async with world.pair() as (client, transport):
        reading = Reading(len(content))
        world.nursery.start_soon(reading.run, transport)
        await client.shake_hands()
        await client.send(client.encrypt(content))
        await world.settle()
        assert (reading.data == content, reading.has_more) == (True, True)
        world.nursery.start_soon(send_all, transport, content, 60)
        assert await client.receive(len(content)) == content


async def test_records_that_arrive_in_pieces_are_read_when_they_are_whole(world: World) -> None:
    async with world.pair() as (client, transport):
        reading = Reading(10)
        world.nursery.start_soon(reading.run, transport)
        await client.shake_hands()
        encrypted = client.encrypt(b"one") + client.encrypt(b"two")
        for at in range(len(encrypted)):
            await client.send(encrypted[at : at + 1])
            await trio.testing.wait_all_tasks_blocked()
        await world.settle()
        assert (reading.data, reading.has_more) == (b"onetwo", None)


async def test_what_arrives_behind_the_last_that_is_taken_is_there_for_the_next_reader(world: World) -> None:
    async with world.pair() as (client, transport):
        first, second = Reading(3), Reading(6)
        world.nursery.start_soon(first.run, transport)
        await client.shake_hands()
        await client.send(client.encrypt(b"one") + client.encrypt(b"two") + client.encrypt(b"six"))
        await world.settle()
        assert first.data == b"one"
        assert await transport.receive() == b"two"
        world.nursery.start_soon(second.run, transport)
        await world.settle()
        assert second.data == b"six"


@pytest.mark.parametrize("is_polite", [True, False])
async def test_the_end_is_seen_behind_what_was_sent(world: World, *, is_polite: bool) -> None:
    async with world.pair() as (client, transport):
        reading = Reading(10)
        world.nursery.start_soon(reading.run, transport)
        await client.shake_hands()
        await client.send(client.encrypt(b"last") + (client.goodbye() if is_polite else b""))
        if not is_polite:
            client.socket.shutdown(socket.SHUT_WR)
        await world.settle()
        assert (reading.data, reading.has_more) == (b"last", False)


async def test_a_handshake_whose_answer_is_not_taken_at_once_goes_on(
    world: World, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    long = tmp_path / "chain.pem"
    long.write_text(certificate[0].read_text() * 40)
    received = list[bytes]()
    async with world.pair(tls_context(long, certificate[1]), send_bytes=1) as (client, transport):

        async def receive() -> None:
            received.append(await transport.receive())

        world.nursery.start_soon(receive)
        await client.shake_hands()
        await client.send(client.encrypt(b"hello"))
        await world.settle()
    assert received == [b"hello"]


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000, b""])
async def test_what_is_no_handshake_ends_the_connection(world: World, said: bytes) -> None:
    async with world.pair() as (client, transport):
        reading = Reading(10)
        world.nursery.start_soon(reading.run, transport)
        await client.send(said)
        client.socket.shutdown(socket.SHUT_WR)
        await world.settle()
        assert (reading.data, reading.has_more) == (b"", False)
        assert await transport.receive() == b""


def hello(size: int) -> bytes:
    """Return a record with the beginning of a client's greeting of `size` bytes (RFC 8446, section 4)."""
    greeting = b"\x01" + size.to_bytes(3, "big") + b"\x03\x03"
    return b"\x16\x03\x01" + len(greeting).to_bytes(2, "big") + greeting


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        pytest.param(hello(131_396), False, id="a greeting"),
        pytest.param(hello(131_397), True, id="a longer greeting"),
    ],
)
async def test_a_greeting_is_refused_by_its_length(world: World, said: bytes, *, is_refused: bool) -> None:
    # The bound is OpenSSL's.
    async with world.pair() as (client, transport):
        reading = Reading(10)
        world.nursery.start_soon(reading.run, transport)
        await client.send(said)
        await world.settle()
        assert reading.has_more is (False if is_refused else None)


async def test_a_greeting_that_does_not_end_has_the_time_of_a_head(
    world: World, autojump_clock: trio.testing.MockClock
) -> None:
    limits = Limits(head_seconds=10)
    async with world.pair() as (client, transport):
        began = trio.current_time()

        async def greet_slowly() -> None:
            for byte in hello(500):
                await client.send(bytes([byte]))
                await trio.sleep(4)

        world.nursery.start_soon(greet_slowly)
        with pytest.raises(MalformedHeadError) as given_up:
            await read_head(transport, limits)
        assert given_up.value.status is None
        assert trio.current_time() - began == pytest.approx(10)


async def test_a_client_that_does_not_read_gets_all_in_the_end(world: World) -> None:
    content = Random(2).randbytes(3_000_000)
    async with world.pair() as (client, transport):
        world.nursery.start_soon(Reading(1).run, transport)
        await client.shake_hands()
        await world.settle()
        sent = transport.send_nowait(content)
        assert 0 < sent < len(content)
        while more := transport.send_nowait(content[sent:]):
            sent += more
        # What waits may be sent from another place in memory.
        world.nursery.start_soon(send_all, transport, bytes(bytearray(content[sent:])), 60)
        assert await client.receive(len(content)) == content


async def test_nothing_else_is_sent_in_place_of_a_record_that_is_half_sent(world: World) -> None:
    async with world.pair() as (client, transport):
        world.nursery.start_soon(Reading(1).run, transport)
        await client.shake_hands()
        await world.settle()
        assert transport.send_nowait(bytes(100_000))
        while transport.send_nowait(bytes(100_000)):
            pass
        with pytest.raises(trio.BrokenResourceError, match="half sent"):
            transport.send_nowait(b"\x01" * 100_000)


async def test_a_connection_knows_how_many_others_wait(world: World) -> None:
    known = []

    def take(_data: bytes) -> bool:
        known.append(world.reactor.ready)
        return True

    async with world.pair() as one, world.pair() as two, world.pair() as three:
        for client, transport in (one, two, three):
            world.nursery.start_soon(transport.feed, take)
            await client.shake_hands()
        await world.settle()
        for client, _transport in (one, two, three):
            client.socket.send(client.encrypt(b"all at once"))
        await world.settle()
    assert known == [2, 1, 1]
