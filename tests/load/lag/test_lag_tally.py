"""Lags, and what was missed or doubled, of arrivals at known times."""

import pytest

from wsnode.load.lag import lag_tally as tally_module
from wsnode.load.lag.lag_tally import KEPT_SECONDS, LagTally, MiningCall
from wsnode.load.lag.notice import CALLS, HEADS, LOGS, NotificationKey

BOTH = (HEADS, LOGS)


def begun(subscribers: int, kinds: tuple[str, ...] = (HEADS,), logs: int = 0) -> LagTally:
    tally = LagTally(subscribers, kinds, slice_seconds=1.0, logs=logs)
    tally.begin(100.0)
    return tally


def head(block: str) -> NotificationKey:
    return NotificationKey(HEADS, block)


def log(block: str, index: int) -> NotificationKey:
    return NotificationKey(LOGS, block, f"{index:#x} ")


def greatest(tally: LagTally, kind: str = HEADS) -> tuple[float, float]:
    """Return the greatest lags in seconds, after the first subscriber and after the call."""
    lags = (tally.after_first.latencies[kind], tally.after_call.latencies[kind])
    first, call = (lag.greatest / 1e6 for lag in lags)
    return first, call


def test_the_lag_counts_from_the_first_subscriber_and_from_the_reply() -> None:
    tally = begun(3)
    tally.calls.append(call := MiningCall(sent=101.0, replied=101.25))
    for subscriber, at in ((1, 101.5), (0, 101.75), (2, 103.5)):
        tally.hear(subscriber, head("0xa"), at)
    tally.end()
    assert greatest(tally) == (2.0, 2.25)
    assert tally.heard == {HEADS: 3}
    assert tally.missed[HEADS] == tally.doubled[HEADS] == tally.unheard == tally.before_reply == 0
    assert call not in tally.calls


def test_what_comes_before_the_reply_counts_as_no_lag() -> None:
    tally = begun(2)
    tally.calls.append(call := MiningCall(sent=101.0))
    tally.hear(0, head("0xa"), 101.5)
    call.replied = 102.0
    tally.hear(1, head("0xa"), 102.5)
    tally.end()
    assert greatest(tally) == (1.0, 0.5)
    assert tally.before_reply == 1


def test_missed_and_doubled_notifications_are_counted() -> None:
    tally = begun(3)
    for subscriber in (0, 1, 1):
        tally.hear(subscriber, head("0xa"), 101.0)
    for subscriber in (0, 1, 2):
        tally.hear(subscriber, head("0xb"), 102.0)
    assert not tally.is_complete
    tally.end()
    assert (tally.missed, tally.doubled) == ({HEADS: 1}, {HEADS: 1})
    assert tally.blocks == 2


def test_a_block_that_no_subscriber_hears_of_is_missed_by_all() -> None:
    tally = begun(3, BOTH, logs=4)
    tally.calls.append(MiningCall(sent=101.0, replied=101.0))
    tally.end()
    assert (tally.unheard, tally.missed) == (1, {HEADS: 3, LOGS: 12})


def test_logs_that_no_subscriber_hears_of_are_missed_by_all() -> None:
    tally = begun(2, BOTH, logs=3)
    tally.calls.append(MiningCall(sent=101.0, replied=101.0))
    for subscriber in (0, 1):
        tally.hear(subscriber, head("0xa"), 101.5)
        tally.hear(subscriber, log("0xa", 0), 101.5)
    assert not tally.is_complete
    tally.hear(0, log("0xa", 1), 101.5)
    tally.end()
    assert tally.missed[LOGS] == 2 + 1
    assert tally.missed[HEADS] == 0


def test_a_call_belongs_to_the_block_that_has_its_logs() -> None:
    tally = begun(1, BOTH, logs=1)
    tally.calls.append(MiningCall(sent=101.0, replied=101.0))
    tally.hear(0, head("0xe"), 101.25)
    tally.hear(0, head("0xa"), 101.5)
    tally.hear(0, log("0xa", 0), 102.0)
    assert tally.is_complete
    tally.end()
    assert greatest(tally) == (0.0, 0.5)
    assert greatest(tally, LOGS) == (0.5, 1.0)
    assert tally.missed.total() == 0
    assert tally.blocks == 2


def test_what_was_under_way_before_all_had_subscribed_does_not_count() -> None:
    tally = LagTally(2, (HEADS,), slice_seconds=1.0)
    tally.hear(0, head("0xa"), 99.0)
    tally.begin(100.0)
    tally.hear(1, head("0xb"), 99.5)
    tally.hear(1, head("0xa"), 100.5)
    tally.end()
    assert (tally.blocks, tally.heard.total(), tally.missed.total()) == (0, 0, 0)


def test_old_notifications_are_given_up_and_still_known_when_they_come_again() -> None:
    tally = begun(2)
    tally.hear(0, head("0xa"), 101.0)
    tally.hear(0, head("0xb"), 102.0 + KEPT_SECONDS)
    tally.forget(101.5 + KEPT_SECONDS)
    assert tally.missed == {HEADS: 1}
    tally.hear(1, head("0xa"), 103.0 + KEPT_SECONDS)
    tally.end()
    assert tally.doubled == {HEADS: 1}
    assert tally.missed == {HEADS: 2}


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "MAX_KEPT", 10)
    tally = begun(2)
    for number in range(100):
        tally.hear(0, head(hex(number)), 101.0)
    tally.forget(101.0)
    assert tally.missed == {HEADS: 90}
    tally.end()
    assert tally.missed == {HEADS: 100}


def test_a_block_whose_outcomes_nobody_was_told_is_missed_by_all() -> None:
    tally = LagTally(2, (HEADS, CALLS), 1.0)
    tally.begin(0.0)
    for block, kinds in (("0xaa", (HEADS, CALLS)), ("0xbb", (HEADS,))):
        for kind in kinds:
            for subscriber in range(2):
                tally.hear(subscriber, NotificationKey(kind, block), 1.0)
    tally.end()
    assert tally.missed == {HEADS: 0, CALLS: 2}
