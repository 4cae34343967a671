"""What runs beside the connections goes on whatever becomes of it, and says so in a line."""

import logging
import socket
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.server.conftest import Gate, Peer, View, registry
from wsnode.server.accepting import ConnectionAcceptor, serve
from wsnode.server.access.router import Network
from wsnode.server.observability.supervisor import keep_running
from wsnode.server.server import Server
from wsnode.server.transport.sockets import accept_each
from wsnode.untrusted.repeated_warning import WARNING_SECONDS


class Work:
    """Fails a given number of times, and then runs for some seconds."""

    def __init__(self, failures: int, seconds: float = 0) -> None:
        self.left = failures
        self.seconds = seconds
        self.began: list[float] = []

    async def run(self) -> None:
        self.began.append(trio.current_time())
        await trio.sleep(self.seconds)
        if self.left:
            self.left -= 1
            raise KeyError("absent")


async def test_work_that_fails_begins_anew_after_longer_and_longer_pauses(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    work, start = Work(8), trio.current_time()
    await keep_running(work.run)
    assert [began - start for began in work.began] == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    lines = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(lines) == 8
    assert lines[0].message.startswith(
        "Work.run failed and begins anew in 1 s: KeyError: 'absent' (test_super"
    )
    assert all("\n" not in line.message and line.exc_info is None for line in lines)


async def test_work_that_went_well_for_long_begins_anew_soon(autojump_clock: trio.testing.MockClock) -> None:
    work, start = Work(3, seconds=100), trio.current_time()
    await keep_running(work.run)
    assert [began - start for began in work.began] == [0, 101, 202, 303]


async def test_one_failure_in_a_group_is_named_by_itself(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work(1)

    async def in_a_nursery() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work.run)

    await keep_running(in_a_nursery)
    assert "KeyError: 'absent' (test_supervisor.py:" in caplog.text


class DeadOnArrival(socket.socket):
    """A listener of which the first connections fail in ways that accept(2) names."""

    failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        errors = [
            OSError(71, "Protocol error"),
            OSError(100, "Network is down"),
            OSError(24, "Too many files"),
        ]
        if self.failures < len(errors):
            self.failures += 1
            raise errors[self.failures - 1]
        return super().accept()


async def test_a_connection_that_cannot_be_accepted_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server([Network("test", registry(), lambda _caller: View(Gate()))])
    listener = DeadOnArrival(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "node.sock"))
    listener.listen()
    listener.setblocking(False)
    async with trio.open_nursery() as nursery:

        async def run(task_status: trio.TaskStatus[ConnectionAcceptor] = trio.TASK_STATUS_IGNORED) -> None:
            await serve(server, [listener], task_status=task_status)

        await nursery.start(run)
        peer = Peer(await trio.open_unix_socket(tmp_path / "node.sock"))
        assert (await peer.open()).status_code == 101
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"
        await peer.stream.aclose()
        nursery.cancel_scope.cancel()
        # All three have been counted, and the first one logged: more lines would come ten times a second.
        assert server.shared.counters.accept_failures == 3
    lines = [record.message for record in caplog.records if "cannot accept" in record.message]
    assert lines == ["cannot accept: [Errno 71] Protocol error"]


async def test_connections_that_cannot_be_accepted_are_a_line_a_minute(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = socket.socketpair()
    failed = 0

    class OutOfFiles(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            raise OSError(24, "Too many open files")

    def count() -> None:
        nonlocal failed
        failed += 1

    async def take(_connected: socket.socket, _address: object) -> None:
        raise AssertionError("nothing was accepted")

    with theirs, OutOfFiles(fileno=ours.detach()) as listener:
        theirs.send(b"readable, as a listener with a connection in its queue")
        with trio.move_on_after(2 * WARNING_SECONDS - 1):
            await accept_each(listener, take, logging.getLogger("wsnode.server"), count)
    first, second = (vars(record)["details"] for record in caplog.records)
    assert first == {}
    # The second line is itself a failure, as the first one was.
    assert 1 < second["left_out"] < failed - 2
    assert {record.message for record in caplog.records} == {"cannot accept: [Errno 24] Too many open files"}
