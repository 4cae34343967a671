"""Recorded requests, one as JSON on each line: read one by one, whatever the size of the file.

A line is a JSON-RPC request; its `id` and `jsonrpc` are not used. With a member `time`, seconds as a number
or a time in the form of RFC 3339, requests keep their distances in time.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, Final

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError, one_error

LONGEST_LINE: Final = 16 * 2**20
"""Most bytes of a line."""
MOST_SHOWN: Final = 10


class NoRequestsError(OSError):
    """Error of a file without a request; the message has the number of lines, and the fault of the first."""


class RecordedRequest(msgspec.Struct, frozen=True):
    """Request of a file: its method, its parameters as JSON, and its time in seconds, None without one."""

    method: str
    params: bytes
    time: float | None


class _Line(msgspec.Struct):
    method: str
    params: msgspec.Raw = msgspec.Raw(b"[]")
    time: float | datetime | None = None


class RequestLines:
    """Requests of a file, and its malformed lines."""

    def __init__(self, file: BinaryIO) -> None:
        self.count = 0
        """Number of lines read, without empty ones."""
        self.malformed = 0
        self.shown = list[str]()
        """First malformed lines: number and fault of each."""
        self._file = file
        self._number = 0
        self._decoder = JsonDecoder(_Line)

    def __iter__(self) -> Iterator[RecordedRequest]:
        """Yield the requests; count malformed lines and leave them out."""
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
