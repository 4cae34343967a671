"""JSON values to bytes and numbers, with geth's error messages, which clients' error handling reads."""

import re
from binascii import unhexlify
from typing import Any, Final

MISSING_PREFIX = "hex string without 0x prefix"
ODD_LENGTH = "hex string of odd length"
INVALID = "invalid hex string"
EMPTY = "empty hex string"
LEADING_ZERO = "hex number with leading zero digits"
_DIGITS: Final = re.compile(r"[0-9a-fA-F]*")

ARGUMENT = "Go value"
"""Name in Go's JSON decoder for the place of a whole argument."""

_KINDS = {str: "string", int: "number", float: "number", bool: "bool", list: "array", dict: "object"}


def kind(value: Any) -> str:
    """Return Go's word for the kind of a JSON value."""
    return _KINDS.get(type(value), "null")


def mismatch(problem: str, type_name: str, place: str = ARGUMENT) -> ValueError:
    """Return Go's error for a value at `place` that is no `type_name`."""
    return ValueError(f"json: cannot unmarshal {problem} into {place} of type {type_name}")


def field(struct: str, path: str) -> str:
    """Return the place of a member inside an argument."""
    return f"Go struct field {struct}.{path}"


def decode_array(value: Any, type_name: str, place: str = ARGUMENT) -> list[Any]:
    """Return a list.

    Raises:
        ValueError: It is something else.
    """
    if type(value) is not list:
        raise mismatch(kind(value), type_name, place)
    return value


def decode_fixed(value: Any, size: int, type_name: str, place: str = ARGUMENT) -> bytes:
    """Return the `size` bytes that `value` writes as hex.

    Raises:
        ValueError: It is something else.
    """
    if type(value) is str and len(value) == 2 * size + 2 and value[:2] == "0x":
        # This is by far the commonest form. Its errors are explained by the slower steps below.
        try:
            return unhexlify(value[2:])
        except ValueError:
            pass
    digits = _digits(value, type_name, place)
    if len(digits) != 2 * size:
        raise ValueError(f"hex string has length {len(digits)}, want {2 * size} for {type_name}")
    return _from_hex(digits, type_name, place)


def decode_bytes(value: Any, type_name: str = "hexutil.Bytes", place: str = ARGUMENT) -> bytes:
    """Return the bytes that `value` writes as hex; the empty string stands for no bytes.

    Raises:
        ValueError: It is something else.
    """
    return _from_hex(_digits(value, type_name, place), type_name, place)


def decode_quantity(value: Any, bits: int, type_name: str, place: str = ARGUMENT) -> int:
    """Return the number below 2**`bits` that `value` writes as hex; the empty string is 0.

    Raises:
        ValueError: It is something else.
    """
    if type(value) is not str:
        raise mismatch("non-string", type_name, place)
    try:
        return parse_quantity(value, bits) if value else 0
    except ValueError as error:
        raise mismatch(str(error), type_name, place) from None


def parse_quantity(text: str, bits: int) -> int:
    """Return the number below 2**`bits` that `text` writes as a quantity.

    Raises:
        ValueError: It is no such number; the message gives the reason.
    """
    if text[:2] not in {"0x", "0X"}:
        raise ValueError(MISSING_PREFIX if text else EMPTY)
    digits = text[2:]
    if len(digits) > 1 and digits[0] == "0":
        raise ValueError(LEADING_ZERO)
    if len(digits) > bits // 4:
        raise ValueError(f"hex number > {bits} bits")
    try:
        # int() would accept signs, underscores and the digits of every script.
        if digits.isalnum() and digits.isascii():
            return int(digits, 16)
    except ValueError:
        pass
    raise ValueError(INVALID if digits else 'hex string "0x"')


def parse_bytes(text: str) -> bytes:
    """Return the bytes in the hexadecimal `text`, which must not be empty.

    Raises:
        ValueError: The text is malformed; the message gives the reason.
    """
    if text[:2] not in {"0x", "0X"}:
        raise ValueError(MISSING_PREFIX if text else EMPTY)
    digits = text[2:]
    try:
        return unhexlify(digits)
    except ValueError:
        odd = len(digits) % 2 and _DIGITS.fullmatch(digits)
        raise ValueError(ODD_LENGTH if odd else INVALID) from None


def _digits(value: Any, type_name: str, place: str) -> str:
    if type(value) is not str:
        raise mismatch("non-string", type_name, place)
    if value[:2] not in {"0x", "0X"} and value:
        raise mismatch(MISSING_PREFIX, type_name, place)
    if len(value) % 2:
        raise mismatch(ODD_LENGTH, type_name, place)
    return value[2:]


def _from_hex(digits: str, type_name: str, place: str) -> bytes:
    try:
        # `unhexlify`, unlike `bytes.fromhex`, accepts no white space.
        return unhexlify(digits)
    except ValueError:
        raise mismatch(INVALID, type_name, place) from None
