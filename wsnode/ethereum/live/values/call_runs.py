"""Parts of the runs of watched calls: bounds, share of the time, proofs, and outcomes at earlier states."""

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import trio

from wsnode.ethereum.live.hub import Hub, ProofSource
from wsnode.ethereum.live.values.feed import is_known
from wsnode.ethereum.live.values.watched_values import StateCursor
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import LiveCalls, MissingStateError, StateError
from wsnode.jsonrpc.errors import RpcError


class CallBounds(msgspec.Struct, frozen=True):
    """Bounds of the runs of subscribed calls: gas of one call, absolute and in multiples of the block's gas
    limit; values read by one call; bytes of all calls; seconds of one run; and `time_fraction`, the part of
    the time between two blocks for all runs.
    """

    gas: int
    gas_blocks: int
    reads: int
    bytes: int
    call_seconds: float
    time_fraction: float
    proofs: int
    """Values that may be requested after each block of a light folder."""


MIN_INTERVAL: Final = 0.05
"""Least seconds that are assumed between two blocks."""


class TimeShare:
    """Budget of time for runs of subscribed calls: a fraction of the seconds between the last two blocks, on
    all cores.
    """

    def __init__(self, share: float) -> None:
        self._rate = share * (os.cpu_count() or 1)
        self._begun = self._interval = 0.0
        self._spent = 0.0

    def begin(self) -> None:
        """Begin with another block."""
        now = trio.current_time()
        self._interval = max(now - self._begun, MIN_INTERVAL)
        self._begun, self._spent = now, 0.0

    @contextmanager
    def work(self) -> Iterator[None]:
        before = trio.current_time()
        try:
            yield
        finally:
            self._spent += trio.current_time() - before

    def end(self, *, parts: int = 1) -> float:
        """Return when more may be spent, in trio's seconds, if one of `parts` parts is used up, else 0."""
        rate = self._rate / parts
        return self._begun + self._spent / rate if self._spent > rate * self._interval else 0.0


UNBOUNDED: Final = 1 << 40
ROUNDS: Final = 2
"""Rounds of proofs: accounts first, then slots of accounts whose storage root changed."""


class CallProofs:
    """Requests to other nodes for proofs of the values that subscribed calls read, bounded in number after
    each block; for light folders.
    """

    def __init__(self, hub: Hub, table: LiveCalls, most: int) -> None:
        """Request at most `most` values after each block."""
        self._hub = hub
        self._table = table
        self._most = most
        self._left = self._left_late = 0
        """Values that may still be requested after this block; `_left_late` is for late calls."""

    def begin(self, *, is_late: bool) -> None:
        """Begin another block, with a new bound; late lists get half of it."""
        self._left_late = self._most // 2 if is_late else 0
        self._left = self._most - self._left_late

    async def prove(self, view: Snapshot, header: bytes) -> None:
        """Have other nodes prove the values read by earlier runs, so that only affected calls run again."""
        try:
            for _ in range(ROUNDS):
                error = await self._lack(view, header, UNBOUNDED)
                if error is None or not await self._source.carry(error):
                    break
            for rounds_left in range(ROUNDS, 0, -1):
                # Each round may request only its part of the remaining values: accounts without their slots
                # would be of no use.
                error = await self._lack(view, header, self._left // rounds_left)
                if error is None or not await self.fetch(error):
                    return
        except RpcError:
            # Calls whose values could not be proved are run nevertheless, and end with the error for their
            # missing values.
            return

    async def fetch(self, error: MissingStateError, *, is_late: bool = False) -> bool:
        """Have other nodes prove the values missing in a run; return False once the block's bound is reached.

        Raises:
            RpcError: No node proves them.
        """
        if await self._source.carry(error) and not (error.accounts or error.slots or error.numbers):
            return True
        given = len(error.accounts) + len(error.slots)
        left = self._left_late if is_late else self._left
        if given and left <= 0:
            return False
        if is_late:
            self._left_late -= given
        else:
            self._left -= given
        await self._source.fetch(error)
        return True

    async def _lack(self, view: Snapshot, header: bytes, most: int) -> MissingStateError | None:
        try:
            await trio.to_thread.run_sync(self._table.require_proved, view.state, header, most)
        except MissingStateError as error:
            # The frames of the traceback would keep the state open for as long as the error is kept.
            error.__traceback__ = None
            return error
        return None

    @property
    def _source(self) -> ProofSource:
        source = self._hub.proof_source
        assert source is not None, "no calls are watched without one"
        return source


MAX_ATTEMPTS: Final = 3
"""Maximum number of blocks that may interrupt the run of a call at an earlier state."""


class HistoricalOutcomes:
    """Outcomes of a subscription's calls at the state of its cursor, found in several steps, to publish only
    outcomes that differ from them.
    """

    def __init__(self, number: int, cursor: StateCursor, count: int) -> None:
        self.number = number
        """Number of the list of calls in the engine."""
        self.cursor = cursor
        self.count = count
        self.found = b""
        """Digests of the outcomes found so far."""
        self.attempts = 0
        self.is_over = False
        """True once all outcomes are found, or their state is pruned."""

    @property
    def digests(self) -> bytes | None:
        """Return the digests of all outcomes, 8 bytes each; None until all are found."""
        return self.found if len(self.found) == 8 * self.count else None

    async def extend(self, view: Snapshot, digests: Callable[[bytes, int], Awaitable[bytes]]) -> bool:
        """Find some more outcomes unless their state is pruned, and return True if any were found.

        `digests` returns the digests after the block of a header's row, as many as fit into a slice of time,
        from the call of an index on.
        """
        row = view.header(self.cursor.head.number) if is_known(view, self.cursor) else None
        before = len(self.found)
        if row is not None:
            with suppress(StateError):
                self.found += await digests(row, before // 8)
        self.attempts += 1
        return len(self.found) > before
