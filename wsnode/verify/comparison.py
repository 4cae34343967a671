"""Differences between a reply and the expected one."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from wsnode.untrusted.decoding import MalformedError, decode_json, one_error
from wsnode.verify.cases import methods_of

METHOD_NOT_FOUND = -32601
ABSENT: Final = "<absent>"
Found = TypeVar("Found")


def reply_difference(
    request: str, reply: str | None, expected: str, *, shape_only: bool = False, messages: bool = True
) -> str | None:
    """Return the first difference of a reply's text from the expected one, None if there is none.

    Without `messages`, the wording of errors may differ where both sides have one; codes and data may not.
    """
    if reply is None:
        return "no reply"
    try:
        got, want = decode_json(reply), decode_json(expected)
        # A decoded reply may still be nested too deeply for the recursive comparison.
        with one_error():
            return _difference_of(request, got, want, shape_only=shape_only, messages=messages)
    except MalformedError as error:
        return f"the reply is no JSON: {reply[:80]!r}: {error}"


def _difference_of(request: str, got: Any, want: Any, *, shape_only: bool, messages: bool) -> str | None:
    if code_of(got) == METHOD_NOT_FOUND != code_of(want):
        return f"the node has no method {', '.join(methods_of(request))}"
    if shape_only:
        return shape_difference(got, want)
    found = difference(got, want, messages=messages)
    return None if found is None else str(found)


def code_of(reply: Any) -> Any:
    """Return the code of an error reply, None for any other value."""
    error = reply.get("error") if isinstance(reply, dict) else None
    return error.get("code") if isinstance(error, dict) else None


class Difference(NamedTuple):
    """Place where a reply differs from the wanted one, with both values there; each may be `ABSENT`."""

    where: str
    got: Any
    want: Any
    words: str = ""
    """Description of the difference, where the values do not show it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.words or f'got {short(self.got)}, want {short(self.want)}'}"


def difference(got: Any, want: Any, where: str = "$", *, messages: bool = True) -> Difference | None:
    """Return the first place where two values differ, None if they are equal; numbers compare by value,
    members in any order.

    Without `messages`, the message of an `error` object is not compared where both sides have one.
    """
    if _kind(got) != _kind(want):
        return Difference(where, got, want)
    if isinstance(want, dict):
        return _first(_member_differences(got, want, where, messages=messages))
    if isinstance(want, list):
        if len(got) != len(want):
            return Difference(where, got, want, f"{len(got)} elements, want {len(want)}")
        pairs = enumerate(zip(got, want, strict=True))
        return _first(
            difference(one, other, f"{where}[{index}]", messages=messages) for index, (one, other) in pairs
        )
    return None if got == want else Difference(where, got, want)


def _member_differences(
    got: dict[str, Any], want: dict[str, Any], where: str, *, messages: bool
) -> Iterator[Difference | None]:
    for name, value in want.items():
        place = f"{where}.{name}"
        if name not in got:
            yield Difference(place, ABSENT, value, f"missing, got {short(got)}")
            continue
        found = got[name]
        if name == "error" and not messages:
            found, value = without_messages(found, value)
        yield difference(found, value, place, messages=messages)
    for name, value in got.items():
        if name not in want:
            yield Difference(f"{where}.{name}", value, ABSENT, f"unexpected, {short(value)}")


def without_messages(got: Any, want: Any) -> tuple[Any, Any]:
    """Return two errors with empty messages if both have one, else as they are."""
    if not all(isinstance(each, dict) and "message" in each for each in (got, want)):
        return got, want
    return {**got, "message": ""}, {**want, "message": ""}


def shape_difference(got: Any, want: Any) -> str | None:
    """Return the first place where two values differ in keys or JSON types, as a sentence; None if they have
    the same shape. Null has every shape.
    """
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
            loose = _lacked_by_others(value, want)
            yield _shape(got[name], value, known=known, optional=loose, where=f"{where}.{name}")
        elif name not in optional:
            yield f"{where}.{name}: missing, got {short(got)}"
    for name in got.keys() - want.keys() - known:
        yield f"{where}.{name}: unexpected, {short(got[name])}"


def _lacked_by_others(value: Any, siblings: dict[str, Any]) -> frozenset[str]:
    """Return the members of `value` that similar objects among `siblings` lack."""
    if not isinstance(value, dict):
        return frozenset()
    alike = [other for other in siblings.values() if isinstance(other, dict) and other]
    return frozenset(value).difference(
        frozenset(value).intersection(*(other for other in alike if other.keys() <= value.keys()))
    )


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


def _first(findings: Iterable[Found | None]) -> Found | None:
    return next(filter(None, findings), None)


def short(value: Any, length: int = 120) -> str:
    """Return a value as JSON text, cut to `length` characters."""
    text = json.dumps(value)
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"
