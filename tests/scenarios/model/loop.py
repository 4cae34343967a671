"""A trio loop beside the test, for tests whose steps are not one coroutine."""

import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import outcome
import trio
from trio.testing import MockClock

Result = TypeVar("Result")


class Loop:
    """A trio loop in a thread, which stands still but while it does what the test asks for."""

    def __init__(self) -> None:
        self.clock = MockClock()
        self._works: SimpleQueue[Callable[[], Awaitable[Any]] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[outcome.Outcome[Any]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
        """Return what `function` returns there."""
        self._works.put(partial(function, *arguments))
        result: Result = self._outcomes.get().unwrap()
        return result

    def end(self) -> None:
        """Cancel what runs there."""
        self._works.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self.clock)
        except BaseException as error:
            # The call under way, and all that may follow.
            self._outcomes.put(outcome.Error(error))
            while self._works.get() is not None:
                self._outcomes.put(outcome.Error(error))

    async def _main(self) -> None:
        async with trio.open_nursery() as self.nursery:
            # Nothing else runs while this waits, so that every run of a test is the same.
            while (work := self._works.get()) is not None:
                result = await outcome.acapture(work)
                if isinstance(result, outcome.Error) and isinstance(result.error, trio.Cancelled):
                    result.unwrap()
                self._outcomes.put(result)
            self.nursery.cancel_scope.cancel()


class ErrorLog(logging.Handler):
    """Keeps what is logged as an error: a bug of ours."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(logging.Formatter().format(record))
