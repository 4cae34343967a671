"""Log lines: for people, or one JSON object each for machines."""

import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

FORMATS = ("human", "json")


class JsonFormatter(logging.Formatter):
    """One JSON object a record, with the record's `details` as members."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "details", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class HumanFormatter(logging.Formatter):
    """A line to read, with the record's `details` behind the message."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname:<7} {message}", "%H:%M:%S", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line before any traceback."""
        details = getattr(record, "details", {})
        shown = "".join(f" {name}={value}" for name, value in details.items())
        return super().formatMessage(record) + shown


class Sparing(logging.Filter):
    """Lets some lines a second through, and says with the next one how many it left out.

    Whoever asks for slow calls decides how many there are, and writing each holds everybody up.
    """

    def __init__(self, lines_per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = lines_per_second
        self._clock = clock
        self._began, self._written, self._left_out = -1.0, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        now = self._clock()
        if now - self._began >= 1:
            self._began, self._written = now, 0
        if self._written >= self._most:
            self._left_out += 1
            return False
        self._written += 1
        if self._left_out:
            record.details = {**getattr(record, "details", {}), "left_out": self._left_out}
            self._left_out = 0
        return True


SPARING = Sparing(10)


def configure(level: str = "info", form: str = "human", stream: TextIO | None = None) -> None:
    """Send everything that wsnode logs at `level` or above to `stream`, stderr if None.

    May be called again, for another level. What the libraries log is shown from warnings on.

    Raises:
        ValueError: There is no such level or form.
    """
    if form not in FORMATS:
        raise ValueError(f"log format {form}: not one of {', '.join(FORMATS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("wsnode").setLevel(level.upper())
    logging.getLogger("wsnode.slow").addFilter(SPARING)
