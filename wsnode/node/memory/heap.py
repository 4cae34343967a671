"""The heap of a process that runs a node: jemalloc's, which the engine's library has for the whole process.

Only the environment can give a process another heap, before it starts: `LD_PRELOAD` names the library, and
`PYTHONMALLOC` has Python put its small objects there as well. Why: decision 0056.
"""

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final

from wsnode.node.memory.copying import VARIABLE, forget_copying, with_copying

LIBRARY: Final = Path(__file__).parents[2] / "_native.abi3.so"
ALLOCATOR: Final = "PYTHONMALLOC"
PRELOAD: Final = "LD_PRELOAD"
_SEPARATORS: Final = " :"
"""Of the libraries in a list."""


def begin_with_it() -> None:
    """Begin this program again in its process, with the heap; do nothing if it has it, or cannot.

    What the environment says of either variable counts.
    """
    if has_it() or ALLOCATOR in os.environ or PRELOAD in os.environ:
        return
    if sys.executable and (environment := _environment()):
        os.execve(sys.executable, sys.orig_argv, environment)


@cache
def has_it() -> bool:
    """Return whether this process has the heap; programs that it starts from now on have their own.

    The library is for this program alone: no other has what it needs.
    """
    is_here = os.environ.get(PRELOAD) == str(LIBRARY)
    if is_here:
        del os.environ[PRELOAD]
        forget_copying()
    return is_here


def environment_of_workers() -> dict[str, str]:
    """Return the environment for processes that are to have the same heap as this one."""
    # The library may be gone by now, as where another version is being installed.
    return (has_it() and _environment()) or dict(os.environ)


def _environment() -> dict[str, str]:
    """Return the environment for a process with the heap; empty where there is none."""
    is_usable = platform.libc_ver()[0] == "glibc" and LIBRARY.exists()
    if not is_usable or not set(_SEPARATORS).isdisjoint(str(LIBRARY)):
        return {}
    environment = {**os.environ, ALLOCATOR: "malloc", PRELOAD: str(LIBRARY)}
    if tunables := with_copying(os.environ.get(VARIABLE, "")):
        environment[VARIABLE] = tunables
    return environment
