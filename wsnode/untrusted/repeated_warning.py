"""A warning that others may cause over and over, by what they send or by how many they are."""

import logging
from collections.abc import Callable
from typing import Final

WARNING_SECONDS: Final = 60.0
"""Seconds between two lines of one warning."""


class RepeatedWarning:
    """One warning of a logger: a line a minute at most, with the number of those left out since the last."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float]) -> None:
        """`clock` returns passing time, in seconds."""
        self._logger = logger
        self._clock = clock
        self._written: float | None = None
        self._left_out = 0

    def say(self, text: str, *values: object) -> None:
        """Log it, or count it."""
        now = self._clock()
        if self._written is not None and now - self._written < WARNING_SECONDS:
            self._left_out += 1
            return
        details = {"left_out": self._left_out} if self._left_out else {}
        self._logger.warning(text, *values, extra={"details": details})
        self._written, self._left_out = now, 0
