"""Processes that a benchmark forks from its own, and talks to through a pipe."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


@contextmanager
def forked(work: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Run `work(*arguments, pipe)` in a process of its own, which is ended; what is yielded is the other end.

    Once the process has ended by itself, receiving raises EOFError.
    """
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=work, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()
