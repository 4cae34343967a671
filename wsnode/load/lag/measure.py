"""Measurement of the lag: subscribers to a node, and blocks that it is made to produce."""

import selectors
import time
from typing import Final

import msgspec

from wsnode.load.connection import TimestampedConnection, encoder
from wsnode.load.lag.drive import TOPIC, MiningCalls, choose
from wsnode.load.lag.lag_tally import KEPT_SECONDS, LagTally, MiningCall
from wsnode.load.lag.notice import CALLS, HEADS, LOGS, AllOutcomes, NotificationKey, Reply, read
from wsnode.load.machine import CpuMeter
from wsnode.load.measured import SLICE_SECONDS
from wsnode.load.node_reader import NodeReader
from wsnode.load.progress import BEAT_SECONDS, Show

SUBSCRIBE_SECONDS: Final = 30.0
STALL_SECONDS: Final = 30.0
"""Seconds until a call whose block no subscriber has received is given up for the next one."""
QUIET_SECONDS: Final = 5.0
"""Seconds without a notification, after the last block, until the wait for more ends."""
TURN_SECONDS: Final = 0.05
SLICES: Final = 120
"""Maximum number of points over time."""
SLICE_BLOCKS: Final = 5


class LagPlan(msgspec.Struct, frozen=True):
    """Settings of a lag measurement: the number of subscribers, their kinds of subscription, and the blocks
    that the node is made to produce.
    """

    subscribers: int = 16
    kinds: tuple[str, ...] = (HEADS,)
    logs: int = 10
    """Number of logs in a block that is made."""
    calls: int = 100
    """Number of calls that each subscriber watches."""
    way: str = "auto"
    interval: float = 0.1
    """Seconds from one call that makes a block to the next."""
    seconds: float = 10.0

    @property
    def wanted_logs(self) -> int:
        """Return the number of logs of each block that is made."""
        return self.logs if LOGS in self.kinds else 0

    @property
    def slice_seconds(self) -> float:
        """Return the seconds of a point over time, long enough for some blocks."""
        return max(self.seconds / SLICES, SLICE_BLOCKS * self.interval, SLICE_SECONDS)


class LagResult(msgspec.Struct, frozen=True):
    """Result of a lag measurement: the tally of the notifications that all subscribers to one node received
    within `seconds`, and the connections lost.
    """

    url: str
    version: str
    drive: str | None
    """Names of the methods that made blocks, None if none did."""
    tally: LagTally
    seconds: float
    lost: list[str]
    """Reasons why connections were lost, one for each."""
    failure: str | None = None
    """Reason why the measurement ended before its time, None if it did not."""


def measure_lag(url: str, plan: LagPlan, show: Show) -> LagResult:
    """Return the lags of all subscribers to a node during the plan's time.

    Raises:
        ConnectionError: The node refused a connection, a subscription, or the way to make blocks.
    """
    with NodeReader(url) as asker:
        version, drive = asker.version(), choose(asker, plan.way, plan.wanted_logs)
    run = _LagRun(url, plan, drive)
    try:
        run.subscribe()
        seconds = run.measure(show)
    finally:
        run.close()
    name = None if drive is None else drive.name
    return LagResult(url, version, name, run.tally, seconds, run.lost, run.failure)


def watched_calls(subscriber: int, count: int) -> list[dict[str, str]]:
    """Return calls of a subscriber's own: the first returns the block's number, the others read a slot."""
    first = subscriber * count
    # PUSH4 and POP make the call different from those of other subscribers; then NUMBER is returned.
    changing = f"0x63{first:08x}50435f5260205ff3"
    # PUSH4 SLOAD, and return it.
    others = (f"0x63{number:08x}545f5260205ff3" for number in range(first + 1, first + count))
    return [{"data": code} for code in (changing, *others)]


