"""Warnings that others cause over and over: a line a minute, with the number of those left out."""

import logging

import pytest

from wsnode.untrusted.repeated_warning import WARNING_SECONDS, RepeatedWarning


def test_a_repeated_warning_is_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 1000.0
    repeated = RepeatedWarning(logging.getLogger("wsnode.follow"), lambda: now)
    for minute in range(3):
        for second in range(int(WARNING_SECONDS)):
            repeated.say("%s of %s", second, minute)
            now += 1
    left_out = {"left_out": WARNING_SECONDS - 1}
    found = [(record.message, vars(record)["details"]) for record in caplog.records]
    assert found == [("0 of 0", {}), ("0 of 1", left_out), ("0 of 2", left_out)]
