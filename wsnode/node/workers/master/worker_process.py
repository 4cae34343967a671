"""Process of a worker, seen from its master: its connections, its order of placement, its silence."""

import contextlib
import enum
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import trio

from wsnode.node.workers.ipc import DescriptorsTruncatedError, IpcChannel, PeerClosedError, ends
from wsnode.node.workers.messages import FOLLOWS, SILENT_SECONDS, Drain, ServeConnection, ToParent, ToWorker
from wsnode.server.observability.open_files import has_free_files

MAX_QUESTIONS: Final = 256
MAX_UNREAD: Final = 1024
"""Maximum number of messages that may wait for a worker; one with transactions has up to a megabyte."""
COMMAND: Final = (sys.executable, "-P", "-m", "wsnode.node.workers.serving.worker")
"""Command of a worker; `-P` keeps the current folder, where others may have put modules, off the path."""
LOOK_SECONDS: Final = 0.5
HUNG_SECONDS: Final = 30.0
"""Seconds without a message after which a process counts as hung and is ended."""
ABORT_SECONDS: Final = 2.0
"""Seconds for a hung process to print its stacks before it is killed."""
logger = logging.getLogger("wsnode.workers")


class WorkerStage(enum.Enum):
    """Stage of a worker's life."""

    COMING = enum.auto()
    """Not ready yet: being started, or about to be."""
    SERVING = enum.auto()
    RETIRING = enum.auto()
    """Ends once its connections have ended, and gets no more of them."""


class WorkerProcess:
    """Process of a worker, from the decision to start it to its end."""

    def __init__(self, number: int, slot: int, *, holds: bool) -> None:
        """Prepare a process with a slot of the scoreboard.

        With `holds` connections wait for it until it is ready.
        """
        self.number = number
        """Number from 1 on, or `FOLLOWS`."""
        self.slot = slot
        self.stage = WorkerStage.COMING
        self.connections = 0
        self.last_given = 0
        """Sequence number of the last connection that the worker was given."""
        self.held: list[tuple[socket.socket, int]] | None = [] if holds else None
        """Accepted connections that wait for the worker, each with its listener's kind; None if none may."""
        self.ready, self.ended = trio.Event(), trio.Event()
        self.serving_since = 0.0
        self.is_full = False
        """True if the worker has no free files for more connections."""
        self.questions = trio.Semaphore(MAX_QUESTIONS)
        """Permits for the worker's questions to other processes.

        While all are taken, none of the worker's messages is read.
        """
        self.silence = 0.0
        """Seconds without a message of the worker while this process ran."""
        self.failure: str | None = None
        """Reason reported by the worker why it could not start, else None."""
        self.process: trio.Process | None = None
        self._channel: IpcChannel[ToParent] | None = None
        self._its_end: IpcChannel[ToWorker] | None = None
        """Copy of the worker's own end of the channel, so that unread messages survive the process."""

    @property
    def follows(self) -> bool:
        return self.number == FOLLOWS

    @property
    def is_silent(self) -> bool:
        """Return True if `SILENT_SECONDS` have passed without a message of the worker."""
        return self.silence >= SILENT_SECONDS

    @property
    def can_answer(self) -> bool:
        """Return True if the worker serves and is not silent, so that it can be asked."""
        return self.stage is WorkerStage.SERVING and not self.is_silent

    @property
    def takes_connections(self) -> bool:
        """Return True if the worker can be passed connections."""
        return self.can_answer and not self.is_full

    @property
    def was_killed(self) -> bool:
        """Return True if a signal has ended the process, so that its configuration may be right."""
        status = None if self.process is None else self.process.returncode
        return status is not None and status < 0

    @property
    def name(self) -> str:
        return "the process that follows" if self.follows else f"worker {self.number}"

    async def start(self, memory: int) -> IpcChannel[ToParent]:
        """Start the process, and return this end of the channel; `memory` is that of the scoreboard."""
        ours, theirs = ends()
        descriptors = theirs.fileno(), memory
        command: Sequence[str] = [*COMMAND, *map(str, (*descriptors, self.number, self.slot))]
        try:
            self.process = await trio.lowlevel.open_process(command, pass_fds=descriptors, stdin=None)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        self._channel, self._its_end = IpcChannel(ours, ToParent), IpcChannel(theirs, ToWorker)
        return self._channel

    async def wait_ended(self) -> None:
        """Return once the process has ended; `held` then has the connections that it never received."""
        assert self.process is not None, "it has been started"
        await self.process.wait()
        if self._its_end is not None:
            self.held = [*(self.held or []), *_read_unread(self._its_end).connections]
            # The parent's end reports the end of the worker's messages only after this copy of the worker's
            # end is closed.
            self._its_end.close()
            self._its_end = None

    def begin_serving(self) -> list[tuple[socket.socket, int]]:
        """Record that the worker is ready, and return its waiting connections."""
        self.stage, self.serving_since = WorkerStage.SERVING, trio.current_time()
        self.ready.set()
        return self.give_up_held()

    def take(self, connected: socket.socket, kind: int) -> bool:
        """Pass a connection to the worker, or keep it until it is ready.

        Returns False if neither is possible.
        """
        if self.held is not None:
            self.held.append((connected, kind))
        elif not self.takes_connections or self._channel is None:
            return False
        else:
            try:
                if not self._channel.send_nowait(ServeConnection(kind), connected.fileno()):
                    return False
            except PeerClosedError:
                return False
            connected.close()
        self.connections += 1
        return True

    def take_back_unread(self) -> list[tuple[socket.socket, int]]:
        """Return the connections that the worker has not received; other messages still wait for it."""
        if self._channel is None or self._its_end is None:
            return []
        unread = _read_unread(self._its_end)
        self._channel.post_first(unread.messages)
        self.connections -= len(unread.connections) + unread.lost
        return unread.connections

    def give_up_held(self) -> list[tuple[socket.socket, int]]:
        """Return the connections that wait for the worker; no more wait from now on."""
        held, self.held = self.held or [], None
        self.connections -= len(held)
        return held

    def post(self, message: ToWorker) -> None:
        """Send the worker a message if it has started; kill it if more than `MAX_UNREAD` messages wait."""
        if self._channel is not None:
            self._channel.post(message)
            if self._channel.waiting > MAX_UNREAD:
                logger.error("%s does not listen and is ended", self.name)
                self.kill()

    def retire(self, *, restarts: bool) -> None:
        """Have the worker end, unless this was done before; a process that is not ready is killed."""
        stage, self.stage = self.stage, WorkerStage.RETIRING
        if stage is WorkerStage.SERVING:
            self.post(Drain(restarts))
        elif stage is WorkerStage.COMING:
            self.kill()

    def abort(self) -> None:
        """End the process, which prints the stacks of its threads, even if it is stopped."""
        if self.process is not None:
            self.process.send_signal(signal.SIGABRT)
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process immediately."""
        if self.process is not None:
            self.process.kill()


class _Unread(NamedTuple):
    """Messages that the master sent to a worker, and the worker never received."""

    connections: list[tuple[socket.socket, int]]
    """Connections that were passed to it, each with its listener's kind."""
    lost: int
    """Number of connections that are lost because no file could be opened for them."""
    messages: list[ToWorker]
    """Messages other than connections."""


