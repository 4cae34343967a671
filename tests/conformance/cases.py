"""Conversations in `.io` files, and how a reply is compared with the expected one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

Transport = Callable[[str], str | None]
"""Sends one request and returns its reply, None if there is none."""


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
        return {json.loads(exchange.request)["method"] for exchange in self.exchanges}


def read_cases(folder: Path) -> list[Case]:
    """Return every case under `folder`, by name."""
    return [read_case(path, folder) for path in sorted(folder.rglob("*.io"))]


def read_case(path: Path, folder: Path) -> Case:
    """Return the case in a file: `>> request`, `<< reply`, `// comment`."""
    requests, replies, shape_only = [], [], False
    for line in path.read_text().splitlines():
        mark, text = line[:2], line[2:].strip()
        if mark == ">>":
            requests.append(text)
        elif mark == "<<":
            replies.append(text)
        elif mark == "//":
            shape_only |= not requests and text.startswith("speconly:")
        elif line.strip():
            raise ValueError(f"{path}: bad line {line[:60]!r}")
    if len(requests) != len(replies):
        raise ValueError(f"{path}: {len(requests)} requests, {len(replies)} replies")
    name = str(path.relative_to(folder).with_suffix(""))
    return Case(name, list(map(Exchange, requests, replies)), shape_only)


def split(case: Case) -> Iterator[Case]:
    """Yield a case for each exchange, named after its arguments."""
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        params = json.dumps(request["params"], separators=(",", ":"))
        yield Case(f"{request['method']}({params[:90]})#{request['id']}", [exchange], case.shape_only)


def disagreement(case: Case, transport: Transport) -> str | None:
    """Return the first difference from what `case` expects, error messages included."""
    for exchange in case.exchanges:
        reply = transport(exchange.request)
        if reply is None:
            return "no reply"
        got, want = json.loads(reply), json.loads(exchange.reply)
        found = shape_difference(got, want) if case.shape_only else difference(got, want)
        if found:
            return found
    return None


def difference(got: Any, want: Any, where: str = "$") -> str | None:
    """Return the first place where two values differ; numbers compare by value, members in any order."""
    if _kind(got) != _kind(want):
        return f"{where}: got {_short(got)}, want {_short(want)}"
    if isinstance(want, dict):
        return _first(_member_differences(got, want, where))
    if isinstance(want, list):
        if len(got) != len(want):
            return f"{where}: {len(got)} elements, want {len(want)}"
        pairs = enumerate(zip(got, want, strict=True))
        return _first(difference(one, other, f"{where}[{index}]") for index, (one, other) in pairs)
    return None if got == want else f"{where}: got {_short(got)}, want {_short(want)}"


def _member_differences(got: dict[str, Any], want: dict[str, Any], where: str) -> Iterator[str | None]:
    for name, value in want.items():
        if name not in got:
            yield f"{where}.{name}: missing, got {_short(got)}"
        else:
            yield difference(got[name], value, f"{where}.{name}")
    for name in got.keys() - want.keys():
        yield f"{where}.{name}: unexpected, {_short(got[name])}"


def shape_difference(got: Any, want: Any) -> str | None:
    """Return the first place where two values differ in keys or JSON types; null fits everything."""
    return _shape(got, want, known=_names_in(want), optional=frozenset(), where="$")


def _shape(got: Any, want: Any, *, known: set[str], optional: frozenset[str], where: str) -> str | None:
    if got is None or want is None:
        return None
    if _kind(got) != _kind(want):
        return f"{where}: got a {_kind(got)}, want a {_kind(want)}"
    if isinstance(want, list):
        element, loose = _merged(want)
        return _first(
            _shape(item, element, known=known, optional=loose, where=f"{where}[{index}]")
            for index, item in enumerate(got)
        )
    if not isinstance(want, dict):
        return None
    if want and all(name.startswith("0x") for name in want):
        return _first(None if name.startswith("0x") else f"{where}: key {name!r}" for name in got)
    return _first(_shape_members(got, want, known, optional, where))


def _shape_members(
    got: dict[str, Any], want: dict[str, Any], known: set[str], optional: frozenset[str], where: str
) -> Iterator[str | None]:
    for name, value in want.items():
        if name in got:
            yield _shape(got[name], value, known=known, optional=frozenset(), where=f"{where}.{name}")
        elif name not in optional:
            yield f"{where}.{name}: missing, got {_short(got)}"
    for name in got.keys() - want.keys() - known:
        yield f"{where}.{name}: unexpected, {_short(got[name])}"


def _merged(items: list[Any]) -> tuple[Any, frozenset[str]]:
    """Return one element for all of a list, and the members that only some of them have."""
    if not items or not all(isinstance(item, dict) for item in items):
        return (items[0] if items else None), frozenset()
    merged: dict[str, Any] = {}
    for item in items:
        for name, value in item.items():
            if name not in merged or (
                isinstance(value, list | dict) and len(value) > len(merged[name] or ())
            ):
                merged[name] = value
    return merged, frozenset(name for name in merged if not all(name in item for item in items))


def _names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_names_in, value.values()))
    return set[str]().union(*map(_names_in, value)) if isinstance(value, list) else set()


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _first(findings: Iterator[str | None] | Any) -> str | None:
    return next(filter(None, findings), None)


def _short(value: Any) -> str:
    return json.dumps(value)[:120]
