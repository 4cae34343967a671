"""How much freed memory stays with the process: enough for the next large reply, and not what an hour left.

By default the C library gives free memory back as soon as there is a little of it at the end of its heap, and
the kernel clears each page anew for the next reply: of a reply of 6 MB that is more than half of the time.
What is free between things in use it never gives back by itself: 300 MiB of unfinished messages stayed.
"""

import ctypes
import os
from pathlib import Path
from typing import Any, Final

import trio

KEPT: Final = 16 << 20
"""Bytes that stay with the process though they are free."""
APART: Final = 8 << 20
"""What is larger than this many bytes is given back as soon as it is free, whatever is kept."""
LOOK_SECONDS: Final = 30.0
GROWTH: Final = 64 << 20
"""Bytes by which the process has to have grown until what is free is looked for: that takes 18
milliseconds of the heap for 500 MiB."""

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_MEMORY = Path("/proc/self/statm")


def keep_freed_memory() -> None:
    """Have the C library keep free memory, if it is the GNU one; others have rules of their own."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT)
        mallopt(_MMAP_THRESHOLD, APART)


async def give_back_freed_memory(pause: float = LOOK_SECONDS) -> None:
    """Give the kernel what is free, again and again while the process has grown by `GROWTH`, for ever.

    Returns at once where the C library is not the GNU one.
    """
    if (trim := _trim()) is None:
        return
    least = own_bytes()
    while True:
        await trio.sleep(pause)
        least = min(least, own_bytes())
        # Nothing tells how much of it is free. Where that is little, it takes a millisecond to see.
        if own_bytes() > least + GROWTH:
            # Other threads go on, but for those that want memory from the heap that is looked at.
            await trio.to_thread.run_sync(trim, KEPT)


def own_bytes() -> int:
    """Return how much memory the process has that is no file's."""
    _size, resident, shared, *_others = map(int, _MEMORY.read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _trim() -> Any:
    return _function("malloc_trim") if _MEMORY.exists() else None


def _function(name: str) -> Any:
    """Return a function of the C library, None where there is none of that name."""
    return getattr(ctypes.CDLL(None), name, None)
