"""trio's loop while the engine waits in its place: tasks, deadlines, threads, failures, and other servers."""

import select
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
import trio.testing

from tests.server.transport.test_poller import Sockets
from wsnode.server.transport.event_loop import EpollPoller, WaitOutcome, _runner, trio_waits_by
from wsnode.server.transport.poller import Reactor

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll")


def waits_by_epoll() -> bool:
    """Return whether trio waits by its own epoll."""
    return type(_runner().io_manager._epoll) is select.epoll


@pytest.fixture
async def sockets() -> AsyncIterator[Sockets]:
    reactor = Reactor()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            found = Sockets(reactor, nursery)
            await trio.testing.wait_all_tasks_blocked()
            yield found
            nursery.cancel_scope.cancel()
    for client in found.clients:
        client.close()
    for transport in found.transports:
        await transport.aclose()
    reactor.close()


class Echo:
    """Sends back what it is given, and goes on."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.count = 0

    def __call__(self, data: bytes) -> bool:
        self.count += 1
        self.end.send(data)
        return True


def echoed(sockets: Sockets) -> tuple[socket.socket, Echo]:
    client, transport = sockets.pair()
    echo = Echo(sockets.ends[-1])
    sockets.nursery.start_soon(transport.feed, echo)
    return client, echo


async def test_trio_has_an_epoll_that_can_be_replaced_and_has_it_back() -> None:
    reactor = Reactor()
    assert waits_by_epoll()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reactor.run)
        await trio.testing.wait_all_tasks_blocked()
        assert not waits_by_epoll()
        nursery.cancel_scope.cancel()
    assert waits_by_epoll()
    reactor.close()


async def test_a_second_server_of_a_loop_waits_in_a_task(sockets: Sockets) -> None:
    other = Reactor()
    others = Sockets(other, sockets.nursery)
    sockets.nursery.start_soon(other.run)
    (one, one_echo), (two, two_echo) = echoed(sockets), echoed(others)
    for number in range(1, 4):
        one.send(b"one")
        two.send(b"two")
        await sockets.settle()
        assert (one.recv(9), two.recv(9)) == (b"one", b"two")
        assert one_echo.count == two_echo.count == number
    two.close()
    await others.transports[0].aclose()


async def test_bytes_are_handed_out_outside_of_any_task(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    tasks: list[Any] = []

    def take(_data: bytes) -> bool:
        try:
            tasks.append(trio.lowlevel.current_task())
        except RuntimeError:
            tasks.append(None)
        return True

    sockets.nursery.start_soon(transport.feed, take)
    client.send(b"x")
    await sockets.settle()
    assert tasks == [None]


async def test_a_deadline_passes_while_nothing_arrives_and_while_much_does(sockets: Sockets) -> None:
    with trio.move_on_after(0.02) as quiet:
        await trio.sleep_forever()
    assert quiet.cancelled_caught
    client, transport = sockets.pair()
    client.send(b"x")
    sockets.nursery.start_soon(transport.feed, lambda _data: client.send(b"x") > 0)
    with trio.move_on_after(0.02) as busy:
        await trio.sleep_forever()
    assert busy.cancelled_caught


async def test_a_thread_is_heard_while_much_arrives(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    client.send(b"x")
    sockets.nursery.start_soon(transport.feed, lambda _data: client.send(b"x") > 0)
    assert await trio.to_thread.run_sync(lambda: trio.from_thread.run_sync(lambda: 7)) == 7


async def test_tasks_that_bytes_make_runnable_run_and_time_has_not_run_out(sockets: Sockets) -> None:
    client, transport = sockets.pair()
    event, order = trio.Event(), list[str]()

    def take(_data: bytes) -> bool:
        sockets.nursery.start_soon(begun)
        event.set()
        return True

    async def begun() -> None:
        order.append("begun")

    async def waiting() -> None:
        await event.wait()
        order.append("woken")

    sockets.nursery.start_soon(transport.feed, take)
    sockets.nursery.start_soon(waiting)
    await sockets.settle()
    client.send(b"x")
    await sockets.settle()
    assert sorted(order) == ["begun", "woken"]


def test_an_idle_loop_does_not_pass_over_what_has_arrived(autojump_clock: trio.testing.MockClock) -> None:
    """A clock that jumps when nothing happens must not jump over sockets that have something."""

    async def main() -> None:
        reactor = Reactor()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            found = Sockets(reactor, nursery)
            client, echo = echoed(found)
            await trio.sleep(1)
            for _ in range(100):
                client.send(b"x")
                before = trio.current_time()
                await trio.sleep(1)
                assert trio.current_time() - before == pytest.approx(1, abs=0.5)
                assert client.recv(9) == b"x"
            assert echo.count == 100
            nursery.cancel_scope.cancel()
        client.close()
        await found.transports[0].aclose()
        reactor.close()

    trio.run(main, clock=autojump_clock)


async def test_a_failure_ends_the_task_that_serves_and_not_the_loop() -> None:
    poller = EpollPoller()

    def serve(_host: int, _seconds: float) -> WaitOutcome:
        raise OSError("no such epoll")

    with trio.fail_after(60):
        with pytest.raises(OSError, match="no such epoll"):
            await trio_waits_by(poller, serve)
        assert waits_by_epoll()
        await trio.sleep(0.001)
    poller.close()
