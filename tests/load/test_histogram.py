"""Histograms of latencies against exact percentiles."""

from hypothesis import given
from hypothesis import strategies as st

from wsnode.load.histogram import Histogram, percentiles

LATENCIES = st.lists(st.floats(min_value=0.000_1, max_value=100), min_size=1, max_size=200)


def histogram(latencies: list[float]) -> Histogram:
    found = Histogram()
    for latency in latencies:
        found.add(latency)
    return found


@given(LATENCIES)
def test_percentiles_are_within_a_hundredth(latencies: list[float]) -> None:
    pairs = zip(histogram(latencies).percentiles(), percentiles(latencies), strict=True)
    assert all(abs(found / exact - 1) < 0.01 for found, exact in pairs)


@given(LATENCIES, LATENCIES)
def test_histograms_are_added_up(first: list[float], second: list[float]) -> None:
    together = histogram(first)
    together.merge(histogram(second))
    assert together == histogram(first + second)


@given(st.integers(0, 10**9))
def test_a_latency_lies_in_its_bucket(microseconds: int) -> None:
    (((low, high), count),) = histogram([microseconds / 1e6]).buckets()
    assert count == 1
    assert low <= microseconds / 1000 < high
    assert high - low <= max(0.001_001, low / 100)


def test_of_none_there_is_no_percentile() -> None:
    assert Histogram().percentile(0.5) != Histogram().percentile(0.5)
