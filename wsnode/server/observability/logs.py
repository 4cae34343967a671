"""Log lines: for people, or one JSON object each for programs."""

import logging
import math
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from wsnode.untrusted.decoding import printable


class LogStream(Protocol):
    """Destination of log lines."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


FORMATS = ("human", "json")
WARNINGS = 600
"""Warnings without traceback that one line of code may log in a minute: the rate of slow calls."""
MAX_CHARACTERS = 16 * 1024
"""Maximum characters of a message, and of a traceback."""


class JsonFormatter(logging.Formatter):
    """Formatter of one JSON object a record, with the record's `details` as members."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _shortened(record.getMessage()).encode(errors="backslashreplace").decode(),
            **getattr(record, "details", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return _shortened(super().formatException(ei))


class HumanFormatter(logging.Formatter):
    """Formatter of a line for people, with the record's `details` after the message."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname:<7} {message}", "%H:%M:%S", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line before any traceback."""
        details = getattr(record, "details", {})
        shown = "".join(f" {name}={value}" for name, value in details.items())
        # Other machines write parts of the line (an upstream the reason of a refusal, for example), so it is
        # shortened and made printable.
        return printable(_shortened(super().formatMessage(record) + shown))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return _shortened(super().formatException(ei))


class _Window:
    """Limiter of log lines: it counts the lines of the current window of time, and the skipped ones."""

    __slots__ = ("_began", "_left_out", "_seconds", "_written")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began, self._written, self._left_out = -math.inf, 0, 0

    def passes(self, record: logging.LogRecord, now: float, most: int) -> bool:
        """Count a line; return True for the first `most` of a window.

        A line that passes gets the number of lines skipped since the last one, if there are any.
        """
        if now - self._began >= self._seconds:
            self._began, self._written = now, 0
        if self._written >= most:
            self._left_out += 1
            return False
        self._written += 1
        if self._left_out:
            record.details = {**getattr(record, "details", {}), "left_out": self._left_out}
            self._left_out = 0
        return True


class RateLimitFilter(logging.Filter):
    """Filter that passes some lines a second; the next line has the number of skipped lines.

    Clients decide how many slow calls there are, and each line delays the event loop.
    """

    def __init__(self, lines_per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = lines_per_second
        self._clock = clock
        self._window = _Window(1)

    def filter(self, record: logging.LogRecord) -> bool:
        return self._window.passes(record, self._clock(), self._most)


SPARING = RateLimitFilter(10)


class PlaceRateFilter(logging.Filter):
    """Filter that passes one traceback and some warnings a minute from each line of code.

    The next record of that line has the number of skipped ones. Records below the level of warnings pass.
    """

    def __init__(self, warnings: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._warnings = warnings
        self._clock = clock
        self._places: dict[tuple[str, int], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING and not record.exc_info:
            return True
        most = 1 if record.exc_info else self._warnings
        return self._places.setdefault(_place(record), _Window(60)).passes(record, self._clock(), most)


def _place(record: logging.LogRecord) -> tuple[str, int]:
    """Return the file and line where an exception was raised, or else where the log line was written."""
    last = record.exc_info[2] if record.exc_info else None
    if last is None:
        return record.pathname, record.lineno
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename, last.tb_lineno


def _shortened(text: str) -> str:
    """Return a text without its middle if it is long; a text may repeat data that others sent."""
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n...\n{text[-half:]}"


class WorkerNumberFilter(logging.Filter):
    """Filter that adds the number of the worker to each line."""

    def __init__(self, worker: int) -> None:
        super().__init__()
        self._worker = worker

    def filter(self, record: logging.LogRecord) -> bool:
        record.details = {"worker": self._worker, **getattr(record, "details", {})}
        return True


def configure(
    level: str = "info", form: str = "human", stream: LogStream | None = None, *, worker: int | None = None
) -> None:
    """Write all records of wsnode at `level` or above to `stream`, stderr if None.

    May be called again, for another level. Libraries log warnings and above. `worker` is the number of this
    process among several that write to one stream.

    Raises:
        ValueError: The level or the form is unknown.
    """
    if form not in FORMATS:
        raise ValueError(f"log format {form}: not one of {', '.join(FORMATS)}")
    handler = logging.StreamHandler[LogStream](stream or sys.stderr)
    handler.addFilter(PlaceRateFilter(WARNINGS))
    if worker is not None:
        handler.addFilter(WorkerNumberFilter(worker))
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("wsnode").setLevel(level.upper())
    logging.getLogger("wsnode.slow").addFilter(SPARING)
