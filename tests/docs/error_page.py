"""The messages of docs/reference/errors.md, as patterns with their codes, and those in the code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import wsnode
from tests.docs.pages import DOCS
from wsnode.ethereum import codes
from wsnode.jsonrpc import errors
from wsnode.starknet.rpc import errors as starknet_errors

PACKAGE: Final = Path(wsnode.__file__).parent
PAGE: Final = DOCS / "reference/errors.md"
OTHERS: Final = ("verify/", "load/")
"""Clients, not nodes."""
MADE_BY: Final[dict[str, tuple[int, int | None]]] = {
    "server_error": (0, errors.SERVER_ERROR),
    "limit_exceeded": (0, errors.LIMIT_EXCEEDED),
    "take_or_refuse": (1, errors.LIMIT_EXCEEDED),
    "invalid_params": (0, errors.INVALID_PARAMS),
    "invalid_request": (0, errors.INVALID_REQUEST),
    "bad_request": (0, errors.INVALID_REQUEST),
    "_refused": (0, errors.INVALID_REQUEST),
    "BadContentError": (1, errors.INVALID_REQUEST),
    "PoolError": (0, errors.SERVER_ERROR),
    "SendFailedError": (0, errors.SERVER_ERROR),
    "RpcError": (1, None),
    "_error": (1, None),
    # Of errors with a class of their own.
    "__init__": (1, None),
}
"""What makes an error: the place of its message among the arguments, and its code."""
_NAMES: Final = vars(codes) | vars(errors) | vars(starknet_errors)
_ROW: Final = re.compile(r"^\| (`.+?`) \| ([^|]+) \|", re.MULTILINE)
_CHANGING: Final = re.compile(r"…|\b[NMBCO](?=\b|s\b)")


class Explained(NamedTuple):
    """A message of the page, and the codes of its row."""

    pattern: re.Pattern[str]
    codes: frozenset[int]

    def covers(self, message: str, code: int) -> bool:
        """Return whether the row is about this error."""
        return code in self.codes and self.pattern.fullmatch(message) is not None


class Made(NamedTuple):
    """A message in the code, with something in place of what changes."""

    message: str
    code: int
    place: str


@cache
def explained() -> list[Explained]:
    """Return all messages that the page explains."""
    return [
        Explained(_pattern(message), frozenset(map(int, re.findall(r"-?\d+", numbers))))
        for cell, numbers in _ROW.findall(PAGE.read_text())
        for message in re.findall(r"`([^`]+)`", cell)
    ]


def _pattern(message: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, _CHANGING.split(message))), re.DOTALL)


def made() -> Iterator[Made]:
    """Yield all messages that the code spells out where it makes an error."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(OTHERS):
            yield from _made_in(ast.parse(path.read_text()), place)


def _made_in(tree: ast.AST, place: str) -> Iterator[Made]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", None) or ""
        position, code = MADE_BY.get(name, (len(node.args), None))
        if position >= len(node.args):
            continue
        code = code or _NAMES.get(getattr(node.args[0], "id", ""))
        if isinstance(code, int):
            for message in _texts(node.args[position]):
                yield Made(message, code, f"{place}:{node.lineno}")


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)


def words_of(module: str) -> Iterator[str]:
    """Yield the beginnings, up to the first value, of the messages in a module of the engine."""
    code = (PACKAGE / "native" / "src" / module).read_text().split("#[cfg(test)]")[0]
    for text in re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"//.*", "", code)):
        words = text.partition("{")[0].strip(" :(")
        if " " in words:
            yield words
