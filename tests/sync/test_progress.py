import io

from rich.console import Console

from wsnode.sync.progress import ImportBar, ImportLines, ProgressStep, rates, time_left

STEP = ProgressStep(
    number=120, blocks=100, transactions=2_000, gas=50_000_000, bytes_read=250, bytes_total=1_000
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_tells_the_rates_and_the_time_left() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = ImportLines(stream, clock)
    clock.now = 10.0
    lines.advanced(STEP)
    assert stream.getvalue() == "block 120: 10 blocks/s, 200 tx/s, 5.0 Mgas/s, 30 s left\n"


def test_lines_keep_a_distance() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = ImportLines(stream, clock)
    for clock.now in (1.0, 6.0, 7.0, 11.5):
        lines.advanced(STEP)
    assert stream.getvalue().count("\n") == 2


def test_of_a_pipe_nobody_knows_how_much_is_left() -> None:
    assert time_left(ProgressStep(number=1, bytes_read=10), 1.0) is None


def test_rates_survive_a_clock_that_did_not_move() -> None:
    assert "blocks/s" in rates(STEP, 0.0)


def test_the_bar_shows_the_block_and_the_rates() -> None:
    stream = io.StringIO()
    with ImportBar(Console(file=stream, force_terminal=True, width=120), Clock()) as bar:
        bar.advanced(STEP)
    assert "block 120" in stream.getvalue()
    assert "25%" in stream.getvalue()
