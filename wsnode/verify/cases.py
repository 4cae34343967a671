"""Conversations in `.io` files."""

from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.untrusted.decoding import MalformedError, decode_json, decode_text
from wsnode.untrusted.files import read_file

MAX_BYTES: Final = 256 << 20
"""Maximum number of bytes of a file."""


class CaseFileError(Exception):
    """Error of a file that holds no conversation (requests with expected replies); the message names the file
    and the reason.
    """


class Exchange(msgspec.Struct, frozen=True):
    """Request and its expected reply, both JSON."""

    request: str
    reply: str


class Case(msgspec.Struct, frozen=True):
    """Conversation read from a file: requests with expected replies. With `shape_only` only keys and JSON
    types of the replies are compared.
    """

    name: str
    exchanges: list[Exchange]
    shape_only: bool = False

    @property
    def methods(self) -> set[str]:
        return {method for exchange in self.exchanges for method in methods_of(exchange.request)}


def methods_of(text: str) -> list[str]:
    """Return the methods that a request or a batch names; an empty list for text that is not JSON."""
    try:
        request: Any = decode_json(text)
    except MalformedError:
        return []
    requests = request if isinstance(request, list) else [request]
    return [str(each["method"]) for each in requests if isinstance(each, dict) and "method" in each]


def read_cases(folder: Path) -> list[Case]:
    """Return every case under `folder`, by name.

    Raises:
        CaseFileError: A file is no conversation.
    """
    return [read_case(path, folder) for path in sorted(folder.rglob("*.io"))]


def read_case(path: Path, folder: Path) -> Case:
    """Return the case in a file of lines `>> request`, `<< reply`, `// comment`.

    Raises:
        CaseFileError: It has another line, or a request without a reply.
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
            raise CaseFileError(
                f"{path}: bad line {line[:60]!r}: expected >> REQUEST, then << REPLY, or // COMMENT"
            )
    if len(requests) != len(replies):
        raise CaseFileError(f"{path}: {len(requests)} requests, {len(replies)} replies")
    name = str(path.relative_to(folder).with_suffix(""))
    return Case(name, list(map(Exchange, requests, replies)), shape_only)


def _lines(path: Path) -> list[str]:
    try:
        return decode_text(read_file(path, MAX_BYTES)).splitlines()
    except MalformedError as error:
        raise CaseFileError(f"{path}: {error}") from error


def _checked(text: str, path: Path) -> str:
    try:
        decode_json(text)
    except MalformedError as error:
        raise CaseFileError(f"{path}: a reply is no JSON: {error}") from error
    return text
