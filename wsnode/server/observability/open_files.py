"""Open files of this process, and its limit of them: every connection is an open file."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

OWN: Final = Path("/dev/fd")
UNLIMITED: Final = 1 << 20
"""Limit assumed for a process without one."""
LAST: Final = 8
"""Files beyond those of connections, for the process itself to open."""


def most_files() -> int:
    """Return the limit of open files of this process (`ulimit -n`)."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def raise_most_files() -> None:
    """Raise the limit of open files, of this process and its children, to the maximum of the system.

    geth does the same.
    """
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else min(hard, UNLIMITED)
    if wanted > most_files():
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def count_free_files() -> int:
    """Return the number of files that this process can still open."""
    return max(0, most_files() - len(os.listdir(OWN)))


def has_free_files() -> bool:
    """Return True if this process can open more files than the last `LAST` ones."""
    try:
        # os.dup returns the lowest free descriptor, so at least that many files are open.
        lowest = os.dup(0)
    except OSError:
        return False
    os.close(lowest)
    return lowest + LAST < most_files()
