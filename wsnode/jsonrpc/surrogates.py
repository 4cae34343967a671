r"""Texts with escapes that stand for half a character, as `\ud800`: Go reads them as U+FFFD, and so do we.

A repaired text has the original's length, so that what has a place in one has the same place in the other.
"""

import re
from collections.abc import Sequence

import msgspec

_decode_key = msgspec.json.Decoder(str).decode

# Every escape is consumed in turn, so that a backslash which is itself escaped starts nothing.
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s{}\[\]:,"]+', re.S)
_OPENING = re.compile(rb"\s*\[\s*")
_COMMA = re.compile(rb"\s*,\s*")


def replace_lone_surrogates(text: bytes) -> bytes:
    """Return `text` of the same length with each unpaired surrogate escape read as U+FFFD."""
    # One letter is found ten times as fast as two.
    if b"\\" not in text or b"\\u" not in text:
        return text
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)


def items_as_sent(text: bytes, repaired: bytes, items: Sequence[bytes]) -> list[bytes]:
    """Return what stands in `text` where the array `repaired` has its items."""
    found, position, between = [], 0, _OPENING
    for item in items:
        if match := between.match(repaired, position):
            start = match.end()
            position = start + len(item)
            found.append(text[start:position])
        between = _COMMA
    return found


def identity_as_sent(text: bytes, identity: bytes) -> bytes:
    """Return the id that stands in the request `text` where the repaired one has `identity`."""
    if rb"\ufffd" not in identity:
        return identity
    depth, member, before = 0, b"", b""
    for match in _TOKENS.finditer(text):
        token = match[0]
        depth += (token in b"{[") - (token in b"}]")
        if depth == 1 and before == b":" and _decode_key(replace_lone_surrogates(member)) == "id":
            identity = token
        if depth == 1 and token == b":":
            member = before
        before = token
    return identity
