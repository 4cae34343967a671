"""Bytes that nobody honest sends, by themselves and as the value of a member."""

import struct
from typing import Final

from hypothesis import strategies as st

DEEP: Final = 100_000

VALUES: Final = (
    b"[" * DEEP + b"]" * DEEP,
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    b"[" * DEEP,
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
    b'"\\ud800"',
    b'"\\u0000"',
    b"9" * 5000,
    b"-" + b"9" * 5000,
    b"1e400",
    b"1e308",
    b"NaN",
    b'"0x' + b"f" * 5000 + b'"',
    b'"0x-1"',
    b'"0x_1"',
    b'" 0x1 "',
    b'"0x1' + b"0" * 16 + b'"',
    b"null",
    b"true",
    b"{}",
    b"[]",
    b'""',
    b'"' + b"a" * 100_000 + b'"',
    b"",
)
TEXTS: Final = (
    *VALUES,
    b"\x00" * 100,
    b"\xff" * 100,
    b"\xef\xbb\xbf{}",
    b"\x91" * DEEP,
    b"\x28\xb5\x2f\xfd" + b"\x00" * 100,
    b"\x1f\x8b" + b"\x00" * 100,
)

values = st.sampled_from(VALUES)
"""What may stand where a JSON value does."""
texts = st.one_of(st.sampled_from(TEXTS), st.binary(max_size=300), values)
"""What may come instead of a whole message."""


def frame(payload: bytes, first: int) -> bytes:
    """Return a frame of a server, whose first byte has any bits."""
    size = len(payload)
    if size < 126:
        return bytes([first, size]) + payload
    if size < 1 << 16:
        return bytes([first, 126]) + struct.pack("!H", size) + payload
    return bytes([first, 127]) + struct.pack("!Q", size) + payload