def _read_unread(end: IpcChannel[ToWorker]) -> _Unread:
    """Return the messages that wait at a worker's end, as far as files can be opened for them."""
    connections, lost, messages = list[tuple[socket.socket, int]](), 0, list[ToWorker]()
    with contextlib.suppress(DescriptorsTruncatedError):
        while has_free_files() and (received := end.receive_nowait()) is not None:
            message, descriptor = received
            if not isinstance(message, ServeConnection):
                messages.append(message)
            elif descriptor is not None:
                connections.append((socket.socket(fileno=descriptor), message.kind))
            else:
                lost += 1
    return _Unread(connections, lost, messages)


def by_load(workers: Iterable[WorkerProcess]) -> list[WorkerProcess]:
    """Return the workers in the order in which they should get the next connection.

    The worker with the fewest connections is first; among equals, the one whose last connection is oldest.
    """
    return sorted(workers, key=lambda worker: (worker.connections, worker.last_given))


class Pauses:
    """Pauses before a worker that has ended is replaced, in seconds: they grow while workers end soon after
    their start.
    """

    FIRST, MAX_PAUSE = 0.1, 5.0
    LASTING = 10.0
    """Seconds of service after which the pauses begin again with the first one."""

    def __init__(self) -> None:
        self._next = self.FIRST

    def after(self, served: float) -> float:
        """Return the seconds to wait after a worker that served for `served` seconds."""
        if served >= self.LASTING:
            self._next = self.FIRST
        pause, self._next = self._next, min(2 * self._next, self.MAX_PAUSE)
        return pause


async def watch(
    worker: WorkerProcess, on_silent: Callable[[WorkerProcess], None], on_hung: Callable[[], None]
) -> None:
    """Watch a process until it hangs, and end it then; call `on_silent` whenever it stops reporting.

    The watch begins once the process is ready: until then it may take long to open its stores.
    """
    await worker.ready.wait()
    while worker.silence < HUNG_SECONDS:
        was_silent = worker.is_silent
        await _look_again(worker)
        if worker.is_silent and not was_silent:
            consequence = "is not asked" if worker.follows else "gets no connections"
            logger.warning("%s has not reported for %.0f s: it %s", worker.name, SILENT_SECONDS, consequence)
            on_silent(worker)
    logger.error("%s has not reported for %.0f s and is ended", worker.name, HUNG_SECONDS)
    on_hung()
    worker.abort()
    await trio.sleep(ABORT_SECONDS)
    worker.kill()


async def _look_again(worker: WorkerProcess) -> None:
    before = trio.current_time()
    await trio.sleep(LOOK_SECONDS)
    # While this process itself was stopped it read no messages, so only a part of that time counts as the
    # worker's silence.
    worker.silence += min(trio.current_time() - before, 2 * LOOK_SECONDS)


def note_heard(worker: WorkerProcess) -> None:
    """Record a message of a process."""
    if worker.is_silent:
        logger.warning("%s reports again after %.0f s", worker.name, worker.silence)
    worker.silence = 0.0
