"""The text of cursors: bytes behind a version, which a client hands back as it got them."""

import base64
from typing import Any


def encode_cursor(content: bytes) -> str:
    """Return the text of a cursor; `content` begins with its version."""
    return base64.urlsafe_b64encode(content).decode()


def decode_cursor(text: Any, version: bytes, size: int) -> bytes:
    """Return the `size` bytes behind the version that a cursor's text writes.

    Raises:
        ValueError: It writes none, or one of another kind or version.
    """
    try:
        content = base64.b64decode(text, b"-_", validate=True)
    except (TypeError, ValueError):
        content = b""
    if len(content) != len(version) + size or not content.startswith(version):
        raise ValueError("invalid cursor")
    return content[len(version) :]
