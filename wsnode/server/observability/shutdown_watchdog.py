"""Watchdog that bounds how long a process waits for its threads at its end."""

import os
import threading
from types import TracebackType
from typing import Final, Self

DONE: Final = 0
_HURRY_SECONDS: Final = 0.9


class ShutdownWatchdog:
    """Timer that ends the process, unless its block is left before.

    For the stores the process was killed: they lose nothing that was committed.
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
