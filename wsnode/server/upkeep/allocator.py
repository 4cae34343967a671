"""Limits of the freed memory that the process keeps: enough for the next large reply, not that of an hour
ago.

By default the C library gives free memory back as soon as there is a little of it at the end of its heap, and
the kernel clears each page anew for the next reply: of a reply of 6 MB that is more than half of the time. It
never returns free memory between blocks in use by itself: 300 MiB of unfinished messages stayed.
"""

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

KEPT: Final = 16 << 20
"""Bytes that stay with the process though they are free."""
APART: Final = 8 << 20
"""Blocks above this many bytes are always returned as soon as they are free."""
LOOK_SECONDS: Final = 2.0
"""Short, for memory that is free between messages and replies is as much as they are after some seconds."""
GROWTH: Final = 64 << 20
"""Growth of the process in bytes before the heap is trimmed, which takes time with its size."""

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_MEMORY = Path("/proc/self/statm")


def keep_freed_memory() -> None:
    """Configure the GNU C library to keep free memory; others have their own rules."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT)
        mallopt(_MMAP_THRESHOLD, APART)


async def give_back_freed_memory(pause: float = LOOK_SECONDS) -> None:
    """Return free memory to the kernel each time the process has grown by `GROWTH`, for ever.

    Returns at once where the C library is not the GNU one.
    """
    if (trim := _trim()) is None:
        return
    least = own_bytes()
    while True:
        await trio.sleep(pause)
        size = own_bytes()
        least = min(least, size)
        # The amount of free memory is unknown. If it is small, trimming takes a millisecond.
        if size > least + GROWTH:
            # Other threads continue, except those that allocate from the trimmed heap.
            await _in_new_thread(partial(trim, KEPT))


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


def own_bytes() -> int:
    """Return how much memory the process has that is no file's."""
    _size, resident, shared, *_others = map(int, _MEMORY.read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _trim() -> Any:
    return _function("malloc_trim") if _MEMORY.exists() else None


def _function(name: str) -> Any:
    """Return a function of the C library, None where there is none of that name."""
    return getattr(ctypes.CDLL(None), name, None)
