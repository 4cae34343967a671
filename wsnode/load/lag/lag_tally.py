"""Times at which subscribers received each block, log and call, and the missed and doubled notifications.

A block exists from the first notification of any subscriber on, or from the reply to the call that made it.
Notifications are forgotten some time after they first arrived, so that hours of them take no more memory than
minutes.
"""

from collections import Counter, deque
from typing import Final

import msgspec

from wsnode.load.lag.notice import CALLS, HEADS, LOGS, NotificationKey
from wsnode.load.measured import Measurement

KEPT_SECONDS: Final = 60.0
"""Seconds after which a notification counts as missed by the subscribers without it."""
MAX_KEPT: Final = 200_000
"""Maximum number of notifications to wait for, and as many to remember later."""


class MiningCall(msgspec.Struct):
    """Call that makes a block, with its times of sending and reply in seconds since 1970."""

    sent: float
    replied: float | None = None


class _Block(msgspec.Struct):
    """Block known from its notifications: `first` is the time of the first one, in seconds since 1970, and
    `call` the call that made the block, None before it is known. `counts` is False for a block from before
    all subscribed.
    """

    first: float
    call: MiningCall | None
    counts: bool
    logs: int = 0
    has_calls: bool = False
    before_call: list[tuple[str, float]] = []
    """Kinds and times of the block's notifications from before its call was known."""


class _Heard(msgspec.Struct):
    """Arrivals of one notification: the time of the first one, in seconds since 1970, and a bit in
    `subscribers` for each subscriber that has received it. `counts` is False for a block from before all
    subscribed.
    """

    first: float
    counts: bool
    subscribers: int = 0


class LagTally:
    """Tally of the notifications to all subscribers: their lags after the first subscriber's notification and
    after the reply to the call that made the block, and the numbers of missed and doubled ones.
    """

    def __init__(self, subscribers: int, kinds: tuple[str, ...], slice_seconds: float, logs: int = 0) -> None:
        self.after_first = Measurement(slice_seconds=slice_seconds)
        self.after_call = Measurement(slice_seconds=slice_seconds)
        self.heard = Counter[str]()
        self.missed = Counter[str]()
        self.doubled = Counter[str]()
        self.before_reply = 0
        """Number of notifications before the reply to the call that made their block."""
        self.blocks = 0
        self.calls: deque[MiningCall] = deque()
        """Calls whose block no subscriber has received yet."""
        self.unheard = 0
        """Number of calls whose block no subscriber has ever received."""
        self._subscribers = subscribers
        self._kinds = kinds
        self._logs = logs
        self._began: float | None = None
        self._blocks: dict[str, _Block] = {}
        self._open: dict[NotificationKey, _Heard] = {}
        self._closed: dict[NotificationKey, None] = {}

    def begin(self, now: float) -> None:
        """Begin to count notifications, when all have subscribed."""
        self._began = now

    def hear(self, subscriber: int, notice: NotificationKey, at: float) -> None:
        """Count a notification that the subscriber with this number received at a time, in seconds."""
        if notice in self._closed:
            self.doubled[notice.kind] += 1
            return
        block = self._block(notice, at)
        found = self._open.get(notice)
        if found is None:
            found = self._open[notice] = _Heard(at, block.counts)
            self._find_call(block, notice)
        bit = 1 << subscriber
        if found.subscribers & bit:
            self.doubled[notice.kind] += found.counts
            return
        found.subscribers |= bit
        if found.counts:
            self._count(notice, block, at)

    def _block(self, notice: NotificationKey, at: float) -> _Block:
        if (block := self._blocks.get(notice.block)) is None:
            counts = self._began is not None and at >= self._began
            block = self._blocks[notice.block] = _Block(at, None, counts)
            self.blocks += counts
        return block

    def _find_call(self, block: _Block, notice: NotificationKey) -> None:
        """Assign the oldest open call to a block; if blocks of calls have logs, only to a block with logs."""
        block.logs += notice.kind == LOGS
        block.has_calls |= notice.kind == CALLS
        if block.counts and block.call is None and self.calls and (notice.kind == LOGS or not self._logs):
            block.call = self.calls.popleft()
            for kind, at in block.before_call:
                self._count_call(kind, block.call, at)
            block.before_call.clear()

    def _count(self, notice: NotificationKey, block: _Block, at: float) -> None:
        self.heard[notice.kind] += 1
        since = at - (self._began or 0.0)
        self.after_first.add(notice.kind, at - block.first, None, since)
        if block.call is not None:
            self._count_call(notice.kind, block.call, at)
        elif self._logs:
            block.before_call.append((notice.kind, at))

    def _count_call(self, kind: str, call: MiningCall, at: float) -> None:
        replied, since = call.replied, at - (self._began or 0.0)
        self.before_reply += replied is None or replied > at
        self.after_call.add(kind, 0.0 if replied is None else at - replied, None, since)

    def forget(self, now: float) -> None:
        """Close notifications and blocks that arrived first long ago, and the oldest beyond the bounds."""
        for notice, found in [*self._open.items()]:
            if now - found.first < KEPT_SECONDS and len(self._open) <= MAX_KEPT:
                break
            self._close(notice)
        for block, seen in [*self._blocks.items()]:
            if now - seen.first < 2 * KEPT_SECONDS and len(self._blocks) <= MAX_KEPT:
                break
            self._close_block(block)

    def end(self) -> None:
        for notice in [*self._open]:
            self._close(notice)
        for block in [*self._blocks]:
            self._close_block(block)
        self.give_up()

    def give_up(self) -> None:
        """Count the blocks of open calls as missed by all subscribers."""
        self.unheard += len(self.calls)
        self._miss(HEADS, len(self.calls))
        self._miss(CALLS, len(self.calls))
        self._miss(LOGS, self._logs * len(self.calls))
        self.calls.clear()

    @property
    def is_complete(self) -> bool:
        """Return True if every subscriber has every kept notification, and no call or block lacks any."""
        everyone = (1 << self._subscribers) - 1
        is_short = any(self._is_short(each) for each in self._blocks.values())
        is_heard = all(found.subscribers == everyone for found in self._open.values())
        return not self.calls and not is_short and is_heard

    def _is_short(self, block: _Block) -> bool:
        """Return True if a block still lacks notifications for all subscribers."""
        lacks_logs = block.call is not None and block.logs < self._logs
        return lacks_logs or (block.counts and CALLS in self._kinds and not block.has_calls)

    def _close(self, notice: NotificationKey) -> None:
        found = self._open.pop(notice)
        self._closed[notice] = None
        if len(self._closed) > MAX_KEPT:
            del self._closed[next(iter(self._closed))]
        if found.counts:
            self.missed[notice.kind] += self._subscribers - found.subscribers.bit_count()

    def _close_block(self, block: str) -> None:
        found = self._blocks.pop(block)
        if found.call is not None:
            self._miss(LOGS, max(0, self._logs - found.logs))
        if found.counts and not found.has_calls:
            # Each block changes the outcome of a watched call of every subscriber, so a block without
            # outcomes was missed.
            self._miss(CALLS, 1)

    def _miss(self, kind: str, count: int) -> None:
        if kind in self._kinds:
            self.missed[kind] += count * self._subscribers
