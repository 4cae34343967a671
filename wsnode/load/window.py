"""Requests of a mix over many connections, a window of them in flight on each."""

import itertools
import selectors
import time
from collections import Counter
from collections.abc import Sequence

import msgspec

from wsnode.load.connection import Connection
from wsnode.load.frames import request_frame
from wsnode.load.latencies import percentiles
from wsnode.load.mix import Request
from wsnode.load.replies import error_text, outcome

WARM_UP = 0.1
"""The part of a run that is not counted."""
LOST_SECONDS = 30.0
FLUSH_SECONDS = 0.05


class Measured(msgspec.Struct):
    """Latencies by method in seconds, and what was refused, of all runs against a node."""

    seconds: float = 0.0
    latencies: dict[str, list[float]] = {}
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    first_errors: dict[str, str] = {}

    @property
    def replies(self) -> int:
        """Return how many replies were counted."""
        return sum(map(len, self.latencies.values()))

    @property
    def rate(self) -> float:
        """Return the replies a second."""
        return self.replies / self.seconds if self.seconds else float("nan")

    def all_percentiles(self) -> list[float]:
        """Return p50, p90, p99 and p99.9 of all methods in milliseconds."""
        return percentiles([latency for each in self.latencies.values() for latency in each])


class Window:
    """A connection that asks again as soon as it is answered."""

    def __init__(self, url: str, frames: Sequence[bytes], first: int, depth: int) -> None:
        self.connection = Connection(url)
        self.asked: dict[int, float] = {}
        self._frames = frames
        self._places = itertools.cycle([*range(first, len(frames)), *range(first)])
        self._depth = depth

    def refill(self, now: float) -> None:
        """Ask until as many requests are in flight as may be."""
        chosen = []
        while len(self.asked) < self._depth:
            place = next(self._places)
            if place not in self.asked:
                self.asked[place] = now
                chosen.append(self._frames[place])
        if chosen:
            self.connection.send(b"".join(chosen))


def run_window(
    url: str, requests: Sequence[Request], connections: int, depth: int, seconds: float, measured: Measured
) -> None:
    """Ask for `seconds` and add what was measured to `measured`.

    Raises:
        ConnectionError: A connection was refused or lost, or none was answered any more.
    """
    frames = [request_frame(place, each.method, each.params) for place, each in enumerate(requests)]
    step = max(1, len(frames) // connections)
    windows = [
        Window(url, frames, number * step % len(frames), min(depth, len(frames)))
        for number in range(connections)
    ]
    try:
        _ask(windows, requests, seconds, measured)
    finally:
        for window in windows:
            window.connection.close()


def _ask(windows: Sequence[Window], requests: Sequence[Request], seconds: float, measured: Measured) -> None:
    selector = selectors.DefaultSelector()
    began = last = time.perf_counter()
    for window in windows:
        selector.register(window.connection.socket, selectors.EVENT_READ, window)
        window.refill(began)
    flushing, counted, end = began, began + seconds * WARM_UP, began + seconds
    with selector:
        while (now := time.perf_counter()) < end:
            if now - last > LOST_SECONDS:
                raise ConnectionError(f"no reply in {LOST_SECONDS:g} s")
            for key, _events in selector.select(0.05):
                last = _take(key.data, requests, counted, measured)
            if now >= flushing:
                flushing = now + FLUSH_SECONDS
                for window in windows:
                    window.connection.flush()
    measured.seconds += seconds * (1 - WARM_UP)


def _take(window: Window, requests: Sequence[Request], counted: float, measured: Measured) -> float:
    messages = window.connection.receive()
    now = time.perf_counter()
    for message in messages:
        place, is_error = outcome(message)
        asked = window.asked.pop(place, None) if place is not None else None
        if asked is None or place is None or now < counted:
            continue
        method = requests[place].method
        measured.latencies.setdefault(method, []).append(now - asked)
        if is_error:
            measured.errors[method] += 1
            measured.first_errors.setdefault(method, error_text(message))
    window.refill(now)
    return now
