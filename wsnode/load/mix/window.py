"""Requests of a mix over many connections: a window of them in flight on each, or at a fixed rate."""

import itertools
import os
import selectors
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from wsnode.load.connection import encoder, open_connection
from wsnode.load.frames import error_text, outcome
from wsnode.load.measured import SLICE_SECONDS, Measurement
from wsnode.load.mix.requests import Request
from wsnode.load.progress import BEAT_SECONDS, Hear, ProgressMessage, end_by_itself

WARM_UP = 0.1
"""Part of a run, at its beginning, that is not counted."""
LOST_SECONDS = 30.0
FLUSH_SECONDS = 0.05


class LoadSettings(msgspec.Struct, frozen=True):
    """Load of one run: the number of connections, and its seconds. `depth` requests are in flight on each
    connection or, if `rate` is given, so many requests are sent a second on all together.
    """

    connections: int = 16
    depth: int = 4
    seconds: float = 5.0
    rate: float | None = None


class RequestWindow:
    """Connection with its requests in flight. The id of a request is its index in a list of prepared frames,
    and no frame is sent again before its reply.
    """

    def __init__(self, url: str, frames: Sequence[bytes], first: int) -> None:
        self.connection = open_connection(url)
        self.asked: dict[int, float] = {}
        self._frames = frames
        self._places: Iterator[int] = itertools.cycle([*range(first, len(frames)), *range(first)])

    def fill(self, depth: int, now: float) -> None:
        """Send requests until `depth` are in flight."""
        if chosen := [self._choose(now) for _ in range(depth - len(self.asked))]:
            self.connection.send(b"".join(chosen))

    def ask(self, due: float) -> bool:
        """Send the next request, due at `due`; return False, unsent, if half of all are in flight."""
        if len(self.asked) * 2 > len(self._frames):
            return False
        self.connection.send(self._choose(due))
        return True

    def _choose(self, since: float) -> bytes:
        while (place := next(self._places)) in self.asked:
            pass
        self.asked[place] = since
        return self._frames[place]


class MixRun:
    """Run of a load test: it sends a mix of requests to one node on several connections, and measures the
    replies.
    """

    def __init__(
        self,
        windows: Sequence[RequestWindow],
        requests: Sequence[Request],
        pattern: LoadSettings,
        slice_seconds: float,
        hear: Hear,
    ) -> None:
        self._windows = windows
        self._requests = requests
        self._pattern = pattern
        self._measured = Measurement(slice_seconds=slice_seconds)
        self._hear = hear
        self._began = self._last_reply = self._flushed = self._heard = time.perf_counter()
        self._turns = itertools.cycle(windows)
        self._due = 0
        self._counted = 0
        self._is_stopped = False

    def measure(self) -> Measurement:
        """Send requests for the pattern's time and until one reply counts, and return the results.

        The run ends before its time if a connection is lost, or the node stops answering: then `failure` has
        the reason. It also ends once `hear` returns True.
        """
        seconds = self._pattern.seconds
        with selectors.DefaultSelector() as selector:
            for window in self._windows:
                selector.register(window.connection.socket, selectors.EVENT_READ, window)
            used, measured = time.process_time(), self._measured
            try:
                self._send_and_take(selector)
            except OSError as error:
                measured.failure = str(error)
        taken = time.perf_counter() - self._began
        measured.busy = [(time.process_time() - used) / taken]
        taken = max(min(seconds, taken), self._last_reply - self._began)
        measured.seconds = max(0.0, taken - seconds * WARM_UP)
        if self._pattern.rate is not None:
            measured.unanswered = self._unanswered(self._pattern.rate)
        return measured

    def _send_and_take(self, selector: selectors.BaseSelector) -> None:
        self._ask_first()
        while not self._is_stopped:
            now = time.perf_counter()
            if now - self._began >= self._pattern.seconds and self._counted:
                return
            self._keep_going(now)
            for key, _events in selector.select(self._pause()):
                self._take(key.data)

    def _ask_first(self) -> None:
        if self._pattern.rate is None:
            for window in self._windows:
                window.fill(self._pattern.depth, self._began)

    def _keep_going(self, now: float) -> None:
        if now - self._last_reply > LOST_SECONDS:
            raise ConnectionError(f"no reply in {LOST_SECONDS:g} s")
        if self._pattern.rate is not None:
            self._ask_due(now, self._pattern.rate)
        if now - self._flushed > FLUSH_SECONDS:
            self._flushed = now
            for window in self._windows:
                window.connection.flush()
            if now - self._heard > BEAT_SECONDS:
                self._heard = now
                self._is_stopped = self._hear(self._beat(now))

    def _beat(self, now: float) -> ProgressMessage:
        measured = self._measured
        in_flight = sum(len(window.asked) for window in self._windows)
        return ProgressMessage(
            os.getpid(),
            now - self._began,
            measured.replies,
            measured.errors.total(),
            in_flight,
            measured.all_latencies,
        )

    def _ask_due(self, now: float, rate: float) -> None:
        # Latency counts from the time when a request was due: a stall must not improve the figures.
        while (due := self._began + self._due / rate) <= now and next(self._turns).ask(due):
            self._due += 1
            self._measured.lateness.add(now - due)

    def _pause(self) -> float:
        if self._pattern.rate is None:
            return FLUSH_SECONDS
        due = self._began + self._due / self._pattern.rate
        return min(FLUSH_SECONDS, max(0.0, due - time.perf_counter()))

    def _take(self, window: RequestWindow) -> None:
        messages = window.connection.receive()
        now = self._last_reply = time.perf_counter()
        counts = now - self._began >= self._pattern.seconds * WARM_UP
        for message in messages:
            place, is_error = outcome(message)
            asked = window.asked.pop(place, None) if place is not None else None
            if asked is not None and place is not None and counts:
                error = error_text(message) if is_error else None
                self._counted += 1
                at = now - self._began - self._pattern.seconds * WARM_UP
                self._measured.add(self._requests[place].method, now - asked, error, at)
        if self._pattern.rate is None:
            window.fill(self._pattern.depth, now)

    def _unanswered(self, rate: float) -> int:
        due = int((time.perf_counter() - self._began) * rate) + 1 - self._due
        return max(0, due) + sum(len(window.asked) for window in self._windows)


def run_window(
    url: str,
    requests: Sequence[Request],
    pattern: LoadSettings,
    slice_seconds: float = SLICE_SECONDS,
    *,
    first: int = 0,
    wait: Callable[[], object] = lambda: None,
    hear: Hear = end_by_itself,
) -> Measurement:
    """Return the results of one run of `pattern`, over time in slices of `slice_seconds`.

    Its connections have the numbers from `first` on among all processes; `wait` is called once they are open,
    and returns when the run is to begin. `hear` is given a beat each half a second.

    Raises:
        ConnectionError: A connection was refused.
    """
    encode = encoder(url)
    frames = [encode(place, each.method, each.params) for place, each in enumerate(requests)]
    step = max(1, len(frames) // pattern.connections)
    windows = list[RequestWindow]()
    try:
        for number in range(first, first + pattern.connections):
            windows.append(RequestWindow(url, frames, number * step % len(frames)))
        wait()
        return MixRun(windows, requests, pattern, slice_seconds, hear).measure()
    finally:
        for window in windows:
            window.connection.close()
