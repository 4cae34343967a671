"""Durations in Go's format."""

import re
from typing import Final

from wsnode.jsonrpc.errors import shortened

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_UNIT: Final = re.compile(r"[^.0-9]*")
LONGEST: Final = 100
"""Characters of a duration; Go parses longer ones."""


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as `1m30s`.

    Raises:
        ValueError: It is no duration, in Go's words.
    """
    if len(text) > LONGEST:
        raise ValueError(f'time: invalid duration "{shortened(text)}"')
    sign = -1.0 if text[:1] == "-" else 1.0
    position = 1 if text[:1] in {"-", "+"} else 0
    if text[position:] == "0":
        return 0.0
    total = 0.0
    while position < len(text) or text in {"", "-", "+"}:
        number = _NUMBER.match(text, position)
        if number is None:
            raise ValueError(f'time: invalid duration "{text}"')
        unit = _UNIT.match(text, number.end())
        assert unit is not None, "it matches nothing, too"
        if not unit[0]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit[0] not in _SECONDS:
            raise ValueError(f'time: unknown unit "{unit[0]}" in duration "{text}"')
        total += float(number[0]) * _SECONDS[unit[0]]
        position = unit.end()
    return sign * total
