"""Supervisor of tasks beside the connections; the failure of one must not end the node."""

import logging
import traceback
from collections.abc import Awaitable, Callable

import trio

FIRST_PAUSE = 1.0
MAX_PAUSE = 60.0

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
