"""Signals that a running node obeys without ending.

Their default action ends a process. So they are blocked when the process begins, and stay pending until the
node can obey them: a signal that arrives while a node starts takes effect once it is ready.
"""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

HELD: Final = (signal.SIGHUP, signal.SIGUSR1)
"""SIGHUP reloads the configuration; SIGUSR1 replaces workers."""
OBEYED: Final = (signal.SIGINT, signal.SIGTERM, *HELD)


def hold_signals() -> None:
    """Block SIGHUP and SIGUSR1 until `open_signals`; `execve` keeps them blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)


@contextmanager
def open_signals() -> Iterator[AsyncIterator[int]]:
    """Yield an iterator of the signals to a node, including those since `hold_signals`."""
    # Commands that only read the command line import this module to hold signals, and need no trio.
    import trio

    with trio.open_signal_receiver(*OBEYED) as signals:
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        try:
            yield signals
        finally:
            # The command may still have to write what its node leaves, so SIGHUP and SIGUSR1 must not end it
            # before.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
