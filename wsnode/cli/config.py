"""`wsnode config`: check a configuration file before a node starts with it, or reads it again."""

import sys
from pathlib import Path

import click

from wsnode.cli.options import Commands
from wsnode.cli.terminal import one_line_failures


@click.group("config", cls=Commands)
def app() -> None:
    """Check a configuration file before a node starts with it."""


@app.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Say what keeps a node from starting with FILE, a line each; nothing is opened or made.

    Exit status 0: nothing does; what would be served is printed. 1: something does.
    """
    with one_line_failures():
        from wsnode.node.config_check import hindrances, served
        from wsnode.node.config_file import examine

        config, mistakes, unsound = examine(file)
        lines = list(mistakes)
        if config is not None:
            lines += [f"{file}: {line}" for line in hindrances(config, unsound)]
            if not lines:
                for line in served(config):
                    print(line)
                return
        for line in lines:
            print(f"error: {line}", file=sys.stderr)
        raise SystemExit(1)
