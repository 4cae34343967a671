"""Messages of Hardhat's `console.sol`, from the input of a call of the console to text.

The functions are `log` of up to four numbers, strings, truth values and addresses in any order, of one signed
number, of bytes, and of 1 to 32 bytes. A string that comes first may have placeholders, filled as by
`console.log` of node.js and anvil.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Final, TypeAlias

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.blocks import keccak256


class Owner(bytes):
    """Argument of a contract's `console.log` with the type address, 20 bytes; it is printed with a checksum,
    unlike other bytes.
    """


Value: TypeAlias = int | str | bool | bytes
"""Number, text, truth value, or bytes, which may be an address."""

CONSOLE: Final = "0x000000000000000000636f6e736f6c652e6c6f67"
"""Address of the console that contracts call; it has no code."""
MAX_ARGUMENTS: Final = 4
_KINDS: Final = ("uint256", "string", "bool", "address")
_OLD_KINDS: Final = {"uint256": "uint", "int256": "int"}
"""Names in the selectors of early versions of the library."""
_PLACEHOLDER: Final = re.compile(r"%(?:[sdiox%]|[0-9]*e)")
_NO_NUMBER: Final = "NaN"


def line_of(message: bytes) -> str | None:
    """Return the text of a message, in one or several lines; None if the library has no such function."""
    kinds = _functions().get(message[:4])
    if kinds is None:
        return None
    try:
        values = list(_values(kinds, message[4:]))
    except ValueError:
        return None
    first = values[0] if values else ""
    if isinstance(first, str):
        return _filled(first, values[1:])
    return " ".join(_plain(value) for value in values)


@cache
def _functions() -> dict[bytes, tuple[str, ...]]:
    """Return the kinds of the arguments of each function, by its selector of 4 bytes."""
    several = (kinds for count in range(MAX_ARGUMENTS + 1) for kinds in product(_KINDS, repeat=count))
    signatures = dict.fromkeys(
        (
            *several,
            ("int256",),
            ("string", "int256"),
            ("bytes",),
            *((f"bytes{size}",) for size in range(1, 33)),
        )
    )
    functions = {}
    for kinds in signatures:
        for names in ([_OLD_KINDS.get(kind, kind) for kind in kinds], kinds):
            functions[keccak256(f"log({','.join(names)})".encode())[:4]] = kinds
    return functions


def _values(kinds: Sequence[str], arguments: bytes) -> Iterator[Value]:
    """Yield the values of an ABI-encoded list.

    Raises:
        ValueError: The bytes are shorter than such a list.
    """
    for place, kind in enumerate(kinds):
        word = _slice(arguments, 32 * place, 32)
        if kind in ("string", "bytes"):
            start = int.from_bytes(word, "big")
            content = _slice(arguments, start + 32, int.from_bytes(_slice(arguments, start, 32), "big"))
            yield content.decode(errors="replace") if kind == "string" else content
        elif kind == "address":
            yield Owner(word[12:])
        elif kind == "bool":
            yield any(word)
        elif kind.startswith("bytes"):
            yield word[: int(kind.removeprefix("bytes"))]
        else:
            yield int.from_bytes(word, "big", signed=kind == "int256")


def _slice(content: bytes, start: int, size: int) -> bytes:
    if start + size > len(content):
        raise ValueError(f"{len(content)} bytes of arguments, want at least {start + size}")
    return content[start : start + size]


def _filled(text: str, values: Sequence[Value]) -> str:
    """Return a text with values in its placeholders, and further values after it."""
    if not values:
        return text.replace("%%", "%")
    rest = iter(values)

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = next(rest, None)
        return found[0] if value is None else _formatted(value, found[0][-1], found[0][1:-1])

    filled = [_PLACEHOLDER.sub(fill, text)] if text else []
    return " ".join((*filled, *map(_plain, rest)))


def _plain(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return checksummed(value) if isinstance(value, Owner) else f"0x{value.hex()}"
    return str(value)


def _formatted(value: Value, form: str, digits: str) -> str:
    """Return a value as text in the form of a placeholder."""
    if form == "s":
        return _plain(value)
    if form == "o":
        return _plain(value) if type(value) is int else f"'{_plain(value)}'"
    if isinstance(value, bool):
        return str(int(value)) if form == "d" else _NO_NUMBER
    if isinstance(value, bytes):
        return _plain(value) if form == "x" else _NO_NUMBER
    if isinstance(value, str):
        return _NO_NUMBER
    if form == "x":
        return f"{'-' if value < 0 else ''}0x{abs(value):x}"
    return _scientific(value, digits) if form == "e" else str(value)


def _scientific(value: int, digits: str) -> str:
    """Return a number as digits before and after a point, and a power of ten."""
    sign, text = "-" if value < 0 else "", str(abs(value))
    power = len(text) - 1
    after = text[1:].rstrip("0")
    if digits:
        power = int(digits)
        text = text.rjust(power + 1, "0")
        text, after = text[: len(text) - power], text[len(text) - power :].rstrip("0")
        return f"{sign}{text}{f'.{after}' if after else ''}"
    return f"{sign}{text[0]}{f'.{after}' if after else ''}e{power}"
