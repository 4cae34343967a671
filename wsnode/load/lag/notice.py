"""Notifications of blocks and of logs, with as much of them as tells one from another."""

from typing import Final

import msgspec

HEADS: Final = "newHeads"
LOGS: Final = "logs"


class Notice(msgspec.Struct, frozen=True):
    """A notification: of which kind it is, of which block, and its place in it."""

    kind: str
    block: str
    """Hash."""
    place: str = ""
    """Of a log: its index, and whether it was taken back."""


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request: why it was refused, if it was."""

    identity: int
    refusal: str | None


class _Result(msgspec.Struct, rename="camel"):
    hash: str | None = None
    block_hash: str | None = None
    log_index: str | None = None
    removed: bool = False


class _Params(msgspec.Struct):
    result: _Result


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Message(msgspec.Struct):
    id: int | None = None
    params: _Params | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Message)


def read(message: bytes) -> Notice | Reply | None:
    """Return what a message says, None if it is neither a block's, nor a log's, nor an answer."""
    try:
        found = _decoder.decode(message)
    except msgspec.DecodeError:
        return None
    if found.params is not None:
        return _notice(found.params.result)
    if found.id is None:
        return None
    error = found.error
    return Reply(found.id, None if error is None else f"{error.code} {error.message}")


def _notice(result: _Result) -> Notice | None:
    if result.block_hash is not None and result.log_index is not None:
        return Notice(LOGS, result.block_hash, f"{result.log_index} {'removed' if result.removed else ''}")
    return None if result.hash is None else Notice(HEADS, result.hash)
