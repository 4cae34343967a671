"""Client of another node, within a rate of requests; its connection is opened when first needed."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar

import trio

from wsnode.untrusted.decoding import MalformedError
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
from wsnode.upstream.http import HttpLink
from wsnode.upstream.link import Connect, Link, connector
from wsnode.upstream.messages import Params, decode_result
from wsnode.upstream.websocket import converse

KEPT: Final = 128
"""Number of response times that are kept."""
WEIGHT: Final = 0.1
"""Weight of the newest value of a running average."""
USUAL_READ_SECONDS: Final = 0.25
"""Response time in seconds assumed of an upstream that has not answered yet."""
ERROR_SECONDS: Final = 10.0
"""Score in seconds of an upstream whose every call fails."""


class Score:
    """Running figures by which upstreams are ranked: delay of announcements, response times, and share of
    errors.
    """

    def __init__(self) -> None:
        self.delay = 0.0
        """Mean seconds by which the upstream announces blocks after the first upstream."""
        self.errors = 0.0
        """Share of its answers that could not be used, from 0 to 1."""
        self.reads = 0
        self.failures = 0
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def announced(self, behind: float) -> None:
        """Record a block announced `behind` seconds after the first upstream announced it."""
        self.delay += WEIGHT * (behind - self.delay)

    def answered(self, seconds: float) -> None:
        self.reads += 1
        self._seconds.append(seconds)
        self.errors -= WEIGHT * self.errors

    def failed(self) -> None:
        """Record a call without an answer, or with a wrong one."""
        self.failures += 1
        self.errors += WEIGHT * (1 - self.errors)

    @property
    def p95(self) -> float:
        """Return the 95th percentile of the response times, in seconds."""
        if not self._seconds:
            return USUAL_READ_SECONDS
        return sorted(self._seconds)[len(self._seconds) * 19 // 20]

    @property
    def cost(self) -> float:
        """Return the sum of delay, response time and penalty for errors, in seconds; less is better."""
        return self.delay + self.p95 + self.errors * ERROR_SECONDS


MAX_PER_SECOND: Final = 2000.0
MIN_PER_SECOND: Final = 1.0
BURST_SECONDS: Final = 0.5
"""Capacity of the bucket, in seconds at the current rate."""
RECOVERY: Final = 1.05
"""Factor by which the rate grows in each second without a refusal."""
MAX_PAUSE: Final = 60.0
"""Longest pause after a refusal in seconds, whatever the upstream asks for."""


class TokenBucket:
    """Token bucket that limits the calls to one upstream. If the upstream refuses a call for its rate, the
    bucket's rate is halved, at most once a second; it recovers with time.
    """

    def __init__(
        self, per_second: float = MAX_PER_SECOND, clock: Callable[[], float] = trio.current_time
    ) -> None:
        self._most = self._rate = per_second
        self._clock = clock
        self._spent_until = 0.0
        """Time at which the bucket is full again; each call moves it on by 1 / rate seconds."""
        self._paused_until = 0.0
        self._changed = 0.0

    @property
    def per_second(self) -> float:
        seconds = max(0.0, self._clock() - self._changed)
        # The exponent is bounded, because the power would overflow; the rate has recovered long before 1000
        # seconds.
        grown: float = self._rate * RECOVERY ** min(seconds, 1000.0)
        return min(self._most, grown)

    async def take(self, calls: int = 1) -> None:
        await trio.sleep_until(self._due(calls))

    def _due(self, calls: int) -> float:
        now, rate = self._clock(), self.per_second
        self._spent_until = max(now, self._spent_until) + calls / rate
        return max(self._paused_until, self._spent_until - BURST_SECONDS)

    def refused(self, retry_after: float | None = None) -> None:
        """Reduce the rate to half, and allow no call for `retry_after` seconds."""
        now = self._clock()
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + min(retry_after, MAX_PAUSE))
        if now - self._changed >= 1.0 or self._rate == self._most:
            self._rate = max(MIN_PER_SECOND, self.per_second / 2)
            self._changed = now
            # Tokens saved at the higher rate are lost.
            self._spent_until = max(self._spent_until, now + BURST_SECONDS)


SECONDS: Final = 5.0
BATCH_SECONDS: Final = 15.0
QUESTIONS_AT_ONCE: Final = 1000

A = TypeVar("A")
T = TypeVar("T")

logger = logging.getLogger("wsnode.upstream")


class Client:
    """Client of one upstream; calls work while `run` runs."""

    def __init__(
        self,
        address: UpstreamAddress,
        *,
        seconds: float = SECONDS,
        connect: Connect | None = None,
        budget: TokenBucket | None = None,
    ) -> None:
        self.address = address
        self.score = Score()
        self.budget = budget or TokenBucket()
        self.seconds = seconds
        self._connect = connect or connector()
        self._nursery: trio.Nursery | None = None
        self._link: Link | None = None
        self._opening = trio.Lock()
        self._waiting = 0

    def __str__(self) -> str:
        return str(self.address)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                task_status.started()
                await trio.sleep_forever()
            finally:
                self._nursery = self._link = None

    async def ask(
        self, method: str, params: Params, *, link: Link | None = None, seconds: float | None = None
    ) -> Any:
        return self.read(decode_result, await self.ask_text(method, params, link=link, seconds=seconds))

    def read(self, decode: Callable[[A], T], answer: A) -> T:
        """Return `decode(answer)`; a failure to decode counts against the upstream.

        Raises:
            UpstreamError: The answer cannot be decoded.
        """
        try:
            return decode(answer)
        except MalformedError as error:
            self.score.failed()
            raise UpstreamError("invalid", error.reason) from None
        except UpstreamError:
            self.score.failed()
            raise

    async def ask_text(
        self, method: str, params: Params, *, link: Link | None = None, seconds: float | None = None
    ) -> bytes:
        """Return the JSON text of a call's result; a given `link` is the only connection used.

        Raises:
            UpstreamError: No result came within `seconds` (by default those of the client).
        """
        if self._waiting >= QUESTIONS_AT_ONCE:
            raise UpstreamError("busy")
        self._waiting += 1
        try:
            return await self._counted(method, params, link, self.seconds if seconds is None else seconds)
        except UpstreamRefusedError as error:
            if error.is_about_rate:
                self.budget.refused(error.retry_after)
            logger.debug("%s refuses %s: %s", self, method, error.message)
            raise
        except UpstreamError:
            self.score.failed()
            raise
        finally:
            self._waiting -= 1

    async def _counted(self, method: str, params: Params, link: Link | None, seconds: float) -> bytes:
        used: Link | None = None
        is_paid, heard = False, 0
        try:
            with trio.fail_after(seconds):
                await self.budget.take()
                is_paid = True
                used = link or await self.link()
                heard, asked = used.heard, trio.current_time()
                text = await used.ask(method, params)
        except trio.TooSlowError:
            if not is_paid:
                raise UpstreamError("busy", "the rate of calls to it is reached") from None
            if used is not None and used.heard == heard:
                # The connection has received nothing since the question, so it may be dead; the next question
                # opens another one.
                self.drop(used)
            logger.warning("%s: no answer to %s within %g s", self, method, seconds)
            raise UpstreamError("timeout") from None
        self.score.answered(trio.current_time() - asked)
        return text

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        """Return for each call of a batch the JSON text of its result, or the upstream's refusal.

        Raises:
            UpstreamRefusedError: The upstream takes no batch, or none of this size.
            UpstreamError: No answer came.
        """
        try:
            with trio.fail_after(max(BATCH_SECONDS, self.seconds)):
                await self.budget.take(len(calls))
                answers = await (await self.link()).ask_all(method, calls)
        except trio.TooSlowError:
            self.score.failed()
            raise UpstreamError("timeout", f"a batch of {len(calls)} calls") from None
        except UpstreamRefusedError as error:
            if error.is_about_rate:
                self.budget.refused(error.retry_after)
            raise
        except UpstreamError:
            self.score.failed()
            raise
        if any(isinstance(each, UpstreamRefusedError) and each.is_about_rate for each in answers):
            self.budget.refused()
        return answers

    async def ask_each(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamError]:
        """Return for each call the JSON text of its result, or its error; a batch is tried first.

        Raises:
            UpstreamError: No answer came.
        """
        if len(calls) > 1:
            try:
                return [*await self.ask_all(method, calls)]
            except UpstreamRefusedError as error:
                if error.is_about_rate:
                    raise
        found: dict[int, bytes | UpstreamError] = {}

        async def ask(place: int) -> None:
            try:
                found[place] = await self.ask_text(method, calls[place])
            except UpstreamError as error:
                found[place] = error

        async with trio.open_nursery() as nursery:
            for place in range(len(calls)):
                nursery.start_soon(ask, place)
        return [found[place] for place in range(len(calls))]

    async def link(self) -> Link:
        """Return the open connection, or a new one if none is open.

        Raises:
            UpstreamError: No connection can be opened.
        """
        async with self._opening:
            if self._link is None or self._link.ended.is_set():
                self._link = await self._opened()
            if self._link is None:
                raise UpstreamError("unreachable")
            return self._link

    async def _opened(self) -> Link | None:
        if not self.address.is_websocket:
            return HttpLink(self.address, self._connect)
        if self._nursery is None:
            # At the end of the program the connections end first, and tasks that still run may send
            # questions.
            raise UpstreamError("unreachable", "no connection is opened, since the node is stopping")
        link: Link | None = await self._nursery.start(
            partial(converse, self.address, self._connect, on_malformed=self.score.failed)
        )
        return link

    def drop(self, link: Link) -> None:
        """End a connection; the next call opens another."""
        link.drop()
        if self._link is link:
            self._link = None


@asynccontextmanager
async def running(clients: Sequence[Client]) -> AsyncIterator[trio.Nursery]:
    """Run clients until the block ends; yield their nursery, cancelled at that end."""
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        for client in clients:
            await nursery.start(client.run)
        try:
            yield nursery
        except Exception as error:
            # The nursery would wrap the error in an exception group, so it is raised after the nursery.
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


Result = TypeVar("Result")


async def first_answer(
    clients: Sequence[Client], ask: Callable[[Client], Awaitable[Result]]
) -> tuple[Client, Result]:
    """Return the first answering client and its result; requests to the others are cancelled.

    The first client is asked immediately, the next one when the last has failed or is slower than 19 of 20 of
    its earlier answers.

    Raises:
        UpstreamError: All clients failed; the last failure.
    """
    race: _Race[Result] = _Race(ask)
    async with trio.open_nursery() as nursery:
        for client in clients:
            failed = trio.Event()
            nursery.start_soon(race.run, client, failed)
            with trio.move_on_after(client.score.p95):
                await race.wait(failed)
            if race.won is not None:
                break
        else:
            await race.wait_all(len(clients))
        nursery.cancel_scope.cancel()
    if race.won is None:
        raise race.failure or UpstreamError("unreachable", "no upstream is followed now")
    return race.won


class _Race(Generic[Result]):
    def __init__(self, ask: Callable[[Client], Awaitable[Result]]) -> None:
        self._ask = ask
        self.won: tuple[Client, Result] | None = None
        self.failure: UpstreamError | None = None
        self._ended = 0
        self._changed = trio.Event()

    async def run(self, client: Client, failed: trio.Event) -> None:
        try:
            answer: Any = await self._ask(client)
            if self.won is None:
                self.won = client, answer
        except UpstreamError as error:
            self.failure = error
            failed.set()
        self._ended += 1
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    async def wait(self, failed: trio.Event) -> None:
        while self.won is None and not failed.is_set():
            await self._changed.wait()

    async def wait_all(self, count: int) -> None:
        while self.won is None and self._ended < count:
            await self._changed.wait()
