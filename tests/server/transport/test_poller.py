import contextlib
import select
import socket
from collections import Counter
from collections.abc import AsyncIterator
from time import perf_counter

import pytest
import trio
import trio.testing

from wsnode.server.transport.event_loop import SelectPoller, new_poller
from wsnode.server.transport.poller import RECEIVE_BYTES, SLICE_SECONDS, WOKEN_AT_ONCE, Reactor, Take
from wsnode.server.transport.transport import SocketTransport


class Sockets:
    """Pairs of sockets, of which one end is read through one `Reactor`."""

    def __init__(self, reactor: Reactor, nursery: trio.Nursery) -> None:
        self.reactor = reactor
        self.nursery = nursery
        self.transports: list[SocketTransport] = []
        self.clients: list[socket.socket] = []
        self.ends: list[socket.socket] = []

    def pair(self) -> tuple[socket.socket, SocketTransport]:
        client, ours = socket.socketpair()
        client.setblocking(False)
        transport = SocketTransport(ours, self.reactor)
        self.clients.append(client)
        self.ends.append(ours)
        self.transports.append(transport)
        return client, transport

    async def settle(self) -> None:
        """Let all that has been sent arrive."""
        await trio.testing.wait_all_tasks_blocked(0.01)


@pytest.fixture(params=[new_poller, SelectPoller])
async def sockets(request: pytest.FixtureRequest) -> AsyncIterator[Sockets]:
    reactor = Reactor(polling=request.param())
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            found = Sockets(reactor, nursery)
            yield found
            nursery.cancel_scope.cancel()
    for client in found.clients:
        client.close()
    for transport in found.transports:
        await transport.aclose()
    reactor.close()


class Taker:
    """Keeps what it is given, until that is `last`."""

    def __init__(self, last: bytes = b"!") -> None:
        self.taken: list[bytes] = []
        self.last = last

    def __call__(self, data: bytes) -> bool:
        self.taken.append(data)
        return data != self.last


