"""The boundary of foreign bytes: one error for whatever is wrong with them."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.untrusted.hostile import TEXTS, texts
from wsnode.untrusted.decoding import (
    MAX_WORDS,
    JsonDecoder,
    MalformedError,
    MsgpackDecoder,
    decode_bytes,
    decode_json,
    decode_quantity,
    decode_text,
    require_text,
)

pytestmark = pytest.mark.slow


class Members(msgspec.Struct):
    number: int | None = None
    text: str | None = None
    raw: msgspec.Raw = msgspec.Raw(b"null")
    items: list[dict[str, int]] = []


DECODERS = [
    JsonDecoder(Members).decode,
    JsonDecoder[list[Members]](list[Members]).decode,
    JsonDecoder(int).decode,
    MsgpackDecoder(Members).decode,
    decode_json,
    decode_text,
    require_text,
]


def reason(decode: Callable[[bytes], object], text: bytes) -> str:
    """Return why a text is malformed, nothing if it is not."""
    try:
        decode(text)
    except MalformedError as error:
        return str(error)
    return ""


@given(text=texts)
def test_every_failure_is_one_error_of_few_words(text: bytes) -> None:
    for decode in DECODERS:
        assert len(reason(decode, text)) <= MAX_WORDS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b'"\xff"', "it is not UTF-8: invalid start byte at byte 0"),
        (b"9" * 5000, "out of range"),
        (b"{", "truncated"),
    ],
)
def test_the_error_says_what_is_wrong(text: bytes, words: str) -> None:
    with pytest.raises(MalformedError, match=words):
        decode_json(text)


def test_strings_of_members_that_are_passed_over_are_checked_too() -> None:
    text = b'{"unknown":"\xff"}'
    JsonDecoder(Members).decode(text)
    with pytest.raises(MalformedError):
        require_text(text)


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_a_quantity_is_read(number: int) -> None:
    assert decode_quantity(hex(number)) == number


NO_QUANTITIES = ["", "0x", "1", "0x01", "0x-1", "0x1_0", " 0x1", "0x1\n", "-0x1", "0X1", "0x" + "f" * 5000]


@pytest.mark.parametrize("value", [*NO_QUANTITIES, 1, None, []])
def test_what_is_no_quantity_is_refused(value: object) -> None:
    with pytest.raises(MalformedError, match=r"not a hexadecimal quantity below 2\*\*64"):
        decode_quantity(value)


def test_a_quantity_is_bounded_in_bits() -> None:
    assert decode_quantity(hex(2**256 - 1), bits=256) == 2**256 - 1
    for bits in (64, 256):
        with pytest.raises(MalformedError):
            decode_quantity(hex(2**bits), bits)


@given(st.binary(max_size=40))
def test_bytes_are_read_and_their_size_is_checked(content: bytes) -> None:
    text = "0x" + content.hex()
    assert decode_bytes(text) == decode_bytes(text, len(content)) == content
    with pytest.raises(MalformedError, match=f"{len(content)} bytes instead of"):
        decode_bytes(text, len(content) + 1)


@pytest.mark.parametrize("text", ["", "00", "0x0", "0x 00", "0x0g", "0x00 "])
def test_what_is_no_bytes_is_refused(text: str) -> None:
    with pytest.raises(MalformedError):
        decode_bytes(text)


def test_the_hostile_texts_are_hostile() -> None:
    """Most of them make a plain decoder fail, and in more ways than one."""
    failures = set()
    for text in TEXTS:
        try:
            msgspec.json.decode(text)
        except Exception as error:
            failures.add(type(error))
    assert {RecursionError, UnicodeDecodeError, msgspec.DecodeError} <= failures
