"""Storm of connections on a node: opened, answered, and held."""

import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

import msgspec

from wsnode.load.machine import CpuMeter
from wsnode.load.measured import Measurement
from wsnode.load.node_reader import NodeReader
from wsnode.load.progress import BEAT_SECONDS, Show
from wsnode.load.storm.opening import FailedError, Opening, OpeningStage, StormTarget

TURN_SECONDS: Final = 0.05
SLICE_SECONDS: Final = 0.1
OPEN: Final = "open"
FIRST: Final = "first answer"
LAST: Final = "answer after the hold"


class StormPlan(msgspec.Struct, frozen=True):
    """Settings of a connection storm: the number of connections, the pace of opening them, and the time for
    which they are held.
    """

    connections: int = 1000
    rate: float | None = None
    """Connections opened a second; None for as fast as the node accepts them."""
    opening: int = 256
    """Maximum number of connections without an answer at the same time, unless there is a rate."""
    hold: float = 0.0
    """Seconds for which all connections are kept open."""
    timeout: float = 10.0
    """Seconds within which a connection is open and its call answered."""


class StormResult(msgspec.Struct):
    """Results of a connection storm on one node: times of handshakes and of calls, and failed connections by
    reason.
    """

    url: str
    version: str
    opened: Measurement = msgspec.field(default_factory=lambda: Measurement(slice_seconds=SLICE_SECONDS))
    """Times from the first packet to the end of the handshake."""
    answered: Measurement = msgspec.field(default_factory=lambda: Measurement(slice_seconds=SLICE_SECONDS))
    """Times of the first call on each connection, and of one after the hold."""
    failures: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of connections that were not opened or had no answer to the first call, by reason."""
    lost: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of connections that failed later, by reason."""
    seconds: float = 0.0
    """Seconds until the last connection had its answer, or had failed."""
    held: int = 0
    """Number of connections that were open in the end."""

    @property
    def failure(self) -> str | None:
        """Return the reason why no connection was opened, None if one was."""
        if self.opened.replies or not self.failures:
            return None
        return f"no connection was opened: {self.failures.most_common(1)[0][0]}"


def measure_storm(url: str, plan: StormPlan, show: Show) -> StormResult:
    """Open connections, hold them, and return their outcomes.

    Raises:
        ConnectionError: The node does not answer before the storm.
    """
    with NodeReader(url) as asker:
        storm = StormResult(url, asker.version())
    run = _StormRun(StormTarget(url), plan, storm, show)
    use = CpuMeter()
    try:
        run.open_all()
        if plan.hold:
            run.hold()
    finally:
        run.close()
    used = use.parts()
    for measured in (storm.opened, storm.answered):
        measured.end(storm.seconds, used)
    return storm


