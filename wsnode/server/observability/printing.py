"""Text for the terminal, written by a separate thread without delaying its callers.

A pipe without a quick reader blocks its writer once it is full (64 KiB), and fails once its reader has ended.
Then lines are lost and counted, while the event loop continues.
"""

import os
import queue
import select
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

TEXTS_PER_SECOND: Final = 100
TEXTS_WAITING: Final = 256
LAST_SECONDS: Final = 0.5
"""Seconds for which the end of the process waits for the last lines to be written."""

Text = Callable[[], str]
"""Function that makes a text in the printer's thread; an empty text prints nothing."""


class LineRate:
    """Limit of events in each second."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._began, self._taken = clock(), 0

    def take(self) -> bool:
        """Count one event; return True if it is within the limit of this second."""
        now = self._clock()
        if now - self._began >= 1:
            self._began, self._taken = now, 0
        self._taken += 1
        return self._taken <= self._most


class Printer:
    """Thread that writes queued texts to a file descriptor, so its callers never wait for it; also a stream
    for handlers of logging.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        rate: int = TEXTS_PER_SECOND,
        waiting: int = TEXTS_WAITING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the thread; at most `rate` texts a second are written, and at most `waiting` wait."""
        self._descriptor = descriptor
        self._rate = LineRate(rate, clock)
        self._most_waiting = waiting
        # The queue has no limit of its own, so that the None that ends the thread always has room; `say` and
        # `write` apply the limit.
        self._texts = queue.SimpleQueue[Text | None]()
        self._counting = threading.Lock()
        self._left_out = 0
        self._is_broken = False
        self._thread = threading.Thread(target=self._run, name="printer", daemon=True)
        self._thread.start()

    def say(self, text: Text, rate: LineRate | None = None) -> None:
        """Queue a text, unless it exceeds the rate of this second, or too many texts wait.

        Texts with a `rate` of their own do not count towards that of the others.
        """
        if self._is_broken:
            return
        if not (rate or self._rate).take() or self._texts.qsize() >= self._most_waiting:
            with self._counting:
                self._left_out += 1
                is_first = self._left_out == 1
            if is_first:
                # An empty text wakes the thread, so that the count is written within a second even if no text
                # follows.
                self._texts.put(str)
        else:
            self._texts.put(text)

    def write(self, line: str) -> int:
        """Queue a line of the log, unless too many texts wait; return its length."""
        if self._texts.qsize() < self._most_waiting and not self._is_broken:
            self._texts.put(lambda: line)
        return len(line)

    def flush(self) -> None:
        """Return immediately, because the thread writes each line as soon as it can."""

    def wait_written(self) -> None:
        """Wait until the lines queued so far are written, `LAST_SECONDS` at most."""
        written = threading.Event()

        def mark() -> str:
            written.set()
            return ""

        self._texts.put(mark)
        if not self._is_broken:
            written.wait(LAST_SECONDS)

    def stop(self) -> None:
        """Write the lines queued so far within `LAST_SECONDS`; the rest is lost."""
        self._texts.put(None)
        self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        try:
            while (text := self._next()) is not None:
                self._put(_made(text))
            self._put(self._count())
        except OSError:
            self._is_broken = True

    def _next(self) -> Text | None:
        try:
            return self._texts.get(timeout=1 if self._left_out else None)
        except queue.Empty:
            return self._count

    def _count(self) -> str:
        with self._counting:
            left_out, self._left_out = self._left_out, 0
        return f"… {left_out} more left out\n" if left_out else ""

    def _put(self, text: str) -> None:
        # The text bypasses sys.stderr: a thread that waits in sys.stderr when the interpreter ends makes it
        # abort.
        rest = memoryview(text.encode(errors="backslashreplace"))
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], 1)


def _made(text: Text) -> str:
    try:
        return text()
    except Exception:
        # A bug in one text must not end the others.
        return traceback.format_exc()
