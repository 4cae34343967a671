"""Outcome of a reply, with minimal parsing."""

import re
from typing import Any

from wsnode.untrusted.decoding import MalformedError, decode_json

_HEAD = re.compile(rb'\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,\s*"(result|error)"')
_TAIL = re.compile(rb'"id"\s*:\s*(\d+)\s*\}\s*\Z')
_START = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"(result|error)"')
HEAD_BYTES = 80
TAIL_BYTES = 40


def outcome(message: bytes) -> tuple[int | None, bool]:
    """Return the id of a reply, None for other messages, and True if it is an error."""
    if head := _HEAD.match(message, 0, HEAD_BYTES):
        return int(head[1]), head[2] == b"error"
    # Some nodes put the id last.
    start, tail = (
        _START.match(message, 0, HEAD_BYTES),
        _TAIL.search(message, max(0, len(message) - TAIL_BYTES)),
    )
    if start and tail:
        return int(tail[1]), start[1] == b"error"
    return _read(message)


def _read(message: bytes) -> tuple[int | None, bool]:
    try:
        reply = decode_json(message)
    except MalformedError:
        return None, True
    if not isinstance(reply, dict) or not isinstance(reply.get("id"), int):
        return None, False
    return reply["id"], "error" in reply


def read_reply(message: bytes) -> dict[str, Any]:
    """Return the members of a reply.

    Raises:
        MalformedError: The message is no JSON object.
    """
    reply = decode_json(message)
    if not isinstance(reply, dict):
        raise MalformedError("a reply is no object")
    return reply


def error_text(message: bytes) -> str:
    """Return code and message of an error reply as text, or the reason why it cannot be read."""
    try:
        error = read_reply(message).get("error")
    except MalformedError as reason:
        return f"no JSON-RPC: {reason}"
    return f"{error.get('code')} {error.get('message')}" if isinstance(error, dict) else str(error)
