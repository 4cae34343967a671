"""A line on a terminal that the next one replaces."""

import io

import pytest

from wsnode.cli.terminal import CLEAR_LINE, PassingLine, one_line_failures, say
from wsnode.node.config import ConfigurationError


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_each_line_replaces_the_last_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    screen = Screen()
    with PassingLine(screen) as line:
        line.show("one")
        line.show("a text wider than the terminal")
    assert screen.getvalue().split(CLEAR_LINE) == ["", "one", "a text wider than t", ""]


def test_where_there_is_no_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    with PassingLine(stream) as line:
        line.show("one")
        line.say("two")
    assert stream.getvalue() == ""
    assert capsys.readouterr().out == "two\n"


def test_what_another_node_says_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    screen, steering = Screen(), "a\x1b[2Jb\r\x9b"
    say(f"{steering}\nc")
    with PassingLine(screen) as line:
        line.show(steering)
    with pytest.raises(SystemExit), one_line_failures():
        raise ConfigurationError(steering)
    shown = "a\\x1b[2Jb\\r\\x9b"
    told = capsys.readouterr()
    assert told.out == f"{shown}\nc\n"
    assert told.err == f"error: {shown}\n"
    assert screen.getvalue().split(CLEAR_LINE) == ["", shown, ""]
