"""Recorded requests, one as JSON on each line: read one by one, whatever the size of the file.

A line is a JSON-RPC request; its `id` and `jsonrpc` are not looked at. With a member `time`, seconds as a
number or a time as RFC 3339 writes it, requests keep their distances in time.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, Final

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError, one_error

LONGEST_LINE: Final = 16 * 2**20
"""Bytes."""
MOST_SHOWN: Final = 10


class NoRequestsError(OSError):
    """A file holds no request; the message says how many lines it has, and what is wrong with the first."""


class RecordedRequest(msgspec.Struct, frozen=True):
    """A request of a file: its method, its parameters as JSON, and its seconds, if it has a time."""

    method: str
    params: bytes
    time: float | None


class _Line(msgspec.Struct):
    method: str
    params: msgspec.Raw = msgspec.Raw(b"[]")
    time: float | datetime | None = None


class RequestLines:
    """The requests of a file, and the lines that are none."""

    def __init__(self, file: BinaryIO) -> None:
        self.count = 0
        """Of the lines read, but for empty ones."""
        self.malformed = 0
        self.shown = list[str]()
        """The first malformed lines: their numbers, and why."""
        self._file = file
        self._number = 0
        self._decoder = JsonDecoder(_Line)

    def __iter__(self) -> Iterator[RecordedRequest]:
        """Yield the requests; a line that is none is counted and left out."""
        while line := self._file.readline(LONGEST_LINE):
            self._number += 1
            is_whole = line.endswith(b"\n") or len(line) < LONGEST_LINE
            if not is_whole:
                self._skip()
            if not line.strip():
                continue
            self.count += 1
            try:
                yield self._read(line, is_whole=is_whole)
            except MalformedError as error:
                self.malformed += 1
                if len(self.shown) < MOST_SHOWN:
                    self.shown.append(f"line {self._number}: {error}")

    def _skip(self) -> None:
        while (rest := self._file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass

    def _read(self, line: bytes, *, is_whole: bool) -> RecordedRequest:
        if not is_whole:
            raise MalformedError(f"longer than {LONGEST_LINE:,} bytes")
        found = self._decoder.decode(line)
        params = bytes(found.params)
        if params[:1] not in (b"[", b"{"):
            raise MalformedError(
                f"its params are no array and no object: {params[:40].decode(errors='replace')}"
            )
        with one_error():
            time = found.time.timestamp() if isinstance(found.time, datetime) else found.time
        return RecordedRequest(found.method, params, time)
