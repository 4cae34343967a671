"""Field elements: 32 bytes inside, canonical hex outside."""

import re
from typing import Final

PRIME: Final = 2**251 + 17 * 2**192 + 1
FELT_BYTES: Final = 32
MAX_SHORT_STRING: Final = 31
"""Maximum number of characters of a short string, an ASCII text in one felt."""
ZERO: Final = bytes(FELT_BYTES)
_CHAIN_ID: Final = re.compile(rf"[!-~]{{1,{MAX_SHORT_STRING}}}")
_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


class Felt(bytes):
    """A field element: a hex number below the field's prime.

    Held as 32 bytes, big-endian.
    """

    __slots__ = ()


def felt_bytes(text: str) -> bytes:
    """Return the element written as `text`; padding and upper-case digits are accepted.

    Raises:
        ValueError: It is no hex number below the prime.
    """
    digits = text[2:]
    if text[:2] not in ("0x", "0X") or not digits:
        raise ValueError(f"a felt is a hex number with 0x before it, got {text[:80]!r}")
    # int() would accept underscores, blanks and a sign.
    if len(digits) > 64 or not _DIGITS.issuperset(digits):
        raise ValueError(f"a felt has 1 to 64 hex digits, got {text[:80]!r}")
    value = int(digits, 16)
    if value >= PRIME:
        raise ValueError(f"a felt is below 2^251 + 17*2^192 + 1, got {text}")
    return value.to_bytes(FELT_BYTES, "big")


def felt_text(felt: bytes) -> str:
    """Return the canonical hex of `felt`: no leading zeros, lower case."""
    return "0x" + (felt.hex().lstrip("0") or "0")


def number_felt(number: int) -> bytes:
    """Return `number` as an element.

    Raises:
        ValueError: It is negative or not below the prime.
    """
    if not 0 <= number < PRIME:
        raise ValueError(f"{number} is no felt")
    return number.to_bytes(FELT_BYTES, "big")


def short_string(felt: bytes) -> str:
    """Return the text of a short string: SN_MAIN for 0x534e5f4d41494e.

    Raises:
        ValueError: The element is no text of printable ASCII characters.
    """
    text = felt.lstrip(b"\0").decode("ascii")
    if not text or not text.isprintable():
        raise ValueError(f"{felt_text(felt)} is no short string")
    return text


def chain_id_text(text: str) -> str:
    """Return a chain's id in text, given in text or in hex: SN_MAIN for itself and for 0x534e5f4d41494e.

    Raises:
        ValueError: It is neither 1 to 31 printable ASCII characters other than space nor the same in hex.
    """
    try:
        chain_id = short_string(felt_bytes(text)) if text[:2] in ("0x", "0X") else text
    except ValueError:
        chain_id = ""
    if not _CHAIN_ID.fullmatch(chain_id):
        raise ValueError(
            f"a chain's id is 1 to {MAX_SHORT_STRING} printable ASCII characters other than space, "
            f"or the same in hex, got {text[:80]!r}"
        )
    return chain_id


def decode_felt(value: object) -> Felt:
    """Return a caller's JSON value as an element.

    Raises:
        ValueError: It is no string or no felt.
    """
    if not isinstance(value, str):
        raise ValueError("a felt is a string")  # noqa: TRY004 - the codec passes on a ValueError's text
    return Felt(felt_bytes(value))


def is_canonical(text: str) -> bool:
    """Return True if `text` is a felt in canonical form."""
    try:
        return felt_text(felt_bytes(text)) == text
    except ValueError:
        return False
