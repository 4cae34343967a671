"""A process that does not report, as its parent notices it."""

import signal
import socket

import trio
import trio.testing

from wsnode.node.workers.master.worker_process import HUNG_SECONDS, WorkerProcess, note_heard, watch
from wsnode.node.workers.messages import HEARTBEAT_SECONDS, SILENT_SECONDS, Configure


class Seen:
    """The moments, in seconds, at which a process was noticed to be silent, or to hang."""

    def __init__(self) -> None:
        self.silent, self.hung = list[float](), list[float]()
        self._began = trio.current_time()

    def note_silent(self, _worker: WorkerProcess) -> None:
        self.silent.append(trio.current_time() - self._began)

    def note_hung(self) -> None:
        self.hung.append(trio.current_time() - self._began)


def serving() -> WorkerProcess:
    worker = WorkerProcess(1, 0, holds=False)
    worker.begin_serving()
    return worker


async def test_a_process_that_does_not_report_is_silent_and_then_hangs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    worker, seen = serving(), Seen()
    await watch(worker, seen.note_silent, seen.note_hung)
    assert (seen.silent, seen.hung) == ([SILENT_SECONDS], [HUNG_SECONDS])
    assert worker.is_silent
    assert not worker.can_answer


async def test_a_process_that_reports_is_left_alone_however_long_it_runs(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    worker, seen = serving(), Seen()
    nursery.start_soon(watch, worker, seen.note_silent, seen.note_hung)
    for _ in range(100):
        await trio.sleep(HEARTBEAT_SECONDS)
        note_heard(worker)
    assert (seen.silent, seen.hung) == ([], [])


async def test_a_process_that_reports_again_gets_connections_again(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    worker, seen = serving(), Seen()
    nursery.start_soon(watch, worker, seen.note_silent, seen.note_hung)
    for _ in range(2):
        await trio.sleep(HUNG_SECONDS - SILENT_SECONDS)
        assert not worker.can_answer
        note_heard(worker)
        assert worker.can_answer
    assert len(seen.silent) == 2
    assert seen.hung == []


async def test_time_in_which_the_parent_did_not_run_is_nobodys_silence(
    nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    worker, seen = serving(), Seen()
    nursery.start_soon(watch, worker, seen.note_silent, seen.note_hung)
    await trio.testing.wait_all_tasks_blocked()
    mock_clock.jump(1000 * HUNG_SECONDS)
    await trio.testing.wait_all_tasks_blocked()
    assert not worker.is_silent
    assert seen.hung == []


async def test_a_process_that_is_being_started_may_take_its_time(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    worker, seen = WorkerProcess(1, 0, holds=False), Seen()
    nursery.start_soon(watch, worker, seen.note_silent, seen.note_hung)
    await trio.sleep(10 * HUNG_SECONDS)
    assert (seen.silent, seen.hung) == ([], [])


async def test_a_process_that_hangs_is_ended_also_if_it_is_stopped(memory: int) -> None:
    worker = WorkerProcess(1, 0, holds=False)
    pair = await worker.start(memory)
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    worker.abort()
    await worker.wait_ended()
    assert worker.process.returncode == -signal.SIGABRT
    pair.close()


async def test_connections_that_a_silent_process_has_not_received_are_taken_back(memory: int) -> None:
    worker = WorkerProcess(1, 0, holds=False)
    pair = await worker.start(memory)
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    worker.begin_serving()
    ours, theirs = socket.socketpair()
    with ours:
        try:
            worker.post(Configure(b"first"))
            assert worker.take(theirs, 3)
            worker.post(Configure(b"second"))
            [(waiting, kind)] = worker.take_back_unread()
            with waiting:
                waiting.sendall(b"here")
                assert (ours.recv(4), kind, worker.connections) == (b"here", 3, 0)
            # What it is told besides still waits for it.
            assert pair.waiting == 2
            worker.post(Configure(b"third"))
            assert pair.waiting == 3
        finally:
            worker.kill()
            await worker.wait_ended()
            pair.close()
