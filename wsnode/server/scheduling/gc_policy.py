"""Policy of Python's garbage collector: no collection visits all objects of a busy server.

A full collection visits every container, without a reply meanwhile: 0.1 s with 15,000 connections or 240 slow
calls (measured). So no full collection begins by itself while a server serves. Objects that have survived the
collector's two young generations are collected once more while they are few, and the survivors are frozen: no
object is visited more than a few times, whatever a client makes the server hold.

Python begins a collection by the number of objects made less objects freed, so new objects that replace
frozen ones do not count: after 5,000 connections had all begun their next request, one collection visited
80,000 objects in 0.1 s (measured). So young objects are collected at intervals as well.

Connections and calls leave no cycles behind when they end (tests/server/scheduling/test_gc_policy.py). An
occasional full collection finds frozen objects that have become garbage. It begins while all objects together
are few and the process is idle, since no request is answered meanwhile.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter, process_time

import trio

BUSY_SECONDS = 0.05
"""Seconds between two collections of young objects while they are many, as with 5,000 connections."""
IDLE_SECONDS = 0.2
"""Seconds between two collections of young objects while they are few."""
LITTLE = 500
"""Number of young objects, above which a node is busy."""
RIPE = 2
"""Collections of the middle generation between two collections of old objects.

Each leaves at most 7,700 more objects, or more if many older ones are freed meanwhile.
"""
RIPE_OBJECTS = 15_000
"""Number of young objects seen at intervals between two collections of old objects."""
THAW = 128
"""Collections of old objects after which a full collection is due."""
QUIET_PART = 0.1
"""Share of a core: a process that uses less is idle, so a full collection delays no client."""
MAX_DUE = 600.0
"""Maximum number of seconds for which a full collection waits for an idle moment."""
MAX_AT_ONCE = 100_000
"""Maximum number of objects of a full collection. The 60,000 objects of a started node take 32 to 56 ms
(measured).
"""
MAX_THAWS = 16
"""Maximum number of times `THAW` collections between two counts of frozen objects, if they were many.

Counting 700,000 objects takes 0.1 s.
"""
NEVER = 2**31 - 1


def collect_garbage() -> None:
    """Enable the garbage collector after a start without it, and freeze all objects that exist."""
    gc.freeze()
    gc.enable()


class GcPolicy:
    """Policy of Python's garbage collections while a server serves: surviving objects are frozen, so no
    collection visits all objects. A full collection is due after a number of collections of old objects, and
    waits until the process is idle.
    """

    def __init__(self) -> None:
        self._looks = 0
        self._wait = 1
        """Multiple of `THAW` collections between two counts of the frozen objects."""
        self._due_since: float | None = None
        """Time on trio's clock since which a full collection is due, None if none is."""
        self._young = 0
        """Number of young objects seen at intervals since the last collection of old objects."""

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Leave old objects to `look` alone until the block ends; needs trio.

        The objects that exist are frozen. Garbage among them stays: it is little, and a collection would take
        a tenth of the start's time.
        """
        token, thresholds = trio.lowlevel.current_trio_token(), gc.get_threshold()

        # The collector calls this function in whichever thread a collection began, so `look` is passed to
        # trio's thread.
        def notice(phase: str, _counts: Mapping[str, int]) -> None:
            if phase == "stop" and gc.get_count()[2] >= RIPE:
                with suppress(trio.RunFinishedError):
                    token.run_sync_soon(self.look, idempotent=True)

        gc.freeze()
        gc.set_threshold(*thresholds[:2], NEVER)
        gc.callbacks.append(notice)
        try:
            yield
        finally:
            gc.callbacks.remove(notice)
            gc.set_threshold(*thresholds)

    async def collect_periodically(self) -> None:
        """Collect young objects at intervals, for ever, and all objects when that is due."""
        while True:
            young = self.look_at_young()
            began, worked = perf_counter(), process_time()
            await trio.sleep(BUSY_SECONDS if young > LITTLE else IDLE_SECONDS)
            is_quiet = process_time() - worked < QUIET_PART * (perf_counter() - began)
            self.look_at_all(is_quiet=is_quiet)

    def look_at_young(self) -> int:
        """Collect the objects that are not frozen; return their number.

        Once their sum since the last `look` is `RIPE_OBJECTS`, `look` collects them.
        """
        young = len(gc.get_objects())
        self._young += young
        if self._young >= RIPE_OBJECTS:
            self._young = 0
            self.look()
        else:
            _free_and_freeze()
        return young

    def look(self) -> None:
        """Collect and freeze the objects that are not frozen; decide if a full collection is due."""
        self._looks += 1
        if self._due_since is None and self._looks % (THAW * self._wait) == 0 and self._are_few():
            self._due_since = trio.current_time()
        _free_and_freeze()

    def look_at_all(self, *, is_quiet: bool) -> None:
        """Collect all objects, frozen ones too, if that is due and the process is idle.

        After `MAX_DUE` seconds a busy process collects them too.
        """
        if self._due_since is None or not (is_quiet or trio.current_time() > self._due_since + MAX_DUE):
            return
        self._due_since = None
        # The objects may have become too many for one collection since the collection became due.
        if self._are_few():
            gc.unfreeze()
            _free_and_freeze()

    def _are_few(self) -> bool:
        """Return True if all objects are few enough for one collection; set the next count's pause."""
        are_few = gc.get_freeze_count() <= MAX_AT_ONCE
        self._wait = 1 if are_few else min(2 * self._wait, MAX_THAWS)
        return are_few


def _free_and_freeze() -> None:
    gc.collect()
    gc.freeze()