class _StormRun:
    """Run of a connection storm, which opens many connections to one node and has a call answered on each."""

    def __init__(self, target: StormTarget, plan: StormPlan, storm: StormResult, show: Show) -> None:
        self._target = target
        self._plan = plan
        self._storm = storm
        self._show = show
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[Opening, None] = {}
        """Connections whose call is not answered yet, the oldest first."""
        self._held: dict[Opening, None] = {}
        self._started = 0
        self._is_stopped = False
        self._began = self._shown = time.perf_counter()

    def open_all(self) -> None:
        """Open all connections and have a call answered on each."""
        self._began = time.perf_counter()
        while (self._started < self._plan.connections and not self._is_stopped) or self._waiting:
            now = time.perf_counter()
            if not self._is_stopped:
                self._start_some(now)
            self._turn(self._pause(now))
            self._give_up()
        self._storm.seconds = time.perf_counter() - self._began
        self._storm.held = len(self._held)

    def hold(self) -> None:
        """Keep the connections open, and have a call answered on each once more."""
        end = time.perf_counter() + self._plan.hold
        while time.perf_counter() < end and not self._is_stopped:
            self._turn(min(TURN_SECONDS, max(0.0, end - time.perf_counter())))
        left = deque(self._held)
        while left or self._waiting:
            while left and len(self._waiting) < self._plan.opening:
                self._ask(left.popleft())
            self._turn(TURN_SECONDS)
            self._give_up()
        self._storm.held = len(self._held)

    def close(self) -> None:
        self._selector.close()
        for each in (*self._waiting, *self._held):
            each.socket.close()

    def _start_some(self, now: float) -> None:
        plan = self._plan
        due = plan.connections if plan.rate is None else int((now - self._began) * plan.rate) + 1
        room = (
            plan.connections if plan.rate is not None else self._started + plan.opening - len(self._waiting)
        )
        for _ in range(self._started, min(due, room, plan.connections)):
            self._started += 1
            try:
                opening = Opening(self._target)
            except FailedError as error:
                self._storm.failures[str(error)] += 1
                continue
            self._waiting[opening] = None
            self._selector.register(opening.socket, opening.events, opening)

    def _pause(self, now: float) -> float:
        if self._plan.rate is None or self._started >= self._plan.connections:
            return TURN_SECONDS
        return min(TURN_SECONDS, max(0.0, self._began + self._started / self._plan.rate - now))

    def _ask(self, opening: Opening) -> None:
        # The connection may have been lost since it was chosen.
        if opening in self._held:
            del self._held[opening]
            self._waiting[opening] = None
            self._go_on(opening, opening.ask)

    def _turn(self, seconds: float) -> None:
        for key, _events in self._selector.select(seconds):
            self._go_on(key.data, key.data.go_on)
        now = time.perf_counter()
        if now - self._shown > BEAT_SECONDS:
            self._shown = now
            self._is_stopped = self._show(self._line(now)) or self._is_stopped

    def _go_on(self, opening: Opening, step: Callable[[], None]) -> None:
        before, failure = opening.socket, None
        try:
            step()
        except FailedError as error:
            failure = str(error)
        if opening in self._waiting and opening.answered is not None:
            self._count(opening)
        if failure is not None:
            self._drop(opening, before, failure)
        elif opening.socket is before:
            self._selector.modify(before, opening.events, opening)
        else:
            # TLS has wrapped the socket in a new object, which has to be registered in its place.
            self._selector.unregister(before)
            self._selector.register(opening.socket, opening.events, opening)

    def _count(self, opening: Opening) -> None:
        del self._waiting[opening]
        self._held[opening] = None
        assert opening.opened is not None, "the call was answered"
        assert opening.answered is not None, "it is counted then"
        taken, at = opening.answered - opening.asked, opening.answered - self._began
        if opening.asked > opening.opened:
            self._storm.answered.add(LAST, taken, None, at)
            return
        self._storm.opened.add(OPEN, opening.opened - opening.began, None, opening.opened - self._began)
        self._storm.answered.add(FIRST, taken, None, at)

    def _give_up(self) -> None:
        now = time.perf_counter()
        for opening in [*self._waiting]:
            since = opening.asked if opening.stage is OpeningStage.HELD else opening.began
            if now - since < self._plan.timeout:
                break
            failure = f"{opening.stage.value} in {self._plan.timeout:g} s"
            self._drop(opening, opening.socket, failure)

    def _drop(self, opening: Opening, registered: socket.socket, failure: str) -> None:
        is_late = opening.stage is OpeningStage.HELD
        (self._storm.lost if is_late else self._storm.failures)[failure] += 1
        self._selector.unregister(registered)
        opening.socket.close()
        self._waiting.pop(opening, None)
        self._held.pop(opening, None)

    def _line(self, now: float) -> str:
        failed = self._storm.failures.total()
        return (
            f"{now - self._began:.1f} s  {self._started:,} begun  {len(self._held):,} open  "
            f"{len(self._waiting):,} waiting  {failed:,} failed  {self._storm.lost.total():,} lost"
        )
