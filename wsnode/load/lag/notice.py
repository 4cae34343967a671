"""Notifications of blocks, logs and outcomes of calls, reduced to the keys that distinguish them."""

from typing import Final

import msgspec

from wsnode.untrusted.decoding import JsonDecoder, MalformedError

HEADS: Final = "newHeads"
LOGS: Final = "logs"
CALLS: Final = "calls"


class NotificationKey(msgspec.Struct, frozen=True):
    """Key by which the same notification is recognized on all connections: its kind, the hash of its block,
    and its place in the block.
    """

    kind: str
    block: str
    """Hash of the block."""
    place: str = ""
    """Index of a log, and whether it was removed; empty for other kinds."""


class AllOutcomes(msgspec.Struct, frozen=True):
    """Marker for the first notification of a subscription to calls: it has the outcomes of all calls."""


class Reply(msgspec.Struct, frozen=True):
    """Answer to a request of the measurement: the request's id, and the reason if the node refused it, else
    None.
    """

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


def read(message: bytes) -> NotificationKey | AllOutcomes | Reply | None:
    """Return the notification or answer in a message, None for any other message."""
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


def _notice(result: _Result) -> NotificationKey | AllOutcomes | None:
    if result.block_hash is not None and result.log_index is not None:
        return NotificationKey(
            LOGS, result.block_hash, f"{result.log_index} {'removed' if result.removed else ''}"
        )
    if result.block_hash is not None and result.results is not None:
        return AllOutcomes() if result.complete else NotificationKey(CALLS, result.block_hash)
    return None if result.hash is None else NotificationKey(HEADS, result.hash)
