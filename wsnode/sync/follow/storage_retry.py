"""Retries while the chain cannot be stored: logged once, and repeated until the stores work again."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import uniform
from typing import Final, TypeVar

import trio

from wsnode.ethereum.tree.head_writer import STORE_FAILURES

FIRST_PAUSE: Final = 0.25
MAX_PAUSE: Final = 15.0

Result = TypeVar("Result")

logger = logging.getLogger("wsnode.follow")


class StorageRetry:
    """Retries of work that could not be stored: they begin with a failure of the stores, and end when all
    failed work is done.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._waiting = 0
        """Number of works that have failed and are to be tried again."""

    @property
    def is_on(self) -> bool:
        """Return True if some work cannot be stored now."""
        return self._waiting > 0

    async def until_stored(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of `work`, tried again until the stores do not fail; pauses grow to 15 s."""
        pause = FIRST_PAUSE
        with ExitStack() as stack:
            while True:
                try:
                    return await work()
                except* STORE_FAILURES as failures:
                    failure = failures
                if pause == FIRST_PAUSE:
                    stack.enter_context(self._noted(failure))
                await trio.sleep(pause * uniform(0.5, 1.0))
                pause = min(2 * pause, MAX_PAUSE)

    @contextmanager
    def _noted(self, failures: ExceptionGroup[Exception]) -> Iterator[None]:
        if not self.is_on:
            cause: Exception = failures
            while isinstance(cause, ExceptionGroup):
                cause = cause.exceptions[0]
            logger.error("blocks cannot be stored: %s; following goes on once they can be", cause)
        self._waiting += 1
        self._changed()
        try:
            yield
        finally:
            self._waiting -= 1
            self._changed()