class _Driver:
    """Driver of a lag measurement, which makes the node produce one block after another by calls on a
    connection of its own.
    """

    def __init__(self, url: str, drive: MiningCalls, interval: float, tally: LagTally) -> None:
        self.connection = TimestampedConnection(url)
        self._encode = encoder(url)
        self._calls = drive.calls
        self._interval = interval
        self._tally = tally
        self._step = 0
        self._identity = 0
        self._due = time.time()
        self._last: MiningCall | None = None

    def go_on(self, now: float) -> None:
        """Make the next block if it is due and subscribers have received the last one, or it is given up."""
        if now < self._due or self._step:
            return
        if self._last in self._tally.calls:
            if now - self._due < STALL_SECONDS:
                return
            self._tally.give_up()
        self._due = max(self._due + self._interval, now)
        self._last = MiningCall(now)
        self._tally.calls.append(self._last)
        self._send()

    def take(self, reply: Reply, at: float) -> None:
        """Send the next call of the block after the reply to the last one, or note when the block was made.

        The reply arrived `at` seconds since 1970.

        Raises:
            ConnectionError: The call was refused.
        """
        if reply.refusal is not None:
            raise ConnectionError(f"{self._calls[self._step - 1].method}: {reply.refusal}")
        if self._step < len(self._calls):
            self._send()
            return
        self._step = 0
        if self._last is not None:
            self._last.replied = at

    def _send(self) -> None:
        call = self._calls[self._step]
        self._step += 1
        self._identity += 1
        self.connection.send(self._encode(self._identity, call.method, call.params))

    def wait(self, now: float) -> float:
        """Return the seconds for which there is nothing to do."""
        return self._due - now if self._due > now else TURN_SECONDS


