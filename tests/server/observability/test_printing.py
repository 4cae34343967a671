"""A printer writes as many lines as its stream accepts, and never delays its callers."""

import fcntl
import os
import threading
from collections.abc import Iterator

import pytest

from wsnode.server.observability import printing
from wsnode.server.observability.printing import LineRate, Printer

PIPE_BYTES = 4096


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a pipe that holds a page; the test may close them."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    yield reading, writing
    for end in (reading, writing):
        try:
            os.close(end)
        except OSError:
            continue


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the end wait for all that is said, however late the thread that writes it has a turn."""
    monkeypatch.setattr(printing, "LAST_SECONDS", 60.0)


def everything(reading: int) -> str:
    pieces = []
    while piece := os.read(reading, 65536):
        pieces.append(piece)
    return b"".join(pieces).decode()


@pytest.mark.usefixtures("_patient")
def test_what_is_said_is_written_in_order(pipe: tuple[int, int]) -> None:
    printer = Printer(pipe[1])
    for number in range(50):
        printer.say(f"{number}\n".__str__)
    printer.write("a line of the log\n")
    printer.stop()
    os.close(pipe[1])
    assert everything(pipe[0]).splitlines() == [*map(str, range(50)), "a line of the log"]


@pytest.mark.usefixtures("_patient")
def test_what_is_too_much_for_a_second_is_counted(pipe: tuple[int, int]) -> None:
    now = 0.0
    printer = Printer(pipe[1], rate=10, clock=lambda: now)
    for _ in range(25):
        printer.say(lambda: "x\n")
    now = 1.0
    printer.say(lambda: "y\n")
    printer.stop()
    os.close(pipe[1])
    lines = everything(pipe[0]).splitlines()
    assert lines.count("x") == 10
    assert lines.count("y") == 1
    assert sum(int(line.split()[1]) for line in lines if line.startswith("… ")) == 15


def test_a_pipe_that_nobody_reads_holds_nobody_up(pipe: tuple[int, int]) -> None:
    printer = Printer(pipe[1], rate=1 << 30, waiting=8)
    for _ in range(1000):
        printer.say(lambda: "x" * 1000 + "\n")
        printer.write("a line of the log\n")
    printer.stop()
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(everything(pipe[0])))
    reader.start()
    printer._thread.join(60)
    os.close(pipe[1])
    reader.join(60)
    (text,) = received
    assert text.count("x") < 1000 * (8 + 8 + PIPE_BYTES // 1000)
    assert " more left out\n" in text


def test_a_reader_that_has_gone_ends_the_printing_alone(pipe: tuple[int, int]) -> None:
    printer = Printer(pipe[1])
    os.close(pipe[0])
    printer.say(lambda: "lost\n")
    printer._thread.join(60)
    assert not printer._thread.is_alive()
    printer.say(lambda: "lost too\n")
    printer.write("and this\n")
    printer.stop()


def test_a_descriptor_that_does_not_block_is_waited_for(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    printer = Printer(pipe[1])
    printer.say(lambda: "x" * 5 * PIPE_BYTES)
    text = b""
    while len(text) < 5 * PIPE_BYTES:
        text += os.read(pipe[0], 65536)
    printer.stop()
    assert text == b"x" * 5 * PIPE_BYTES


def test_a_rate_begins_anew_each_second() -> None:
    now = 0.0
    rate = LineRate(2, lambda: now)
    assert [rate.take() for _ in range(3)] == [True, True, False]
    now = 1.0
    assert rate.take()
