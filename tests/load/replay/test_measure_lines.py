"""Requests of a file: what is read, and which lines are named."""

import io
from collections.abc import Iterator
from itertools import islice

from wsnode.load.replay.measure import MAX_LINE, MAX_SHOWN, RecordedRequest, RequestLines

CALL = b'{"jsonrpc":"2.0","id":"a","method":"eth_chainId","params":[ "latest" ]}\n'


class Endless(io.RawIOBase):
    """A file without an end, which counts the bytes that are read of it."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        lines = (CALL * (len(view) // len(CALL) + 1))[: len(view)]
        view[:] = lines
        self.read_bytes += len(view)
        return len(view)


def read(content: bytes) -> tuple[list[RecordedRequest], RequestLines]:
    lines = RequestLines(io.BytesIO(content))
    return list(lines), lines


def test_a_request_is_read_as_it_is_written() -> None:
    found, lines = read(CALL + b'{"method":"x","time":1.5}\n\n{"method":"y","params":{"a":1},"time":null}')
    assert found == [
        RecordedRequest("eth_chainId", b'[ "latest" ]', None),
        RecordedRequest("x", b"[]", 1.5),
        RecordedRequest("y", b'{"a":1}', None),
    ]
    assert (lines.count, lines.malformed) == (3, 0)


def test_a_time_may_be_a_date() -> None:
    found, _ = read(
        b'{"method":"x","time":"2026-11-23T18:00:00.5Z"}\n{"method":"x","time":"2026-11-23T19:00:00+01:00"}'
    )
    first, second = found
    assert first.time is not None
    assert second.time is not None
    assert first.time - second.time == 0.5


def test_lines_that_are_no_requests_are_named_and_left_out() -> None:
    found, lines = read(
        CALL
        + b"nonsense\n"
        + b"[]\n\n"
        + b'{"params":[]}\n'
        + b'{"method":"x","params":3}\n'
        + b"\xff\n"
        + CALL
    )
    assert [each.method for each in found] == ["eth_chainId"] * 2
    assert (lines.count, lines.malformed) == (7, 5)
    assert [line.partition(":")[0] for line in lines.shown] == [
        "line 2",
        "line 3",
        "line 5",
        "line 6",
        "line 7",
    ]
    assert lines.shown[3] == "line 6: its params are no array and no object: 3"


def test_of_many_malformed_lines_the_first_are_named() -> None:
    _, lines = read(b"x\n" * 1000)
    assert (lines.malformed, len(lines.shown)) == (1000, MAX_SHOWN)


def test_a_line_that_is_too_long_is_passed_over() -> None:
    found, lines = read(b"[" * (2 * MAX_LINE + 5) + b"\n" + CALL)
    assert len(found) == 1
    assert lines.shown == [f"line 1: longer than {MAX_LINE:,} bytes"]


def test_no_more_is_read_than_is_asked_for() -> None:
    source = Endless()
    requests: Iterator[RecordedRequest] = iter(RequestLines(io.BufferedReader(source)))
    assert len(list(islice(requests, 100))) == 100
    assert source.read_bytes < 100 * len(CALL) + 2 * io.DEFAULT_BUFFER_SIZE