async def test_each_burst_is_taken_and_the_reader_goes_on_after_the_last(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    taker, more = Taker(), list[bool]()

    async def read() -> None:
        more.append(await transport.feed(taker))

    sockets.nursery.start_soon(read)
    for burst in (b"one", b"two"):
        client.send(burst)
        await sockets.settle()
    assert (taker.taken, more) == ([b"one", b"two"], [])
    client.send(b"!")
    await sockets.settle()
    assert (taker.taken, more) == ([b"one", b"two", b"!"], [True])


async def test_what_arrives_while_nobody_reads_is_held_by_the_next_reader(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    for text in (b"first", b"second"):
        client.send(text)
        await sockets.settle()
        taker = Taker(last=text)
        assert await transport.feed(taker)
        assert taker.taken == [text]
    client.send(b"third")
    await sockets.settle()
    assert await transport.receive() == b"third"


async def test_a_reader_that_is_woken_goes_on_and_has_lost_nothing(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    taker, more = Taker(), list[bool]()

    async def read() -> None:
        more.append(await transport.feed(taker))

    transport.wake()
    sockets.nursery.start_soon(read)
    await sockets.settle()
    assert more == []
    transport.wake()
    client.send(b"!")
    await sockets.settle()
    assert (taker.taken, more) == ([], [True])
    assert await transport.feed(taker)
    assert taker.taken == [b"!"]


async def test_a_reader_that_is_woken_while_it_takes_goes_on_behind_it(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    taken = list[bytes]()

    def take(data: bytes) -> bool:
        taken.append(data)
        transport.wake()
        return True

    for text in (b"first", b"second"):
        client.send(text)
        assert await transport.feed(take)
    assert taken == [b"first", b"second"]


async def test_a_reader_that_gave_up_has_lost_nothing(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    taker = Taker()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.feed, taker)
        await sockets.settle()
        nursery.cancel_scope.cancel()
    client.send(b"!")
    await sockets.settle()
    assert taker.taken == []
    assert await transport.feed(taker)
    assert taker.taken == [b"!"]


@pytest.mark.parametrize("reads_before", [True, False])
async def test_an_end_that_came_while_nobody_read_is_seen_behind_the_last_bytes(
    sockets: Sockets, *, reads_before: bool
) -> None:
    client, transport = sockets.pair()
    if reads_before:
        with trio.move_on_after(0):
            await transport.receive()
    client.send(b"last words")
    client.close()
    await sockets.settle()
    assert await transport.receive() == b"last words"
    assert await transport.receive() == b""


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only epoll tells of an end once")
async def test_an_end_that_is_noted_before_there_is_a_reader_is_seen() -> None:
    reactor = Reactor()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            client, transport = Sockets(reactor, nursery).pair()
            with trio.move_on_after(0):
                await transport.receive()
            client.send(b"last words")
            client.close()
            assert reactor._take_note()
            nursery.start_soon(reactor.run)
            assert await transport.receive() == b"last words"
            assert await transport.receive() == b""
            nursery.cancel_scope.cancel()
    await transport.aclose()
    reactor.close()


async def test_a_reader_that_gives_up_after_the_end_has_come_leaves_it_to_the_next(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.receive)
        await sockets.settle()
        client.send(b"last words")
        client.close()
        nursery.cancel_scope.cancel()
    assert await transport.receive() == b"last words"
    assert await transport.receive() == b""


async def test_the_end_of_a_stream_is_told_after_its_last_bytes(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    client.send(b"last words")
    client.close()
    taker = Taker()
    assert not await transport.feed(taker)
    assert taker.taken == [b"last words"]
    await transport.aclose()
    assert not await transport.feed(taker)


async def test_a_reset_connection_has_ended(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    transport.send_nowait(b"never read")
    client.close()
    assert not await transport.feed(Taker())


async def test_a_failure_is_the_reader_s_own(sockets: Sockets) -> None:
    (broken, transport), (client, other) = sockets.pair(), sockets.pair()
    taker = Taker()
    sockets.nursery.start_soon(other.feed, taker)

    def fail(_data: bytes) -> bool:
        raise KeyError("absent")

    broken.send(b"anything")
    with pytest.raises(KeyError):
        await transport.feed(fail)
    client.send(b"still read")
    await sockets.settle()
    assert taker.taken == [b"still read"]


async def test_a_descriptor_is_watched_again_when_another_socket_has_it(sockets: Sockets) -> None:
    descriptors = set[int]()
    for _ in range(3):
        client, transport = sockets.pair()
        descriptors.add(client.fileno())
        client.send(b"!")
        assert await transport.feed(Taker())
        client.close()
        await transport.aclose()
    assert len(descriptors) < 3


async def test_other_tasks_have_their_turn_while_many_sockets_are_read(sockets: Sockets) -> None:
    turns, seen = [0], list[int]()

    async def others() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            turns[0] += 1

    def slow(_data: bytes) -> bool:
        end = perf_counter() + SLICE_SECONDS
        while perf_counter() < end:
            pass
        seen.append(turns[0])
        return True

    for _ in range(4):
        client, transport = sockets.pair()
        client.send(b"x")
        sockets.nursery.start_soon(transport.feed, slow)
    sockets.nursery.start_soon(others)
    while len(seen) < 4:
        await trio.lowlevel.checkpoint()
    # Of two tasks either may be the first in each pass of the scheduler.
    assert seen[-1] - seen[0] >= 2


async def test_a_socket_that_always_has_more_does_not_keep_others_waiting(sockets: Sockets) -> None:
    (flood, flooded), (client, transport) = sockets.pair(), sockets.pair()
    flood_taken, order = [0], list[int]()

    def take_flood(_data: bytes) -> bool:
        flood_taken[0] += 1
        fill()
        return True

    def fill() -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                flood.send(bytes(1 << 16))

    def take(_data: bytes) -> bool:
        order.append(flood_taken[0])
        return True

    fill()
    sockets.nursery.start_soon(flooded.feed, take_flood)
    sockets.nursery.start_soon(transport.feed, take)
    for number in range(10):
        client.send(b"x")
        while len(order) <= number:
            await trio.lowlevel.checkpoint()
    assert flood_taken[0] > 1
    assert order[-1] - order[0] <= 4 * len(order)


async def test_a_quick_request_comes_before_the_rest_of_many_long_bursts() -> None:
    now, order = [0.0], list[str]()
    reactor = Reactor(lambda: now[0], counts_suspension=True)
    async with trio.open_nursery() as nursery:
        sockets = Sockets(reactor, nursery)
        client, transport = sockets.pair()
        many = [sockets.pair() for _ in range(10)]

        def take_quick(_data: bytes) -> bool:
            order.append("quick")
            return True

        def take_long(_data: bytes) -> bool:
            now[0] += 2 * SLICE_SECONDS
            if not order:
                client.send(b"x")
            order.append("long")
            return True

        nursery.start_soon(transport.feed, take_quick)
        client.send(b"x")
        nursery.start_soon(reactor.run)
        await sockets.settle()
        assert order == ["quick"]
        order.clear()
        for other, its_transport in many:
            other.send(b"x")
            nursery.start_soon(its_transport.feed, take_long)
        await sockets.settle()
        assert order == ["long", "quick", *["long"] * 9]
        nursery.cancel_scope.cancel()
    for each, its_transport in [(client, transport), *many]:
        each.close()
        await its_transport.aclose()
    reactor.close()


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only epoll says which connections end")
async def test_a_quick_request_comes_before_the_ends_of_many_connections() -> None:
    order: list[str] = []

    def take(data: bytes) -> bool:
        order.append(data.decode())
        return True

    async def read(transport: SocketTransport, name: str) -> None:
        while await transport.feed(take):
            pass
        order.append(f"end of {name}")

    # However busy the machine is, each burst is quick.
    reactor = Reactor(lambda: 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reactor.run)
        sockets = Sockets(reactor, nursery)
        pairs = [sockets.pair() for _ in range(3 * WOKEN_AT_ONCE)]
        for number, (client, transport) in enumerate(pairs):
            nursery.start_soon(read, transport, str(number))
            client.send(b"first")
        await sockets.settle()
        order.clear()
        for client, _transport in pairs[1:]:
            client.close()
        pairs[0][0].send(b"quick")
        await sockets.settle()
        nursery.cancel_scope.cancel()
    for client, transport in pairs:
        client.close()
        await transport.aclose()
    reactor.close()
    assert order[0] == "quick"
    assert len(order) == len(pairs)


async def test_of_many_tasks_whose_bytes_come_at_once_few_go_on_at_a_time() -> None:
    passes, went_on = [0], Counter[int]()

    async def count() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            passes[0] += 1

    async def begin(transport: SocketTransport) -> None:
        assert await transport.receive() == b"x"
        went_on[passes[0]] += 1

    # However busy the machine is, no time passes.
    reactor = Reactor(lambda: 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reactor.run)
        sockets = Sockets(reactor, nursery)
        pairs = [sockets.pair() for _ in range(10 * WOKEN_AT_ONCE)]
        for _client, transport in pairs:
            nursery.start_soon(begin, transport)
        await sockets.settle()
        for client, _transport in pairs:
            client.send(b"x")
        nursery.start_soon(count)
        while went_on.total() < len(pairs):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    for client, transport in pairs:
        client.close()
        await transport.aclose()
    reactor.close()
    # The counter's place within a pass is not the tasks'.
    assert max(went_on.values()) <= 2 * WOKEN_AT_ONCE


async def test_more_than_one_read_takes_is_read_without_another_arrival(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    taker = Taker()
    client.send(bytes(RECEIVE_BYTES + 1))
    sockets.nursery.start_soon(transport.feed, taker)
    await sockets.settle()
    assert [*map(len, taker.taken)] == [RECEIVE_BYTES, 1]


async def test_a_reader_that_stops_within_a_burst_finds_the_rest(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    client.send(bytes(RECEIVE_BYTES + 1))
    assert await transport.feed(lambda data: False)
    taker = Taker(last=bytes(1))
    assert await transport.feed(taker)
    assert taker.taken == [bytes(1)]


async def test_an_end_that_comes_with_the_last_bytes_is_seen(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    client.send(bytes(RECEIVE_BYTES))
    client.send(b"rest")
    client.close()
    ended = list[bool]()

    async def read() -> None:
        ended.append(await transport.feed(Taker()))

    sockets.nursery.start_soon(read)
    await sockets.settle()
    assert ended == [False]


async def test_many_connections_of_one_peer_delay_another_by_one_of_them() -> None:
    now, order = [0.0], list[str]()
    reactor = Reactor(lambda: now[0], counts_suspension=True)

    def taking(name: str) -> Take:
        def take(_data: bytes) -> bool:
            now[0] += SLICE_SECONDS
            order.append(name)
            return True

        return take

    async with trio.open_nursery() as nursery:
        sockets = Sockets(reactor, nursery)
        pairs = [sockets.pair() for _ in range(41)]
        for client, transport in pairs[1:]:
            client.send(b"x")
            nursery.start_soon(transport.feed, taking("many"), "192.0.2.1")
        pairs[0][0].send(b"x")
        nursery.start_soon(pairs[0][1].feed, taking("one"), "192.0.2.2")
        nursery.start_soon(reactor.run)
        await sockets.settle()
        nursery.cancel_scope.cancel()
    assert len(order) == 41
    assert order.index("one") <= 1
    for client, transport in pairs:
        client.close()
        await transport.aclose()
    reactor.close()
