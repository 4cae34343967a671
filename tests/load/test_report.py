"""The lines that are printed."""

from wsnode.load.histogram import percentiles
from wsnode.load.measured import Measurement
from wsnode.load.report import text as report


def measured(seconds: float, errors: int = 0) -> Measurement:
    found = Measurement(seconds=1.0)
    for method in ["eth_call"] * 10 + ["eth_chainId"] * 5:
        found.add(method, seconds, None)
    if errors:
        found.errors["eth_call"] = errors
        found.first_errors["eth_call"] = "-32000 no"
    return found


def test_percentiles_are_in_milliseconds() -> None:
    latencies = [number / 1000 for number in range(1000)]
    assert percentiles(latencies) == [500, 900, 990, 999]


def test_one_node_has_a_line_for_each_method() -> None:
    lines = [line.split() for line in report.mix([measured(0.002, errors=3)])]
    assert lines[0] == ["all", "15", "2.000", "2.000", "2.000", "2.000", "3"]
    assert lines[1][:2] == ["eth_call", "10"]
    assert lines[2][:2] == ["eth_chainId", "5"]
    assert " ".join(lines[3]) == "first error of eth_call: -32000 no"


def test_two_nodes_have_ratios() -> None:
    lines = [line.split() for line in report.mix([measured(0.002), measured(0.004)])]
    assert [line[0] for line in lines[:3]] == ["A", "B", "A"]
    assert lines[2] == ["A", "/", "B", "1.00", "0.50", "0.50", "0.50", "0.50"]


def test_a_method_that_one_node_never_answered_has_no_ratio() -> None:
    silent = Measurement(seconds=1.0)
    lines = list(report.mix([measured(0.002), silent]))
    assert lines[2].split()[3] == "-"
    assert "nan" in lines[1]


def test_a_rate_that_a_node_did_not_keep_up_with_is_told() -> None:
    slow = measured(0.002)
    slow.unanswered = 1000
    assert list(report.mix([slow]))[-1] == "unanswered in the end: 1,000"


def test_the_columns_fit_the_lines() -> None:
    (line, *_rest) = report.mix([measured(0.002)])
    assert len(line) == len(report.COLUMNS)


def test_a_run_that_ended_before_anything_counts_says_so() -> None:
    (line,) = (line for line in report.mix([measured(0.002), Measurement()]) if "first tenth" in line)
    assert line == "B ended in the first tenth of its time, which does not count"
