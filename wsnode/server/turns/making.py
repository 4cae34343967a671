"""Results in the making: how much of them there may be, and whose turn it is to make more."""

from collections import Counter
from typing import Any, Protocol

import trio

from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.share import holder_of
from wsnode.jsonrpc.work import SlowCall
from wsnode.server.turns.budget import Budget

AGAIN_SECONDS = 0.05
"""Seconds between two checks of a waiting call for replies that have been read."""
WOKEN_AT_ONCE = 4
"""Calls woken at each change. Every connection may have one, and a change makes room for few."""


class Waiting(Protocol):
    """The replies that wait for a client to read."""

    @property
    def waiting_bytes(self) -> int:
        """Their bytes."""
        ...

    async def wait_room(self) -> None:
        """Wait until the client may be given more."""
        ...


class Making:
    """Bytes of partial results that the calls of all connections hold, beside unread replies.

    Both count in one budget. Beyond it, no call of a peer that holds more than its share makes more. If calls
    hold more than waiting replies do, one of the peer that holds most is refused: others can end.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.used = 0
        """Bytes that calls hold, part of the budget's total."""
        self.accounts: dict[Account, None] = {}
        """The connections that have calls in flight."""
        self._reserved = 0
        self._refusable = Counter[Any]()
        """Bytes of calls that have not been refused, by peer."""
        self._changed = trio.lowlevel.ParkingLot()

    def add(self, party: Any, size: int) -> None:
        """Count `size` bytes more, or less, as held for `party`."""
        self.used += size
        self.budget.add(party, size)
        if size < 0:
            self._changed.unpark(count=WOKEN_AT_ONCE)

    async def wait_change(self) -> None:
        """Wait until there may be room."""
        with trio.move_on_after(AGAIN_SECONDS):
            await self._changed.park()

    async def reserve(self, party: Any, size: int) -> None:
        """Wait until there is room for `size` bytes, and count them for `party`; `give_back` ends that.

        Of the budget half can be reserved at the most: it may all be for results that turn out small.
        """
        while not self._has_room(size):
            await self.wait_change()
        self._reserved += size
        self.add(party, size)

    def give_back(self, party: Any, size: int) -> None:
        """Release `size` reserved bytes."""
        self._reserved -= size
        self.add(party, -size)

    def _has_room(self, size: int) -> bool:
        limit = self.budget.limit
        if self._reserved and 2 * (self._reserved + size) > limit:
            return False
        return not self.budget.used or self.budget.used + size <= limit

    def shed(self) -> None:
        """Refuse the call that holds most, of the peer whose calls do, where that makes room."""
        if not self._refusable:
            return
        peer, made = self._refusable.most_common(1)[0]
        mine = [
            account for account in self.accounts if holder_of(account.party) == peer and not account.is_closed
        ]
        largest = max(mine, key=lambda account: account.made)
        kept = self.budget.used
        if self.budget.has_used_up(largest.party):
            kept = self.budget.kept_for(largest.party)
        else:
            made = self._refusable.total()
        # If unread replies or reservations are most of it, no refusal helps.
        if 2 * made >= kept:
            largest.refuse_largest()

    def count_refusable(self, party: Any, size: int) -> None:
        """Add `size` (or subtract) to the bytes that refusing a call of `party` would release."""
        self._refusable[peer := holder_of(party)] += size
        if not self._refusable[peer]:
            del self._refusable[peer]


