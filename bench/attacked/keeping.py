"""A node that is attacked: one that the script has started is killed beyond its memory, and begins again."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Self

from bench.lib.nodes import Node
from wsnode.load.machine import resident_bytes

LOOK_SECONDS = 0.02
"""In which a node can grow by some 50 MB."""


class Guard:
    """Whether a process was killed because it had more memory than it may."""

    def __init__(self) -> None:
        self.has_killed = False

    def watch(self, process: int, most_bytes: float, ended: threading.Event) -> None:
        """Kill the process once it has more than `most_bytes`; return then, or once it is `ended`."""
        while not ended.wait(LOOK_SECONDS):
            try:
                if resident_bytes(process) > most_bytes:
                    self.has_killed = True
                    os.kill(process, signal.SIGKILL)
                    return
            except OSError:
                return


@contextmanager
def guarding(process: int, most_bytes: float) -> Iterator[Guard]:
    """Kill a process of this machine as soon as it has more memory."""
    guard, ended = Guard(), threading.Event()
    watching = threading.Thread(target=guard.watch, args=(process, most_bytes, ended), daemon=True)
    watching.start()
    try:
        yield guard
    finally:
        ended.set()
        watching.join()


class Kept:
    """A context manager: a node, guarded and stopped in the end if it is started here."""

    node: Node

    def __init__(
        self, name: str, start: Callable[[], AbstractContextManager[Node]], gibibytes: float
    ) -> None:
        """`start` runs a node that may have so many GiB."""
        self.name = name
        self._start = start
        self._gibibytes = gibibytes
        self._running = ExitStack()
        self._guard: Guard | None = None

    @classmethod
    def given(cls, node: Node) -> "Kept":
        """Return a node that others started: it is not killed, and cannot begin again."""
        return cls(node.name, lambda: nullcontext(node), 0)

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            StartError: It did not start.
            ConnectionError: It refused what is to be in its chain.
        """
        with ExitStack() as running:
            self.node = running.enter_context(self._start())
            if self._gibibytes and self.node.process:
                self._guard = running.enter_context(guarding(self.node.process, self._gibibytes * 2**30))
            self._running = running.pop_all()
        return self

    def __exit__(self, *_details: object) -> None:
        """Stop it."""
        self._running.close()

    def what_happened(self, error: Exception) -> str:
        """Return why an attack on it ended with an error."""
        if self._guard is not None and self._guard.has_killed:
            return f"killed at {self._gibibytes:g} GiB"
        return f"has ended or does not answer: {error}"

    def begin_again(self) -> bool:
        """Stop it and start it anew; return whether that is up to this script.

        Raises:
            StartError: It did not start.
            ConnectionError: It refused what is to be in its chain.
        """
        if self._guard is None:
            return False
        self._running.close()
        self.__enter__()
        return True
