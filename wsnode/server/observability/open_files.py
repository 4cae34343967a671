"""The files that this process has open, and may have: every connection is one."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

OWN: Final = Path("/dev/fd")
UNLIMITED: Final = 1 << 20
"""Files that a process without a limit takes to be its limit."""
LAST: Final = 8
"""The files that are kept free of connections at any time, for what the process opens in between."""


def most_files() -> int:
    """Return how many files this process may have open (`ulimit -n`)."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def raise_most_files() -> None:
    """Let this process, and those that it starts, open as many files as the system grants, as geth does."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else min(hard, UNLIMITED)
    if wanted > most_files():
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def count_free_files() -> int:
    """Return how many more files this process can open."""
    return max(0, most_files() - len(os.listdir(OWN)))


def has_free_files() -> bool:
    """Return whether this process can open more files than the `LAST` ones."""
    try:
        # The system gives the lowest number that is free.
        lowest = os.dup(0)
    except OSError:
        return False
    os.close(lowest)
    return lowest + LAST < most_files()
