"""The line that is shown while a run goes on."""

from wsnode.load.histogram import Histogram
from wsnode.load.progress import ProgressMessage, RunProgress


def beat(process: int, at: float, replies: int) -> ProgressMessage:
    latencies = Histogram()
    for _ in range(replies):
        latencies.add(0.002)
    return ProgressMessage(process, at, replies, errors=1, in_flight=4, latencies=latencies)


def test_the_line_adds_up_all_processes() -> None:
    progress = RunProgress("B ")
    progress.take(beat(1, 1.0, 100))
    progress.take(beat(2, 1.0, 200))
    assert progress.line() == "B 1.0 s  300 a second  8 in flight  p99 2.0 ms  2 errors"
    progress.take(beat(1, 2.0, 150))
    progress.take(beat(2, 2.0, 250))
    assert progress.line() == "B 2.0 s  100 a second  8 in flight  p99 2.0 ms  2 errors"


def test_before_the_first_reply_there_is_no_percentile() -> None:
    progress = RunProgress()
    progress.take(beat(1, 0.5, 0))
    assert progress.line() == "0.5 s  0 a second  4 in flight  no reply yet  1 errors"
