"""One worker as its parent sees it: its process, its connections, and those that wait until it serves."""

import enum
import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import trio

from wsnode.node.memory.heap import environment_of_workers
from wsnode.node.workers.messages import Drain, Passed, ToParent, ToWorker
from wsnode.node.workers.pair import GoneError, Pair, ends

MOST_UNREAD: Final = 1024
"""Messages that wait for a worker, up to a megabyte each where they bring transactions."""
FOLLOWS: Final = 0
"""The number of the process that follows other nodes or a journal, and serves no connections."""
COMMAND: Final = (sys.executable, "-m", "wsnode.node.workers.serving.worker")


logger = logging.getLogger("wsnode.workers")


class Stage(enum.Enum):
    """A worker's life."""

    COMING = enum.auto()
    """Being started, or about to be."""
    SERVING = enum.auto()
    RETIRING = enum.auto()
    """It keeps its connections and gets no more."""


class Worker:
    """A process, from the decision to start it to its end."""

    def __init__(self, number: int, row: int, *, holds: bool) -> None:
        """`row` is its own in the ledger. `holds`: whether connections may wait for it to be ready."""
        self.number = number
        """From 1 on, or `FOLLOWS`."""
        self.row = row
        self.stage = Stage.COMING
        self.connections = 0
        self.last_given = 0
        self.held: list[tuple[socket.socket, int]] | None = [] if holds else None
        """Accepted connections that wait for it, with their doors; None if none may."""
        self.ready, self.ended = trio.Event(), trio.Event()
        self.serving_since = 0.0
        self.failure: str | None = None
        """Why it could not start, if it said so."""
        self.process: trio.Process | None = None
        self._pair: Pair[ToParent] | None = None
        self._its_end: Pair[ToWorker] | None = None
        """A copy of the process's own end: what lies there unread stays when the process ends."""

    @property
    def follows(self) -> bool:
        """Return whether it is the process that follows."""
        return self.number == FOLLOWS

    @property
    def was_killed(self) -> bool:
        """Return whether a signal has ended its process, which says nothing of what it was started with."""
        status = None if self.process is None else self.process.returncode
        return status is not None and status < 0

    @property
    def name(self) -> str:
        """Return what the log calls it."""
        return "the process that follows" if self.follows else f"worker {self.number}"

    async def start(self) -> Pair[ToParent]:
        """Start the process, and return this end of the pair with it."""
        ours, theirs = ends()
        command: Sequence[str] = [*COMMAND, str(theirs.fileno())]
        try:
            self.process = await trio.lowlevel.open_process(
                command, pass_fds=[theirs.fileno()], stdin=None, env=environment_of_workers()
            )
        except BaseException:
            ours.close()
            theirs.close()
            raise
        self._pair, self._its_end = Pair(ours, ToParent), Pair(theirs, ToWorker)
        return self._pair

    async def wait_ended(self) -> None:
        """Return once the process has ended; the connections that it never received then wait here."""
        assert self.process is not None, "it has been started"
        await self.process.wait()
        if self._its_end is not None:
            self.held = [*(self.held or []), *_unread(self._its_end)]
            # Only now is the end of what it has sent seen, too.
            self._its_end.close()
            self._its_end = None

    def begin_serving(self) -> list[tuple[socket.socket, int]]:
        """Note that it is ready, and return what has waited for it."""
        self.stage, self.serving_since = Stage.SERVING, trio.current_time()
        self.ready.set()
        return self.give_up_held()

    def take(self, connected: socket.socket, door: int) -> bool:
        """Pass a connection to the worker, or keep it until it is ready; False if it cannot have it now."""
        if self.held is not None:
            self.held.append((connected, door))
        elif self.stage is not Stage.SERVING or self._pair is None:
            return False
        else:
            try:
                if not self._pair.send_nowait(Passed(door), connected.fileno()):
                    return False
            except GoneError:
                return False
            connected.close()
        self.connections += 1
        return True

    def give_up_held(self) -> list[tuple[socket.socket, int]]:
        """Return what waits for it, for others to get it; nothing waits for it from now on."""
        held, self.held = self.held or [], None
        self.connections -= len(held)
        return held

    def post(self, message: ToWorker) -> None:
        """Send it a message, if it is there; one that leaves too many unread hangs, and is ended."""
        if self._pair is not None:
            self._pair.post(message)
            if self._pair.waiting > MOST_UNREAD:
                logger.error("%s does not listen and is ended", self.name)
                self.kill()

    def retire(self, *, restarts: bool) -> None:
        """Have it end, if it was not asked to; one that does not serve yet has nothing to end."""
        stage, self.stage = self.stage, Stage.RETIRING
        if stage is Stage.SERVING:
            self.post(Drain(restarts))
        elif stage is Stage.COMING:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        if self.process is not None:
            self.process.kill()


def _unread(end: Pair[ToWorker]) -> Iterator[tuple[socket.socket, int]]:
    """Yield the connections, with their doors, of the messages that wait at an end."""
    while (received := end.receive_nowait()) is not None:
        message, descriptor = received
        if isinstance(message, Passed) and descriptor is not None:
            yield socket.socket(fileno=descriptor), message.door
        elif descriptor is not None:
            os.close(descriptor)
