"""Progress of a run, while it runs."""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from wsnode.load.histogram import Histogram

BEAT_SECONDS: Final = 0.5
"""Seconds from one beat of a process to its next."""

Show: TypeAlias = Callable[[str], bool]
"""Function that shows a line in place of the last one; it returns True once the run is to end."""


class ProgressMessage(msgspec.Struct, frozen=True):
    """Report of one client process during a run: its counts and latencies since the beginning of the run."""

    process: int
    at: float
    """Seconds from the beginning of the run."""
    replies: int
    errors: int
    in_flight: int
    latencies: Histogram


Hear: TypeAlias = Callable[[ProgressMessage], bool]
"""Function that takes a beat, and returns True once the run is to end."""


def end_by_itself(_beat: ProgressMessage) -> bool:
    """Ignore a beat and return False: only the duration ends the run."""
    return False


class RunProgress:
    """Progress of a run as one line of text, made of the latest message of each client process."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._beats: dict[int, ProgressMessage] = {}
        self._shown = (0.0, 0)

    def take(self, beat: ProgressMessage) -> None:
        self._beats[beat.process] = beat

    def line(self) -> str:
        beats = self._beats.values()
        at, replies = max(beat.at for beat in beats), sum(beat.replies for beat in beats)
        before, counted = self._shown
        if at > before:
            self._shown = at, replies
        latencies = Histogram()
        for beat in beats:
            latencies.merge(beat.latencies)
        rate = (replies - counted) / (at - before) if at > before else 0.0
        in_flight, errors = sum(beat.in_flight for beat in beats), sum(beat.errors for beat in beats)
        p99 = f"p99 {latencies.percentile(0.99):.1f} ms" if len(latencies) else "no reply yet"
        state = f"{rate:,.0f} a second  {in_flight:,} in flight  {p99}  {errors:,} errors"
        return f"{self._name}{at:.1f} s  {state}"
