"""Busy polling for the next request of a client that is quick and alone.

A core that sleeps between two requests takes longer to wake up than most replies take to make. So when one
client sends a request at a time, each soon after the last reply, and no other client is active, its socket is
polled for a moment before trio waits for it.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from wsnode.server.turns.slow_lane import SlowLane

AWAKE_SECONDS = 0.0001
"""Seconds of polling for one request."""
TURN_SECONDS = 0.00025
"""Seconds for which other tasks may have to wait meanwhile."""
QUICK_SECONDS = 0.0002
"""A request within this time of the last reply was quick."""
ENOUGH = 4
"""Quick requests in a row, after which the next one is expected to be quick as well."""
DISTRUST = 16
"""Quick requests that make up for one that did not come, so that a twentieth of the time is lost at most."""
NEVER = float("-inf")


class Source(Protocol):
    """The source of a client's bytes."""

    def receive_by(self, deadline: float) -> bytes | None:
        """Return what arrives before `deadline`, by trying again and again; None if nothing does."""
        ...


class Dialogue:
    """The last client of this process, and the speed of its requests."""

    __slots__ = ("_began", "_clock", "_has_core", "_lane", "_others_ran", "_partner", "_quick")

    def __init__(
        self, lane: SlowLane, clock: Callable[[], float] = perf_counter, *, has_core: bool = True
    ) -> None:
        """`has_core`: whether the process has a core to itself; otherwise it never polls."""
        self._lane = lane
        self._has_core = has_core
        self._clock = clock
        self._partner: object = None
        self._quick = 0
        self._others_ran = 0.0
        self._began = 0.0

    def heard(self, partner: object) -> None:
        """Record that bytes have arrived from `partner`, after all other tasks had a turn."""
        if self._partner is partner:
            self._others_ran = now = self._clock()
            self._quick = self._quick + 1 if now - self._began < QUICK_SECONDS else min(self._quick, 0)

    def turn_to(self, partner: object) -> bool:
        """Return whether the last client was another than `partner`, which is the last from now on."""
        if self._partner is partner:
            return False
        self._partner, self._quick, self._began = partner, 0, NEVER
        return True

    def receive(self, partner: object, source: Source, messages: int) -> bytes | None:
        """Return the bytes that arrive at once from `partner`, whose last burst had `messages` messages.

        None means: wait as for any client, then call `heard`.
        """
        if self._partner is not partner:
            self.turn_to(partner)
            return None
        self._began = began = self._clock()
        if messages > 1:
            # A client with several requests in flight is served better in bursts.
            self._quick = -DISTRUST
        elif self._has_core and self._quick >= ENOUGH and began - self._others_ran < TURN_SECONDS:
            if not self._lane.in_flight and (data := source.receive_by(began + AWAKE_SECONDS)) is not None:
                return data
            self._quick = -DISTRUST
            self._began = self._clock()
        return None
