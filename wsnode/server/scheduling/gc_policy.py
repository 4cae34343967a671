"""Keeps the garbage collector from looking at all objects of a server at once.

A full collection visits every container, without a reply meanwhile: 0.1 s with 15,000 connections or 240 slow
calls (measured). So none begins by itself while a server serves. What has survived the collector's two young
generations is collected once more while it is little, and what is left of it is frozen: no object is visited
more than a few times, whatever a client has the server hold.

Python begins a collection by what was made less what was freed, so new objects in the place of frozen ones
count for nothing: 5,000 connections that all went on to their next request had 80,000 looked at in one go, in
0.1 s (measured). So what is young is looked at by time as well.

Connections and calls leave no cycles behind when they end (tests/server/scheduling/test_gc_policy.py).
Garbage that became one after it was frozen is found now and then, while all objects together are few and
little goes on, for nobody is answered meanwhile.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter, process_time

import trio

BUSY_SECONDS = 0.05
"""Between two looks at what is young: a few thousand objects, while those 5,000 connections are served."""
IDLE_SECONDS = 0.2
"""The same, where little is young."""
LITTLE = 500
"""Objects: more than a node makes between two looks that does little."""
RIPE = 2
"""Collections of the middle generation between two looks: 7,700 objects survive each of them at most, more
where many older ones are freed meanwhile."""
RIPE_OBJECTS = 15_000
"""The same for objects that were looked at by time."""
THAW = 128
"""Looks, after which one at all objects is due."""
QUIET_PART = 0.1
"""Of a core: a process that uses less keeps nobody waiting by a look at all objects."""
LONGEST_DUE = 600.0
"""Seconds for which that look waits for a quiet moment."""
MOST_AT_ONCE = 100_000
"""The most objects of a collection of all. The 60,000 that a node starts with take 32 to 56 ms (measured)."""
MOST_THAWS = 16
"""Times `THAW` looks until frozen objects are counted again, if they were many: 700,000 take 0.1 s."""
NEVER = 2**31 - 1


def collect_garbage() -> None:
    """Let Python collect garbage after a start without that, and freeze the objects that exist."""
    gc.freeze()
    gc.enable()


class GcPolicy:
    """The frozen objects, by the number of looks at those that were about to become old."""

    def __init__(self) -> None:
        self._looks = 0
        self._wait = 1
        """Times `THAW` looks between two counts of the frozen objects."""
        self._due_since: float | None = None
        """Since when a look at all objects is due, in trio's time."""
        self._young = 0
        """How many objects were looked at by time since the last of those looks."""

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Freeze the objects that exist, and let nothing but `look` collect old ones; in a run of trio.

        Garbage among the first stays for a while: it is little, and a collection takes a tenth of the start's
        time.
        """
        token, thresholds = trio.lowlevel.current_trio_token(), gc.get_threshold()

        # It is called in whichever thread a collection began.
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
        """Look at what is young again and again, for ever."""
        while True:
            young = self.look_at_young()
            began, worked = perf_counter(), process_time()
            await trio.sleep(BUSY_SECONDS if young > LITTLE else IDLE_SECONDS)
            is_quiet = process_time() - worked < QUIET_PART * (perf_counter() - began)
            self.look_at_all(is_quiet=is_quiet)

    def look_at_young(self) -> int:
        """Look at the objects that are not frozen; return how many there were."""
        young = len(gc.get_objects())
        self._young += young
        if self._young >= RIPE_OBJECTS:
            self._young = 0
            self.look()
        else:
            _free_and_freeze()
        return young

    def look(self) -> None:
        """Free what is garbage of the objects that are not frozen, and freeze the others."""
        self._looks += 1
        if self._due_since is None and self._looks % (THAW * self._wait) == 0 and self._are_few():
            self._due_since = trio.current_time()
        _free_and_freeze()

    def look_at_all(self, *, is_quiet: bool) -> None:
        """Free what is garbage of all objects if that is due, and little goes on or much has for long."""
        if self._due_since is None or not (is_quiet or trio.current_time() > self._due_since + LONGEST_DUE):
            return
        self._due_since = None
        # They may have become many meanwhile.
        if self._are_few():
            gc.unfreeze()
            _free_and_freeze()

    def _are_few(self) -> bool:
        """Return whether all objects can be looked at together."""
        are_few = gc.get_freeze_count() <= MOST_AT_ONCE
        self._wait = 1 if are_few else min(2 * self._wait, MOST_THAWS)
        return are_few


def _free_and_freeze() -> None:
    gc.collect()
    gc.freeze()
