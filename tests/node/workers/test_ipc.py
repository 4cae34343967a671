"""Messages between the parent and a worker, over the sockets that they use."""

import os
import signal
import socket
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from wsnode.node.workers.ipc import IpcChannel, PeerClosedError, ends
from wsnode.node.workers.master.worker_process import MAX_UNREAD, WorkerProcess
from wsnode.node.workers.messages import (
    Configure,
    Drain,
    Heartbeat,
    ServeConnection,
    ToParent,
    ToWorker,
    WorkerMessage,
)


class Large(WorkerMessage, frozen=True):
    """Message with a descriptor and contents of any length."""

    brings_descriptor = True
    content: bytes


Two = tuple[IpcChannel[ToParent], IpcChannel[ToWorker]]


@pytest.fixture
def two() -> Iterator[Two]:
    parents, workers = ends()
    with parents, workers:
        yield IpcChannel[ToParent](parents, ToParent), IpcChannel[ToWorker](workers, ToWorker)


async def test_messages_arrive_whole_and_in_order(two: Two) -> None:
    parent, worker = two
    sent = [Drain(restarts=True), Configure(b"x"), Configure(b"y" * 1_000_000), ServeConnection(2)]
    for message in sent:
        assert parent.send_nowait(message)
    assert [(await worker.receive()) for _ in sent] == [(message, None) for message in sent]
    assert worker.receive_nowait() is None


@pytest.mark.parametrize("size", [1, 1_000_000])
async def test_a_descriptor_comes_with_its_message(size: int) -> None:
    parents, workers = ends()
    parent, worker = IpcChannel[ToParent](parents, ToParent), IpcChannel[Large](workers, Large)
    ours, theirs = socket.socketpair()
    with parents, workers, ours:
        with theirs:
            assert parent.send_nowait(Large(b"x" * size), theirs.fileno())
        message, descriptor = await worker.receive()
        assert message == Large(b"x" * size)
        assert descriptor is not None
        assert not os.get_inheritable(descriptor)
        with socket.socket(fileno=descriptor) as passed:
            ours.send(b"hello")
            assert passed.recv(10) == b"hello"


async def test_what_has_no_room_is_posted_in_order_once_there_is(two: Two, nursery: trio.Nursery) -> None:
    parent, worker = two
    nursery.start_soon(worker.send_waiting)
    sent = 0
    while worker.send_nowait(Heartbeat(sent)):
        sent += 1
    for number in range(sent, sent + 10):
        worker.post(Heartbeat(number))
    assert not worker.send_nowait(Heartbeat(0))
    received = [(await parent.receive())[0] for _ in range(sent + 10)]
    assert received == [Heartbeat(number) for number in range(sent + 10)]


async def test_the_end_of_the_other_process_is_noticed_after_all_that_it_sent(two: Two) -> None:
    parent, worker = two
    worker.post(Heartbeat(1))
    worker.close()
    assert await parent.receive() == (Heartbeat(1), None)
    with pytest.raises(PeerClosedError):
        await parent.receive()
    with pytest.raises(PeerClosedError):
        parent.send_nowait(Drain(restarts=False))
    parent.post(Drain(restarts=False))


async def test_a_worker_that_leaves_messages_unread_is_ended(memory: int) -> None:
    worker = WorkerProcess(1, 0, holds=False)
    pair = await worker.start(memory)
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    try:
        while not pair.waiting:
            worker.post(Configure(b"x"))
        for _ in range(MAX_UNREAD + 1):
            worker.post(Configure(b"x"))
        await worker.wait_ended()
        assert worker.process.returncode == -signal.SIGKILL
    finally:
        worker.kill()
        pair.close()


async def test_connections_that_a_worker_never_received_wait_for_others_once_it_has_ended(
    memory: int,
) -> None:
    worker = WorkerProcess(1, 0, holds=False)
    pair = await worker.start(memory)
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    worker.begin_serving()
    ours, theirs = socket.socketpair()
    with ours:
        assert worker.take(theirs, 3)
        worker.post(Drain(restarts=True))
        worker.process.kill()
        await worker.wait_ended()
        pair.close()
        [(waiting, kind)] = worker.give_up_held()
        with waiting:
            waiting.sendall(b"here")
            assert (ours.recv(4), kind, worker.connections) == (b"here", 3, 0)
