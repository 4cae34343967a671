"""A line on a terminal that the next one replaces."""

import io

import pytest

from wsnode.cli.terminal import CLEAR_LINE, PassingLine


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
