"""Decoding of bytes from others to values: JSON, MessagePack, text, numbers.

Decoders fail in many ways: with errors of their own, on bad UTF-8, beyond the interpreter's recursion limit,
on integers of more digits than it converts. Here each of these becomes a MalformedError. Readers of foreign
bytes catch that one error, so no sender can end a task by an unexpected kind of failure.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")

FAILURES: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
"""Exceptions that decoders raise; errors of UTF-8 are ValueErrors."""
MAX_WORDS: Final = 200
"""Maximum characters of an error's text; the text may repeat input of the sender."""

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Control characters, which a terminal obeys."""

_QUANTITY: Final = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]*)")
_DIGITS: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


class MalformedError(ValueError):
    """Error of foreign bytes that cannot be decoded; `reason` says why in `MAX_WORDS` characters at most."""

    def __init__(self, reason: str) -> None:
        self.reason = reason if len(reason) <= MAX_WORDS else reason[: MAX_WORDS - 1] + "…"
        super().__init__(self.reason)


@contextmanager
def one_error() -> Iterator[None]:
    """Raise any failure of decoding as a MalformedError."""
    try:
        yield
    except MalformedError:
        raise
    except FAILURES as error:
        raise malformed(error) from None


def malformed(error: Exception) -> MalformedError:
    """Return the error of bytes on which a decoder failed."""
    if isinstance(error, RecursionError):
        return MalformedError("it is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return MalformedError(f"it is not UTF-8: {error.reason} at byte {error.start}")
    return MalformedError(str(error) or type(error).__name__)


class _Decoder(Generic[T]):
    """Decoder of untrusted bytes into values of one type; `decode` raises nothing but MalformedError for bad
    bytes.
    """

    __slots__ = ("_decode",)

    _decoder: ClassVar[Callable[..., Any]]
    """Class of msgspec's decoder for the form of the bytes."""

    @overload
    def __init__(self, type_: type[T], dec_hook: Callable[[type, Any], Any] | None = None) -> None: ...
    @overload
    def __init__(self, type_: Any, dec_hook: Callable[[type, Any], Any] | None = None) -> None: ...
    def __init__(self, type_: Any, dec_hook: Callable[[type, Any], Any] | None = None) -> None:
        self._decode: Callable[[Any], T] = self._decoder(type_, dec_hook=dec_hook).decode

    def decode(self, text: bytes | str | msgspec.Raw) -> T:
        """Return the value in `text`.

        Raises:
            MalformedError: It is malformed, or a value of another type.
        """
        try:
            return self._decode(text)
        except FAILURES as error:
            raise malformed(error) from None


class JsonDecoder(_Decoder[T]):
    """Decoder of untrusted JSON text into values of one type."""

    __slots__ = ()
    _decoder = msgspec.json.Decoder


class MsgpackDecoder(_Decoder[T]):
    """Decoder of untrusted MessagePack into values of one type."""

    __slots__ = ()
    _decoder = msgspec.msgpack.Decoder


_ANY: Final = JsonDecoder[Any](Any)


def decode_json(text: bytes | str | msgspec.Raw) -> Any:
    """Return any JSON value.

    Raises:
        MalformedError: It is no JSON.
    """
    return _ANY.decode(text)


def decode_text(text: bytes) -> str:
    """Return UTF-8 as a string.

    Raises:
        MalformedError: It is no UTF-8.
    """
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise malformed(error) from None


def require_text(text: bytes | str) -> None:
    """Check that bytes are UTF-8. Decoders that pass over a member do not check its strings.

    Raises:
        MalformedError: They are not.
    """
    if isinstance(text, bytes) and not text.isascii():
        decode_text(text)


def printable(text: str) -> str:
    """Return a text with escapes in place of unprintable characters, control characters of terminals
    included.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def excerpt(value: object, characters: int = 40) -> str:
    """Return the first `characters` of a decoded value's `repr`; of a list or an object only its kind.

    `repr` fails on values that are nested nearly as deep as a decoder allows.
    """
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value)[:characters]


def decode_quantity(value: object, bits: int = 64) -> int:
    """Return the integer of a hexadecimal quantity (`0x`, no leading zeros), below 2**bits.

    `int` would take signs, underscores, white space and any number of digits.

    Raises:
        MalformedError: The value is no such quantity.
    """
    if not isinstance(value, str) or len(value) > 2 + bits // 4 or not _QUANTITY.fullmatch(value):
        raise MalformedError(f"not a hexadecimal quantity below 2**{bits}: {excerpt(value)}")
    return int(value, 16)


def decode_bytes(text: str, size: int | None = None) -> bytes:
    """Return the bytes of hexadecimal digits after `0x`, exactly `size` of them unless that is None.

    Raises:
        MalformedError: The text is no such hex, or has another size.
    """
    if not _DIGITS.fullmatch(text):
        raise MalformedError(f"not 0x and pairs of hexadecimal digits: {text!r:.40}")
    if size is not None and len(text) != 2 + 2 * size:
        raise MalformedError(f"{len(text) // 2 - 1} bytes instead of {size}")
    return bytes.fromhex(text[2:])
