"""Notifications of blocks, logs and outcomes of calls, with as much of them as tells one from another."""

from typing import Final

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError

HEADS: Final = "newHeads"
LOGS: Final = "logs"
CALLS: Final = "calls"


class Notice(msgspec.Struct, frozen=True):
    """A notification: of which kind it is, of which block, and its place in it."""

    kind: str
    block: str
    """Hash."""
    place: str = ""
    """Of a log: its index, and whether it was taken back."""


class AllOutcomes(msgspec.Struct, frozen=True):
    """The first notification of calls, whose outcomes no block need have changed."""


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request: why it was refused, if it was."""

    identity: int
    refusal: str | None


class _Result(msgspec.Struct, rename="camel"):
    hash: str | None = None
    block_hash: str | None = None
    log_index: str | None = None
    removed: bool = False
    results: list[msgspec.Raw] | None = None
    complete: bool = False


class _Params(msgspec.Struct):
    result: _Result


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Message(msgspec.Struct):
    id: int | None = None
    params: _Params | None = None
    error: _Error | None = None


_MESSAGE: Final = JsonDecoder(_Message)


def read(message: bytes) -> Notice | AllOutcomes | Reply | None:
    """Return what a message says, None if it is neither a notification of these kinds nor an answer."""
    try:
        found = _MESSAGE.decode(message)
    except MalformedError:
        return None
    if found.params is not None:
        return _notice(found.params.result)
    if found.id is None:
        return None
    error = found.error
    return Reply(found.id, None if error is None else f"{error.code} {error.message}")


def _notice(result: _Result) -> Notice | AllOutcomes | None:
    if result.block_hash is not None and result.log_index is not None:
        return Notice(LOGS, result.block_hash, f"{result.log_index} {'removed' if result.removed else ''}")
    if result.block_hash is not None and result.results is not None:
        return AllOutcomes() if result.complete else Notice(CALLS, result.block_hash)
    return None if result.hash is None else Notice(HEADS, result.hash)
