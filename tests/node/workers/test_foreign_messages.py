"""What a process that was taken over sends its parent: it is bounded, and keeps nothing open there."""

import os
import socket
from collections.abc import Iterator

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from wsnode.node.workers.ipc import AT_ONCE, MAX_BYTES, IpcChannel, UnreadableMessageError, ends
from wsnode.node.workers.master.master import Master
from wsnode.node.workers.master.worker_process import MAX_QUESTIONS, WorkerProcess
from wsnode.node.workers.messages import (
    PART_BYTES,
    Configure,
    Heartbeat,
    MetricsRequest,
    PendingTransactions,
    PoolUpdateRequest,
    ServeConnection,
    Started,
    SyncResponse,
    SyncStatus,
    ToParent,
    ToWorker,
    parts,
)
from wsnode.server.observability.open_files import OWN

STARTED = b"\0\x92\xa7Started\xc0"


@pytest.fixture
def foreign() -> Iterator[tuple[IpcChannel[ToParent], socket.socket]]:
    """Return the parent's end, and the socket of a process that sends what it likes."""
    ours, theirs = ends()
    pair = IpcChannel[ToParent](ours, ToParent)
    with ours, theirs:
        yield pair, theirs


@pytest.fixture
def opened() -> Iterator[int]:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def memory(size: int) -> int:
    descriptor = os.memfd_create("message", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, size)
    return descriptor


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_descriptors_that_nobody_expects_are_closed(
    foreign: tuple[IpcChannel[ToParent], socket.socket], opened: int, count: int
) -> None:
    pair, theirs = foreign
    before = os.listdir(OWN)
    for _ in range(100):
        socket.send_fds(theirs, [STARTED], [opened] * count)
        assert await pair.receive() == (Started(), None)
    assert os.listdir(OWN) == before


async def test_of_several_descriptors_only_the_expected_one_stays_open(opened: int) -> None:
    ours, theirs = ends()
    with ours, theirs:
        pair = IpcChannel[ToWorker](ours, ToWorker)
        before = os.listdir(OWN)
        socket.send_fds(theirs, [b"\0\x92\xafServeConnection\x02"], [opened] * 2)
        message, descriptor = await pair.receive()
        assert message == ServeConnection(2)
        assert descriptor is not None
        assert len(os.listdir(OWN)) == len(before) + 1
        os.close(descriptor)


async def test_a_message_in_memory_can_be_so_long_and_no_longer(
    foreign: tuple[IpcChannel[ToParent], socket.socket],
) -> None:
    pair, theirs = foreign
    before = os.listdir(OWN)
    for size, reason in (
        (MAX_BYTES, "malformed"),
        (MAX_BYTES + 1, f"a message has {MAX_BYTES + 1} bytes"),
    ):
        descriptor = memory(size)
        socket.send_fds(theirs, [b"\1"], [descriptor])
        os.close(descriptor)
        with pytest.raises(UnreadableMessageError) as refused:
            await pair.receive()
        assert (reason in str(refused.value)) == (size > MAX_BYTES)
    assert os.listdir(OWN) == before


async def test_the_longest_message_arrives() -> None:
    ours, theirs = ends()
    with ours, theirs:
        pair, sender = IpcChannel[ToWorker](ours, ToWorker), IpcChannel[ToParent](theirs, ToParent)
        longest = Configure(bytes(MAX_BYTES - 16))
        assert sender.send_nowait(longest)
        assert await pair.receive() == (longest, None)


async def test_a_message_in_a_pipe_is_refused_before_it_is_read(
    foreign: tuple[IpcChannel[ToParent], socket.socket],
) -> None:
    pair, theirs = foreign
    reading, writing = os.pipe()
    socket.send_fds(theirs, [b"\1"], [reading])
    with pytest.raises(UnreadableMessageError, match="is no memory file"):
        await pair.receive()
    os.close(reading)
    os.close(writing)


@given(
    st.one_of(
        st.binary(min_size=1, max_size=200), st.integers(1, 5000).map(lambda depth: b"\0" + b"\x91" * depth)
    )
)
def test_bytes_that_are_no_message_are_one_kind_of_error(sent: bytes) -> None:
    ours, theirs = ends()
    with ours, theirs:
        pair = IpcChannel[ToParent](ours, ToParent)
        theirs.send(sent)
        try:
            received = pair.receive_nowait()
        except UnreadableMessageError:
            return
        assert received is not None


async def test_a_process_that_sends_without_end_leaves_others_their_turn(
    foreign: tuple[IpcChannel[ToParent], socket.socket], nursery: trio.Nursery
) -> None:
    pair, theirs = foreign
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    nursery.start_soon(take_turns)
    for _ in range(10 * AT_ONCE):
        theirs.send(STARTED)
        await pair.receive()
    assert turns >= 9


class Node:
    """A parent and one of its workers, whose process is not needed."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.parent = Master(1, b"{}")
        self.parent._nursery = nursery
        self.worker = WorkerProcess(1, 0, holds=False)
        ours, theirs = ends()
        self.ours, self.theirs = IpcChannel[ToParent](ours, ToParent), IpcChannel[ToWorker](theirs, ToWorker)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.mark.parametrize("ended", [-1, 3, 1 << 63])
async def test_more_connections_cannot_end_than_were_passed(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, ended: int
) -> None:
    node = Node(nursery)
    node.worker.connections = 2
    node.theirs.post(Heartbeat(ended))
    await node.parent._listen(node.worker, node.ours)
    assert node.worker.connections == 2
    assert (
        "worker 1 sent a message that cannot be read and is ended: "
        f"it reports {ended} ended connections, and has 2" in caplog.text
    )
    node.close()


@pytest.mark.parametrize(
    "message",
    [
        SyncStatus("one", None, 3, None, 6),
        PendingTransactions("one", []),
        SyncResponse(1, None),
    ],
    ids=lambda message: type(message).__name__,
)
async def test_only_the_process_that_follows_tells_of_following(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture, message: ToParent
) -> None:
    node = Node(nursery)
    node.theirs.post(message)
    await node.parent._listen(node.worker, node.ours)
    assert f"worker 1 does not follow, and has sent {type(message).__name__}" in caplog.text
    node.close()


async def test_only_the_process_that_follows_drops_transactions_of_all_pools(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(nursery)
    node.theirs.post(PoolUpdateRequest(0, "one", [], [b"hash"]))
    await node.parent._listen(node.worker, node.ours)
    assert "worker 1 does not follow, and has dropped transactions" in caplog.text
    node.close()


async def test_only_so_many_questions_of_a_process_are_answered_at_once(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    node = Node(nursery)
    nursery.start_soon(node.parent._listen, node.worker, node.ours)
    # Another process is asked each time, and does not answer.
    other = WorkerProcess(2, 1, holds=False)
    other.begin_serving()
    node.parent._all.add(other)
    for number in range(MAX_QUESTIONS + 1):
        while not node.theirs.send_nowait(MetricsRequest(number)):
            await trio.testing.wait_all_tasks_blocked()
    node.theirs.post(Heartbeat())
    await trio.testing.wait_all_tasks_blocked()
    assert node.worker.questions.value == 0
    await trio.sleep(10)
    assert node.worker.questions.value == MAX_QUESTIONS
    nursery.cancel_scope.cancel()
    node.close()


def test_transactions_come_in_parts_of_a_megabyte() -> None:
    sent = [bytes([number]) * (PART_BYTES // 3) for number in range(7)] + [b"x" * (2 * PART_BYTES), b"y"]
    found = list(parts(sent))
    assert [each for part in found for each in part] == sent
    assert [len(part) for part in found] == [3, 3, 1, 1, 1]
