"""Keeps some of the memory that large replies leave behind, instead of having it taken and given each time.

By default the C library gives free memory back as soon as there is a little of it, and the kernel clears
each page anew for the next reply: of a reply of 6 MB that is more than half of the time.
"""

import ctypes
from typing import Final

KEPT: Final = 16 << 20
"""Bytes that stay with the process though they are free."""
APART: Final = 8 << 20
"""What is larger than this many bytes is given back as soon as it is free, whatever is kept."""

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def keep_freed_memory() -> None:
    """Have the C library keep free memory, if it is the GNU one; others have rules of their own."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT)
        mallopt(_MMAP_THRESHOLD, APART)
