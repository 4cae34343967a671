"""The help of commands: under headings, and with whole sentences."""

import re

import click
import pytest
from click.testing import CliRunner

from wsnode.cli.main import app


def commands_of(group: click.Group) -> dict[str, click.Command]:
    """Return the commands of a group by their names."""
    context = click.Context(group)
    names = group.list_commands(context)
    return {name: command for name in names if (command := group.get_command(context, name))}


def groups(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words that lead to each group of commands."""
    if not isinstance(command, click.Group):
        return []
    inner = [each for name, sub in commands_of(command).items() for each in groups(sub, (*path, name))]
    return [path, *inner]


@pytest.mark.parametrize("path", groups(app), ids=lambda path: " ".join(path) or "wsnode")
def test_a_list_of_commands_has_whole_sentences(path: tuple[str, ...]) -> None:
    output = CliRunner().invoke(app, [*path, "--help"]).output
    assert "..." not in output.partition("Options:")[2]
    group: click.Command = app
    for word in path:
        assert isinstance(group, click.Group)
        group = commands_of(group)[word]
    assert isinstance(group, click.Group)
    plain = " ".join(output.split())
    for name, command in commands_of(group).items():
        sentence = re.split(r"\.(?:\s|$)", " ".join((command.help or "").split()))[0]
        assert f"{name} {sentence}." in plain


def test_all_commands_stand_under_headings() -> None:
    output = CliRunner().invoke(app, ["--help"]).output
    headings = re.findall(r"^(\S.*):$", output, re.M)
    assert headings == [
        "Options",
        "Chains to try and to develop on",
        "Nodes",
        "Operation",
        "Data folders",
        "Checks and load on any node",
    ]