class _LagRun:
    """Run of a measurement: all subscribers, and the driver of blocks."""

    def __init__(self, url: str, plan: LagPlan, drive: MiningCalls | None) -> None:
        self.lost = list[str]()
        self.failure: str | None = None
        # Without a driver no logs are made, so none are expected.
        logs = 0 if drive is None else plan.wanted_logs
        self.tally = LagTally(plan.subscribers, plan.kinds, plan.slice_seconds, logs)
        self._plan = plan
        self._selector = selectors.DefaultSelector()
        self._encode = encoder(url)
        self._filter = {} if drive is None else {"topics": [f"0x{TOPIC}"]}
        self._subscribers = list[TimestampedConnection]()
        self._waiting = plan.subscribers * (len(plan.kinds) + (CALLS in plan.kinds))
        """Number of missing replies and first outcomes of calls."""
        self._driver: _Driver | None = None
        try:
            for number in range(plan.subscribers):
                self._subscribers.append(self._opened(url, number))
            if drive is not None:
                self._driver = _Driver(url, drive, plan.interval, self.tally)
                self._selector.register(self._driver.connection.socket, selectors.EVENT_READ, None)
        except BaseException:
            self.close()
            raise

    def _opened(self, url: str, number: int) -> TimestampedConnection:
        connection = TimestampedConnection(url)
        self._selector.register(connection.socket, selectors.EVENT_READ, number)
        return connection

    def close(self) -> None:
        self._selector.close()
        for connection in self._subscribers:
            connection.close()
        if self._driver is not None:
            self._driver.connection.close()

    def subscribe(self) -> None:
        """Subscribe on all connections, and wait until the node has confirmed all and run the calls.

        Raises:
            ConnectionError: The node refused a subscription, or did not answer.
        """
        for number, connection in enumerate(self._subscribers):
            for identity, kind in enumerate(self._plan.kinds):
                params = self._params(kind, number)
                connection.send(self._encode(identity, "eth_subscribe", params))
        end = time.monotonic() + SUBSCRIBE_SECONDS
        while self._waiting:
            if time.monotonic() > end:
                raise ConnectionError(
                    f"no answer to {self._waiting} eth_subscribe in {SUBSCRIBE_SECONDS:g} s"
                )
            self._turn(TURN_SECONDS)
        self.tally.begin(time.time())

    def _params(self, kind: str, subscriber: int) -> list[object]:
        if kind == CALLS:
            return [kind, {"calls": watched_calls(subscriber, self._plan.calls)}]
        return [kind, self._filter] if kind == LOGS else [kind]

    def measure(self, show: Show) -> float:
        """Make blocks or listen for the plan's time, wait for late notifications, and return the seconds.

        It ends early if the node refuses to make a block: then `failure` has the reason.
        """
        began, use = time.monotonic(), CpuMeter()
        try:
            self._go_on(began, show)
        except ConnectionError as error:
            self.failure = str(error)
        seconds = time.monotonic() - began
        self._wait_quiet()
        used = use.parts()
        self.tally.end()
        for measured in (self.tally.after_first, self.tally.after_call):
            measured.end(seconds, used)
        return seconds

    def _go_on(self, began: float, show: Show) -> None:
        shown = 0.0
        while (passed := time.monotonic() - began) < self._plan.seconds and self._subscribers_left():
            # Arrivals are stamped by the wall clock, so the driver's times are taken from it as well.
            now = time.time()
            if self._driver is not None:
                self._driver.go_on(now)
            self._turn(TURN_SECONDS if self._driver is None else min(TURN_SECONDS, self._driver.wait(now)))
            if passed - shown > BEAT_SECONDS:
                shown = passed
                self.tally.forget(now)
                if show(self._line(passed)):
                    return

    def _wait_quiet(self) -> None:
        latest, end = time.monotonic() + KEPT_SECONDS, time.monotonic() + QUIET_SECONDS
        heard = self.tally.heard.total()
        while time.monotonic() < min(end, latest) and not self._is_over:
            self._turn(TURN_SECONDS)
            if self.tally.heard.total() > heard:
                heard, end = self.tally.heard.total(), time.monotonic() + QUIET_SECONDS

    @property
    def _is_over(self) -> bool:
        return not self._subscribers_left() or self.tally.is_complete or self.failure is not None

    def _subscribers_left(self) -> int:
        return self._plan.subscribers - len(self.lost)

    def _line(self, seconds: float) -> str:
        tally = self.tally
        p99 = tally.after_first.all_latencies.percentile(0.99)
        return (
            f"{seconds:.1f} s  {tally.blocks:,} blocks  {tally.heard.total():,} notifications  "
            f"p99 {p99:.1f} ms  {len(self.lost):,} connections lost"
        )

    def _turn(self, seconds: float) -> None:
        """Read all messages that have arrived, then handle them in the order of their times."""
        arrived = list[tuple[float, int | None, list[bytes]]]()
        for key, _events in self._selector.select(seconds):
            number: int | None = key.data
            try:
                messages, at = self._connection(number).receive_stamped()
            except OSError as error:
                self._lose(number, error)
            else:
                arrived.append((at, number, messages))
        for at, number, messages in sorted(arrived, key=lambda each: each[0]):
            for message in messages:
                self._take(number, read(message), at)

    def _connection(self, number: int | None) -> TimestampedConnection:
        if number is not None:
            return self._subscribers[number]
        assert self._driver is not None
        return self._driver.connection

    def _lose(self, number: int | None, error: OSError) -> None:
        if number is None or self._waiting:
            raise ConnectionError(str(error)) from error
        self._selector.unregister(self._subscribers[number].socket)
        self.lost.append(str(error))

    def _take(
        self, number: int | None, found: NotificationKey | AllOutcomes | Reply | None, at: float
    ) -> None:
        if isinstance(found, NotificationKey):
            if number is not None:
                self.tally.hear(number, found, at)
        elif isinstance(found, AllOutcomes):
            self._waiting -= 1
        elif isinstance(found, Reply) and number is None:
            if self._driver is not None:
                self._driver.take(found, at)
        elif isinstance(found, Reply):
            if found.refusal is not None:
                raise ConnectionError(f"eth_subscribe: {found.refusal}")
            self._waiting -= 1
