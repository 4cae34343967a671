"""Warning for events that others can cause at any rate: written once a minute at most."""

import logging
from collections.abc import Callable
from typing import Final

WARNING_SECONDS: Final = 60.0
"""Seconds between two lines of one warning."""


class RepeatedWarning:
    """Rate-limited warning of a logger: one line in 60 s at most, with the number of warnings left out before
    it.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float]) -> None:
        """Make a warning of `logger`; `clock` returns monotonic time in seconds."""
        self._logger = logger
        self._clock = clock
        self._written: float | None = None
        self._left_out = 0

    def say(self, text: str, *values: object) -> None:
        now = self._clock()
        if self._written is not None and now - self._written < WARNING_SECONDS:
            self._left_out += 1
            return
        details = {"left_out": self._left_out} if self._left_out else {}
        self._logger.warning(text, *values, extra={"details": details})
        self._written, self._left_out = now, 0
