"""Table of the lines of the log in docs/reference/log-events.md, from the calls of loggers in the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import wsnode
from tests.docs.generated.marks import TableWriter, markdown_table

PACKAGE: Final = Path(wsnode.__file__).parent
LEVELS: Final = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
    "log": "as the cause",
}
"""Names of loggers' methods, with the levels of their lines."""
_VALUE: Final = re.compile(r"%[\d.]*[a-z]")


class LogEvent(NamedTuple):
    """Line of the log: its logger, its level, and its text with an ellipsis for each value."""

    logger: str
    level: str
    text: str


def log_events() -> list[LogEvent]:
    """Return the lines that the code writes, by logger and text; without those that are values alone."""
    modules = (ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py")))
    found = {each for module in modules for each in _events_of(module)}
    return sorted(each for each in found if re.search(r"[a-z]{2}", each.text))


def _events_of(module: ast.Module) -> Iterator[LogEvent]:
    loggers = dict(_loggers(module))
    for node in ast.walk(module):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), method), args) if (
                name in loggers and method in LEVELS
            ):
                text = args[1 if method == "log" else 0]
                if isinstance(text, ast.Constant):
                    yield LogEvent(loggers[name], LEVELS[method], _VALUE.sub("…", str(text.value)))


def _loggers(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of variables, each with the name of the logger that it is."""
    for node in ast.walk(module):
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Attribute(_, "getLogger"), [ast.Constant(str(logger))])
            ):
                yield name, logger


def table(_part: str) -> str:
    """Return the table of all lines."""
    return markdown_table(
        ("logger", "level", "message"),
        ((f"`{each.logger}`", each.level, f"`{each.text}`") for each in log_events()),
    )


WRITER: Final = TableWriter("events", ["reference/log-events.md"], table)
