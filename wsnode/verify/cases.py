"""Conversations in `.io` files."""

from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.untrusted.decoding import MalformedError, decode_json, decode_text
from wsnode.untrusted.files import read_file

MOST_BYTES: Final = 256 << 20
"""Of a file."""


class CaseFileError(Exception):
    """A file is no conversation; the message names it and says why."""


class Exchange(msgspec.Struct, frozen=True):
    """A request and the reply that is expected."""

    request: str
    reply: str


class Case(msgspec.Struct, frozen=True):
    """A file's conversation; of a `shape_only` one only keys and JSON types count."""

    name: str
    exchanges: list[Exchange]
    shape_only: bool = False

    @property
    def methods(self) -> set[str]:
        """Return the methods that are called."""
        return {method for exchange in self.exchanges for method in methods_of(exchange.request)}


def methods_of(text: str) -> list[str]:
    """Return the methods that a request or a batch names, none of text that is no JSON."""
    try:
        request: Any = decode_json(text)
    except MalformedError:
        return []
    requests = request if isinstance(request, list) else [request]
    return [str(each["method"]) for each in requests if isinstance(each, dict) and "method" in each]


def read_cases(folder: Path) -> list[Case]:
    """Return every case under `folder`, by name.

    Raises:
        CaseFileError: A file is not as it should be.
    """
    return [read_case(path, folder) for path in sorted(folder.rglob("*.io"))]


def read_case(path: Path, folder: Path) -> Case:
    """Return the case in a file: `>> request`, `<< reply`, `// comment`.

    Raises:
        CaseFileError: It holds something else, or a request without a reply.
    """
    requests, replies = list[str](), list[str]()
    shape_only = False
    for line in _lines(path):
        mark, text = line[:2], line[2:].strip()
        if mark == ">>":
            requests.append(text)
        elif mark == "<<" and len(replies) < len(requests):
            replies.append(_checked(text, path))
        elif mark == "//":
            shape_only |= not requests and text.startswith("speconly:")
        elif line.strip():
            raise CaseFileError(f"{path}: bad line {line[:60]!r}")
    if len(requests) != len(replies):
        raise CaseFileError(f"{path}: {len(requests)} requests, {len(replies)} replies")
    name = str(path.relative_to(folder).with_suffix(""))
    return Case(name, list(map(Exchange, requests, replies)), shape_only)


def _lines(path: Path) -> list[str]:
    try:
        return decode_text(read_file(path, MOST_BYTES)).splitlines()
    except MalformedError as error:
        raise CaseFileError(f"{path}: {error}") from error


def _checked(text: str, path: Path) -> str:
    try:
        decode_json(text)
    except MalformedError as error:
        raise CaseFileError(f"{path}: a reply is no JSON: {error}") from error
    return text
