"""Counters that all workers share: the rates of keys, and what each key and the node have open.

The scoreboard is memory that the master makes and each worker maps. A key has one word for its credits,
changed by any worker in one atomic step, one word for its spent credits, and four words for each worker,
written by that worker alone. The open connections of a key are the sum over all workers; the master clears
the slot of an ended worker.
"""

import mmap
import os
import struct
from hashlib import sha256
from math import inf
from typing import Final

from wsnode._native.scoreboard import SharedWords
from wsnode.server.access.rate_limit import CreditRate, LocalRateLimiter

KEYS: Final = 65_536
ROWS: Final = 256
"""Maximum number of workers at the same time, retiring and starting ones included."""
WORD_BYTES: Final = 8
_CONNECTIONS, _SUBSCRIPTIONS, _SECOND, _SECOND_BEFORE = range(4)
_FIELDS: Final = 4
_ROWS_USED: Final = 0
_NAMES: Final = 8
_CREDITS: Final = _NAMES + KEYS
_SPENT: Final = _CREDITS + KEYS
_FIRST_ROW: Final = _SPENT + KEYS
_BYTES: Final = (_FIRST_ROW + ROWS * _FIELDS * KEYS) * WORD_BYTES
NODE: Final = "node"
_COUNT_BITS: Final = 32


class NoSlotError(Exception):
    """Error of a new worker for which the scoreboard has no free slot."""


def make_memory() -> int:
    """Return the descriptor of a new scoreboard's memory; pages that are never written use none."""
    memory = os.memfd_create("scoreboard", os.MFD_CLOEXEC)
    os.ftruncate(memory, _BYTES)
    return memory


class Scoreboard:
    """Counters of keys in memory shared by all workers, for limits on the workers together. Each worker has a
    slot for its own counts; the credits of a key are common to all. `memory` is a descriptor, closed by the
    caller.
    """

    def __init__(self, memory: int) -> None:
        self.words = SharedWords(mmap.mmap(memory, _BYTES))

    def slot_of(self, network: str, digest: str) -> int | None:
        """Return the index of a network's key by its hash, None if there are too many keys."""
        name = int.from_bytes(sha256(f"{network}\0{digest}".encode()).digest()[:8]) | 1
        return self.words.slot_of(_NAMES, KEYS, name)

    def rate_limiter_of(
        self, slot: int, network: str, digest: str, *, is_metered: bool = False
    ) -> "SharedRateLimiter | None":
        """Return the rate limiter of the network's API key with this digest, for the worker with this slot.

        Returns None if `KEYS` keys have counters already. With `is_metered`, the limiter also sums the
        credits that all workers have spent.
        """
        if (place := self.slot_of(network, digest)) is None:
            return None
        return (SharedCreditCountingRateLimiter if is_metered else SharedRateLimiter)(self.words, slot, place)

    def totals(self, slot: int) -> "SharedRateLimiter":
        """Return the node's counters, for the worker with this slot."""
        place = self.slot_of(NODE, NODE)
        assert place is not None, "the first worker took it"
        return SharedRateLimiter(self.words, slot, place)

    def use_row(self, slot: int) -> None:
        """Clear a slot, which counts from now on."""
        self.clear_row(slot)
        self.words.store(_ROWS_USED, max(self.words.load(_ROWS_USED), slot + 1))

    def clear_row(self, slot: int) -> None:
        """Set all counters of a slot to 0."""
        used = next((place for place in range(KEYS) if not self.words.load(_NAMES + place)), KEYS)
        for field in range(_FIELDS):
            self.words.clear(_index(slot, field, 0), used)


class ScoreboardSlots:
    """Allocator of the scoreboard's slots: it has those that no worker has."""

    def __init__(self) -> None:
        self._taken = set[int]()

    def take(self) -> int:
        """Return a free slot.

        Raises:
            NoSlotError: All slots are taken.
        """
        for slot in range(ROWS):
            if slot not in self._taken:
                self._taken.add(slot)
                return slot
        raise NoSlotError("all rows of the scoreboard are taken")

    def give_back(self, slot: int) -> None:
        """Release a slot for another worker."""
        self._taken.discard(slot)


class SharedRateLimiter:
    """Rate limiter of one key over all workers, as one of them uses it: its connections and subscriptions are
    the sums of all workers' slots, and its credits are common to all.
    """

    def __init__(self, words: SharedWords, slot: int, place: int) -> None:
        self._words = words
        self._slot = slot
        self._place = place
        self._own = LocalRateLimiter()

    @property
    def connections(self) -> int:
        return self._sum(_CONNECTIONS)

    @property
    def subscriptions(self) -> int:
        return self._sum(_SUBSCRIPTIONS)

    def add_connections(self, count: int) -> None:
        self._own.add_connections(count)
        self._tell(_CONNECTIONS, self._own.connections)

    def add_subscriptions(self, count: int) -> None:
        self._own.add_subscriptions(count)
        self._tell(_SUBSCRIPTIONS, self._own.subscriptions)

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        return self._words.charge(
            _CREDITS + self._place,
            now,
            per_second=rate.per_second,
            burst=rate.burst,
            dearest=rate.dearest,
            cost=cost,
        )

    @property
    def spent(self) -> float | None:
        return None

    def full_at(self, _rate: CreditRate) -> float:
        """Return the monotonic time, in seconds, at which all credits will be back, or were."""
        return self._number(_CREDITS)

    def settle(self, _rate: CreditRate, full_at: float) -> None:
        (word,) = struct.unpack("<Q", struct.pack("<d", max(0.0, full_at)))
        self._words.store(_CREDITS + self._place, word)

    def count_call(self, second: int) -> None:
        own = self._own
        is_another = second != own.second
        own.count_call(second)
        if is_another:
            self._tell(_SECOND_BEFORE, (second - 1) << _COUNT_BITS | own.previous)
        self._tell(_SECOND, second << _COUNT_BITS | own.count)

    def calls_in(self, second: int) -> int:
        total = 0
        for slot in range(self._words.load(_ROWS_USED)):
            for field in (_SECOND, _SECOND_BEFORE):
                word = self._words.load(_index(slot, field, self._place))
                if word >> _COUNT_BITS == second:
                    total += word & ((1 << _COUNT_BITS) - 1)
        return total

    def _tell(self, field: int, value: int) -> None:
        self._words.store(_index(self._slot, field, self._place), value)

    def _sum(self, field: int) -> int:
        rows = self._words.load(_ROWS_USED)
        return self._words.sum(_index(0, field, self._place), _FIELDS * KEYS, rows)

    def _number(self, start: int) -> float:
        number: float
        (number,) = struct.unpack("<d", struct.pack("<Q", self._words.load(start + self._place)))
        return number


class SharedCreditCountingRateLimiter(SharedRateLimiter):
    """Rate limiter of one key over all workers that also sums their spent credits, ended workers included."""

    @property
    def spent(self) -> float:
        """Return the credits that all workers have charged so far."""
        return self._number(_SPENT)

    def charge(self, now: float, rate: CreditRate, cost: float) -> float:
        seconds = super().charge(now, rate, cost)
        if not seconds:
            # At time 0, an infinite bucket that gets one credit a second stores the sum of all charges.
            index = _SPENT + self._place
            self._words.charge(index, 0.0, per_second=1.0, burst=inf, dearest=1.0, cost=cost)
        return seconds


def _index(slot: int, field: int, place: int) -> int:
    return _FIRST_ROW + (slot * _FIELDS + field) * KEYS + place
