"""Supervisor of tasks beside the connections, and watchdog of the end of a process.

A task that fails must not end the node, and threads must not keep a process from its end.
"""

import logging
import os
import threading
import traceback
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import trio

FIRST_PAUSE = 1.0
MAX_PAUSE = 60.0
DONE: Final = 0
_HURRY_SECONDS: Final = 0.9
logger = logging.getLogger("wsnode.server")


async def keep_running(work: Callable[[], Awaitable[None]]) -> None:
    """Run `work` until it returns; after an exception log one line, pause, and run it again.

    The pause begins at 1 s and doubles up to 60 s; it is 1 s again once `work` has run for more than 60 s.
    """
    pause = FIRST_PAUSE
    while True:
        began = trio.current_time()
        try:
            await work()
        except Exception as error:
            if trio.current_time() - began > MAX_PAUSE:
                pause = FIRST_PAUSE
            log_failure(f"{_name(work)} failed and begins anew in {pause:g} s", error)
        else:
            return
        await trio.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE)


def log_failure(what: str, error: Exception) -> None:
    """Log `what` has happened, with the error and the line of its origin; the traceback is at debug level."""
    cause = error
    while isinstance(cause, ExceptionGroup):
        cause = cause.exceptions[0]
    frames = traceback.extract_tb(cause.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    logger.error("%s: %s: %s%s", what, type(cause).__name__, cause, place)
    logger.debug("%s", what, exc_info=error)


def _name(work: Callable[[], Awaitable[None]]) -> str:
    return getattr(work, "__qualname__", type(work).__qualname__)


class ShutdownWatchdog:
    """Timer that ends the process at a deadline, unless its `with` block is left before. For the stores this
    is as if the process was killed: they lose nothing that was committed.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def end_within(self, seconds: float) -> None:
        """End the process after `seconds` at the latest, with status 0; replaces an earlier time."""
        self._forget()
        self._timer = threading.Timer(seconds, os._exit, [DONE])
        self._timer.daemon = True
        self._timer.start()

    def hurry(self) -> None:
        """End the process within 0.9 s, enough for running threads to end."""
        self.end_within(_HURRY_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
