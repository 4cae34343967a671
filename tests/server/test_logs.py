"""What is written, and what is left out."""

import logging

from wsnode.server.logs import HumanFormatter, Sparing


def test_lines_beyond_some_a_second_are_counted_and_left_out() -> None:
    now = 100.0
    sparing = Sparing(2, clock=lambda: now)

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