class Account:
    """The bytes that the calls of one connection hold, and the calls that may add to them."""

    __slots__ = (
        "_calls",
        "_limit",
        "_making",
        "_refused",
        "_waiters",
        "_waiting",
        "is_closed",
        "made",
        "party",
    )

    def __init__(self, making: Making, limit: int, waiting: Waiting | None = None, party: Any = None) -> None:
        """Beyond `limit` bytes calls take turns; their bytes count for `party`."""
        self.party = self if party is None else party
        self._making = making
        self._limit = limit
        self._waiting = waiting
        self.is_closed = False
        """Whether its calls are about to end unanswered."""
        self.made = 0
        """Bytes that they hold."""
        # In the order in which they began.
        self._calls: dict[SlowCall, int] = {}
        self._refused: dict[SlowCall, None] = {}
        """The calls that are about to be refused."""
        self._waiters: dict[SlowCall, trio.Event] = {}
        """The calls that wait for room. Only the first checks for room, the others sleep: hundreds of checks
        at each change would block the event loop."""

    def close(self) -> None:
        """Have no call make more: they are about to end unanswered, and there is nothing to refuse."""
        self.is_closed = True
        for call, made in self._calls.items():
            if call not in self._refused:
                self._refused[call] = None
                self._making.count_refusable(self.party, -made)

    def begin(self, slow_call: SlowCall) -> None:
        """Take a call up."""
        self._making.accounts[self] = None
        self._calls[slow_call] = 0
        if self.is_closed:
            self._refused[slow_call] = None
        self.note(slow_call)

    def note(self, slow_call: SlowCall) -> None:
        """Update the bytes of a call."""
        if not (more := slow_call.made - self._calls[slow_call]):
            return
        self._calls[slow_call] = slow_call.made
        self.made += more
        self._making.add(self.party, more)
        if slow_call not in self._refused:
            self._making.count_refusable(self.party, more)

    def end(self, slow_call: SlowCall) -> None:
        """Remove a call, whose reply is posted next."""
        size = self._calls.pop(slow_call)
        self.made -= size
        self._making.add(self.party, -size)
        if slow_call in self._refused:
            del self._refused[slow_call]
        else:
            self._making.count_refusable(self.party, -size)
        if not self._calls:
            del self._making.accounts[self]

    async def wait_turn(self, slow_call: SlowCall) -> RpcError | None:
        """Wait until the call may make more of its result; return why it is refused, if it is."""
        if self._waiting is not None:
            await self._waiting.wait_room()
        if not self._is_settled(slow_call):
            try:
                await self._wait_settled(slow_call)
            finally:
                self._waiters.pop(slow_call, None)
                self._wake(next(iter(self._waiters), None))
        if slow_call not in self._refused:
            return None
        return limit_exceeded("too many bytes of replies are being made, try again")

    def _is_settled(self, slow_call: SlowCall) -> bool:
        return not self.is_closed and (slow_call in self._refused or self.may_go_on(slow_call))

    async def _wait_settled(self, slow_call: SlowCall) -> None:
        while not self._is_settled(slow_call):
            if self.is_closed:
                await trio.sleep_forever()
            if not self._making.budget.allows(self.party):
                self._making.shed()
            woken = self._waiters[slow_call] = trio.Event()
            if next(iter(self._waiters)) is not slow_call:
                await woken.wait()
            else:
                self._wake(self._first(slow_call))
                await self._making.wait_change()
            if self._waiting is not None:
                await self._waiting.wait_room()

    def _wake(self, call: SlowCall | None) -> None:
        """Have a call look again, if it waits."""
        if call is not None and (waiter := self._waiters.get(call)) is not None:
            waiter.set()

    def refuse_largest(self) -> None:
        """Refuse the call that holds most."""
        if left := [call for call in self._calls if call not in self._refused]:
            largest = max(left, key=self._calls.__getitem__)
            self._refused[largest] = None
            self._making.count_refusable(self.party, -self._calls[largest])
            self._wake(largest)

    @property
    def _kept(self) -> int:
        return self.made + (0 if self._waiting is None else self._waiting.waiting_bytes)

    def may_go_on(self, slow_call: SlowCall) -> bool:
        """Return whether the call may extend its result now."""
        if self.is_closed or not self._making.budget.allows(self.party):
            return False
        if self._kept <= self._limit:
            return True
        return self._first(slow_call) is slow_call

    def _first(self, slow_call: SlowCall) -> SlowCall:
        """Return the first of those that have begun to make something, `slow_call` if none has."""
        return next((call for call, made in self._calls.items() if made), slow_call)
