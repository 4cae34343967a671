"""Limits of the freed memory that the process keeps: enough for the next large reply, not that of an hour
ago.

By default the C library gives free memory back as soon as there is a little of it at the end of its heap, and
the kernel clears each page anew for the next reply: of a reply of 6 MB that is more than half of the time. It
never returns free memory between blocks in use by itself: 300 MiB of unfinished messages stayed.
"""

import contextlib
import ctypes
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import trio

from wsnode.server.turns.memory import own_bytes

KEPT: Final = 16 << 20
"""Bytes that stay with the process though they are free."""
APART: Final = 8 << 20
"""Blocks above this many bytes are always returned as soon as they are free."""
LOOK_SECONDS: Final = 2.0
"""Short, for memory that is free between messages and replies is as much as they are after some seconds."""
GROWTH: Final = 64 << 20
"""Growth of the process in bytes, half of it free memory, before the heap is trimmed: it is locked meanwhile,
for 0.05 s with 20,000 open connections."""
WORTH: Final = 8 << 20
"""Bytes that a trim returns at least, or the next one is later."""
MOST_PAUSES: Final = 8

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def keep_freed_memory() -> None:
    """Configure the GNU C library to keep free memory; others have their own rules."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT)
        mallopt(_MMAP_THRESHOLD, APART)


async def give_back_freed_memory(pause: float = LOOK_SECONDS) -> None:
    """Return free memory to the kernel while the process has grown by `GROWTH`, for ever.

    It looks every `pause` seconds, and less often once a trim has returned little. Returns at once where the
    C library is not the GNU one.
    """
    if (trim := _trim()) is None:
        return
    least, elsewhere, wait = own_bytes(), _free_bytes(), pause
    while True:
        await trio.sleep(wait)
        size = own_bytes()
        least = min(least, size)
        # To count what is free takes milliseconds of a large heap.
        if size <= least + GROWTH or (free := _free_bytes()) <= elsewhere + GROWTH // 2:
            wait = pause
            continue
        # Other threads continue, except those that allocate from the trimmed heap.
        await _in_new_thread(partial(trim, KEPT))
        # What is left is in pages with things in use, which no trim returns.
        returned_little = free - _free_bytes() < WORTH
        wait = min(2 * wait, MOST_PAUSES * pause) if returned_little else pause


async def _in_new_thread(function: Callable[[], object]) -> None:
    """Call `function` in a thread of the loop's own priority.

    Those of trio's cache have stepped back, and one that is kept from a core would keep the heap locked.
    """
    loop, ended = trio.lowlevel.current_trio_token(), trio.Event()

    def work() -> None:
        function()
        with contextlib.suppress(trio.RunFinishedError):
            loop.run_sync_soon(ended.set)

    threading.Thread(target=work, name="wsnode trim", daemon=True).start()
    await ended.wait()


class _Usage(ctypes.Structure):
    """What `mallinfo2` returns of all heaps of the C library, in bytes but for the numbers of blocks."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "from_system",
            "free_blocks",
            "free_quick_blocks",
            "mapped_blocks",
            "mapped",
            "unused",
            "free_quick",
            "in_use",
            "free",
            "free_at_the_end",
        )
    )
    mapped: int
    in_use: int


def _free_bytes() -> int:
    """Return how much memory the process has that is neither a file's nor in use by the C library's callers.

    Part of it is not the heap's (stacks, say), which changes little. Libraries before version 2.33 do not
    tell: all counts as free.
    """
    if (count := _function("mallinfo2")) is None:
        return own_bytes()
    count.restype = _Usage
    usage = count()
    return own_bytes() - int(usage.in_use) - int(usage.mapped)


def _trim() -> Any:
    return _function("malloc_trim") if own_bytes() else None


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _function(name: str) -> Any:
    """Return a function of the C library, None where there is none of that name."""
    return getattr(_library(), name, None)
