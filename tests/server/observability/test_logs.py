"""What is written, and what is left out."""

import logging
import sys
from collections.abc import Callable

import pytest

from wsnode.server.observability.logs import (
    MAX_CHARACTERS,
    HumanFormatter,
    JsonFormatter,
    PlaceRateFilter,
    RateLimitFilter,
)


def test_lines_beyond_some_a_second_are_counted_and_left_out() -> None:
    now = 100.0
    sparing = RateLimitFilter(2, clock=lambda: now)

    def line() -> logging.LogRecord:
        return logging.makeLogRecord(
            {"msg": "slow", "levelname": "WARNING", "details": {"method": "eth_call"}}
        )

    assert [sparing.filter(line()) for _ in range(5)] == [True, True, False, False, False]
    now = 101.5
    record = line()
    assert sparing.filter(record)
    assert HumanFormatter().format(record).endswith("slow method=eth_call left_out=3")
    record = line()
    assert sparing.filter(record)
    assert "left_out" not in HumanFormatter().format(record)


def failing(text: str) -> None:
    raise ValueError(text)


def record_of(fail: Callable[[], None]) -> logging.LogRecord:
    try:
        fail()
    except ValueError:
        return logging.LogRecord("wsnode", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    raise AssertionError


def test_a_place_writes_one_traceback_a_minute_and_counts_the_others() -> None:
    now = 100.0
    bounded = PlaceRateFilter(3, clock=lambda: now)

    def elsewhere() -> None:
        raise ValueError

    def traceback(fail: Callable[[], None] = lambda: failing("x")) -> bool:
        return bounded.filter(record_of(fail))

    assert [traceback() for _ in range(4)] == [True, False, False, False]
    assert traceback(elsewhere)
    now = 161.0
    record = record_of(lambda: failing("another text"))
    assert bounded.filter(record)
    assert "left_out=3" in HumanFormatter().format(record)
    assert not traceback()


def test_warnings_have_a_limit_and_what_was_asked_for_has_none() -> None:
    bounded = PlaceRateFilter(3, clock=lambda: 0.0)

    def lines(level: int, place: int) -> list[bool]:
        return [
            bounded.filter(logging.LogRecord("wsnode", level, __file__, place, "line", (), None))
            for _ in range(5)
        ]

    assert lines(logging.WARNING, 1) == [True, True, True, False, False]
    assert lines(logging.WARNING, 2) == [True, True, True, False, False]
    assert lines(logging.INFO, 3) == [True] * 5


@pytest.mark.parametrize("formatter", [HumanFormatter(), JsonFormatter()], ids=["human", "json"])
def test_a_traceback_is_cut(formatter: logging.Formatter) -> None:
    written = formatter.format(record_of(lambda: failing("x" * 5_000_000)))
    assert len(written) < MAX_CHARACTERS + 1000
    assert "in failing" in written


def said(message: str, form: logging.Formatter, **details: object) -> str:
    return form.format(logging.makeLogRecord({"msg": message, "levelname": "WARNING", "details": details}))


@pytest.mark.parametrize("foreign", ["a\n12:00:00 ERROR forged", "\x1b[2J", "\x9b1m", "\u202e", "\udcff"])
def test_what_others_say_is_one_line_that_does_not_steer_a_terminal(foreign: str) -> None:
    shown = said(f"refused: {foreign}", HumanFormatter(), reason=foreign)
    assert shown.isprintable()
    assert shown.count(ascii(foreign)[1:-1]) == 2
    assert len(said(foreign, JsonFormatter()).encode().splitlines()) == 1


@pytest.mark.parametrize("form", [HumanFormatter(), JsonFormatter()])
def test_a_long_message_is_cut(form: logging.Formatter) -> None:
    assert len(said("x" * 100_000, form)) < MAX_CHARACTERS + 200
