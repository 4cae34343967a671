"""Recorded requests on many connections: with their distances in time, at a rate, or as a window of them."""

import itertools
import selectors
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from wsnode.load.connection import framer, open_connection
from wsnode.load.frames import error_text, outcome
from wsnode.load.machine import CpuMeter
from wsnode.load.measured import Measurement
from wsnode.load.node_reader import NodeReader
from wsnode.load.progress import BEAT_SECONDS, ProgressMessage, RunProgress, Show
from wsnode.untrusted.decoding import JsonDecoder, MalformedError, one_error

MAX_LINE: Final = 16 * 2**20
"""Maximum number of bytes of a line."""
MAX_SHOWN: Final = 10


class NoRequestsError(OSError):
    """Error of a file without a request; the message has the number of lines, and the fault of the first."""


class RecordedRequest(msgspec.Struct, frozen=True):
    """Request of a file: its method, its parameters as JSON, and its time in seconds, None without one."""

    method: str
    params: bytes
    time: float | None


class _Line(msgspec.Struct):
    method: str
    params: msgspec.Raw = msgspec.Raw(b"[]")
    time: float | datetime | None = None


class RequestLines:
    """Reader of a replay file: iterating yields its requests; malformed lines are counted and skipped."""

    def __init__(self, file: BinaryIO) -> None:
        self.count = 0
        """Number of lines read, without empty ones."""
        self.malformed = 0
        self.shown = list[str]()
        """First malformed lines: number and fault of each."""
        self._file = file
        self._number = 0
        self._decoder = JsonDecoder(_Line)

    def __iter__(self) -> Iterator[RecordedRequest]:
        """Yield the requests; count malformed lines and leave them out."""
        while line := self._file.readline(MAX_LINE):
            self._number += 1
            is_whole = line.endswith(b"\n") or len(line) < MAX_LINE
            if not is_whole:
                self._skip()
            if not line.strip():
                continue
            self.count += 1
            try:
                yield self._read(line, is_whole=is_whole)
            except MalformedError as error:
                self.malformed += 1
                if len(self.shown) < MAX_SHOWN:
                    self.shown.append(f"line {self._number}: {error}")

    def _skip(self) -> None:
        while (rest := self._file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
            pass

    def _read(self, line: bytes, *, is_whole: bool) -> RecordedRequest:
        if not is_whole:
            raise MalformedError(f"longer than {MAX_LINE:,} bytes")
        found = self._decoder.decode(line)
        params = bytes(found.params)
        if params[:1] not in (b"[", b"{"):
            raise MalformedError(
                f"its params are no array and no object: {params[:40].decode(errors='replace')}"
            )
        with one_error():
            time = found.time.timestamp() if isinstance(found.time, datetime) else found.time
        return RecordedRequest(found.method, params, time)


LOST_SECONDS: Final = 30.0
TURN_SECONDS: Final = 0.05
MAX_IN_FLIGHT: Final = 16_384
MAX_BYTES: Final = 64 * 2**20
"""Bytes of requests in flight beyond which, or beyond `MAX_IN_FLIGHT`, the next one is not read."""
MAX_METHODS: Final = 1000
MAX_METHOD: Final = 100
OTHERS: Final = "other methods"
MAX_SLICES: Final = 480


class ReplayPlan(msgspec.Struct, frozen=True):
    """Settings of a replay: the file of recorded requests, the connections, and the pace of sending."""

    file: Path
    connections: int = 16
    depth: int = 4
    """Requests in flight on each connection, where neither a rate nor times set the pace."""
    rate: float | None = None
    """Requests a second, whatever their times are."""
    speed: float = 1.0
    """Factor by which requests are sent faster than recorded."""
    keeps_time: bool = True
    """True if times in the file set the pace."""
    seconds: float | None = None
    """Seconds after which no more requests are sent, None for no limit."""


class ReplayResult(msgspec.Struct):
    """Results of a replay on one node, with the number of malformed lines of the file; `shown` has the first
    of them.
    """

    url: str
    version: str
    measured: Measurement
    sent: int
    lines: int
    malformed: int
    shown: list[str]
    is_paced: bool

    @property
    def failure(self) -> str | None:
        """Return the reason why it ended before all was answered, None if it did not."""
        return self.measured.failure


def measure_replay(url: str, plan: ReplayPlan, show: Show) -> ReplayResult:
    """Send the requests of a file, and return the results; end early if the node stops answering.

    Raises:
        ConnectionError: A connection was refused.
        NoRequestsError: The file holds no request.
        OSError: The file cannot be read.
    """
    with NodeReader(url) as asker:
        version = asker.version()
    with plan.file.open("rb") as file:
        lines = RequestLines(file)
        requests = iter(lines)
        if (first := next(requests, None)) is None:
            raise NoRequestsError(f"{plan.file}: no request in {lines.count} lines{_why(lines)}")
        run = _ReplayRun(url, plan, itertools.chain([first], requests), show)
        run.is_paced = plan.rate is not None or (plan.keeps_time and first.time is not None)
        try:
            run.measure()
        finally:
            run.close()
    return ReplayResult(
        url, version, run.measured, run.sent, lines.count, lines.malformed, lines.shown, run.is_paced
    )


def _why(lines: RequestLines) -> str:
    return f"; {lines.shown[0]}" if lines.shown else ""


class _InFlight(msgspec.Struct, frozen=True):
    """Request without an answer yet: its method, the time when it was due, its connection and its bytes."""

    method: str
    since: float
    connection: int
    size: int


class _ReplayRun:
    """Connections of a replay, and the requests in flight on them."""

    def __init__(self, url: str, plan: ReplayPlan, requests: Iterator[RecordedRequest], show: Show) -> None:
        self.measured = Measurement()
        self.sent = 0
        self.is_paced = False
        self._plan = plan
        self._requests = requests
        self._next = next(requests, None)
        self._first_time = None if self._next is None else self._next.time
        self._frame = framer(url)
        self._show = show
        self._progress = RunProgress()
        self._in_flight: dict[int, _InFlight] = {}
        self._bytes = 0
        self._selector = selectors.DefaultSelector()
        self._connections = [open_connection(url) for _ in range(plan.connections)]
        self._loads = [0] * plan.connections
        self._unfilled = dict.fromkeys(range(plan.connections))
        """Numbers of connections on which more requests may be in flight."""
        self._began = self._last_reply = self._heard = self._due = time.perf_counter()
        for number, connection in enumerate(self._connections):
            self._selector.register(connection.socket, selectors.EVENT_READ, number)

    def close(self) -> None:
        self._selector.close()
        for connection in self._connections:
            connection.close()

    def measure(self) -> None:
        """Send all requests, and wait for their answers.

        It ends early if a connection is lost, or the node stops answering: then `failure` has the reason.
        """
        use = CpuMeter()
        try:
            self._send_and_take()
        except ConnectionError as error:
            self.measured.failure = str(error)
        self.measured.end(time.perf_counter() - self._began, use.parts())

    def _send_and_take(self) -> None:
        self._began = self._last_reply = self._due = time.perf_counter()
        while self._next is not None or self._in_flight:
            now = time.perf_counter()
            if self._in_flight and now - self._last_reply > LOST_SECONDS:
                raise ConnectionError(f"no reply in {LOST_SECONDS:g} s")
            if self._plan.seconds is not None and now - self._began >= self._plan.seconds:
                self._next = None
            self._send_some(now)
            for key, _events in self._selector.select(self._pause(now)):
                self._take(key.data)
            self._keep_going(now)

    def _send_some(self, now: float) -> None:
        if self.is_paced:
            self._send_due(now)
            return
        while self._unfilled and self._next is not None and self._has_room:
            number = next(iter(self._unfilled))
            self._send(number, now)
            if self._loads[number] >= self._plan.depth:
                del self._unfilled[number]

    def _send_due(self, now: float) -> None:
        while self._next is not None and self._has_room and (due := self._due_of(self._next)) <= now:
            self._due = due
            self.measured.lateness.add(now - due)
            self._send(self.sent % len(self._connections), due)

    def _due_of(self, request: RecordedRequest) -> float:
        """Return when a request is due, in seconds; one without a later time is due with the one before."""
        if self._plan.rate is not None:
            return self._began + self.sent / self._plan.rate
        if request.time is None or self._first_time is None:
            return self._due
        return max(self._due, self._began + (request.time - self._first_time) / self._plan.speed)

    @property
    def _has_room(self) -> bool:
        return len(self._in_flight) < MAX_IN_FLIGHT and self._bytes < MAX_BYTES

    def _send(self, number: int, since: float) -> None:
        request = self._next
        assert request is not None, "it was looked at"
        self.sent += 1
        frame = self._frame(_body(self.sent, request))
        method = self._known(request.method)
        if not self._in_flight:
            self._last_reply = time.perf_counter()
        self._in_flight[self.sent] = _InFlight(method, since, number, len(frame))
        self._bytes += len(frame)
        self._loads[number] += 1
        self._connections[number].send(frame)
        self._next = next(self._requests, None)

    def _known(self, method: str) -> str:
        methods, method = self.measured.latencies, method[:MAX_METHOD]
        return method if method in methods or len(methods) < MAX_METHODS else OTHERS

    def _take(self, number: int) -> None:
        messages = self._connections[number].receive()
        now = time.perf_counter()
        for message in messages:
            identity, is_error = outcome(message)
            found = self._in_flight.pop(identity, None) if identity is not None else None
            if found is None:
                continue
            self._last_reply = now
            self._bytes -= found.size
            self._loads[found.connection] -= 1
            self._unfilled[found.connection] = None
            error = error_text(message) if is_error else None
            self.measured.add(found.method, now - found.since, error, now - self._began)

    def _pause(self, now: float) -> float:
        if not self.is_paced or self._next is None or not self._has_room:
            return TURN_SECONDS
        return min(TURN_SECONDS, max(0.0, self._due_of(self._next) - now))

    def _keep_going(self, now: float) -> None:
        if now - self._heard < BEAT_SECONDS:
            return
        self._heard = now
        for connection in self._connections:
            connection.flush()
        measured = self.measured
        if len(measured.slices) > MAX_SLICES:
            measured.join_slices()
        errors, in_flight = measured.errors.total(), len(self._in_flight)
        beat = ProgressMessage(
            0, now - self._began, measured.replies, errors, in_flight, measured.all_latencies
        )
        self._progress.take(beat)
        if self._show(self._progress.line()):
            self._next = None


def _body(identity: int, request: RecordedRequest) -> bytes:
    method = msgspec.json.encode(request.method)
    return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % (identity, method, request.params)
