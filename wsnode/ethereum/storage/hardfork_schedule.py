"""Changes of the forks scheduled by a folder's genesis file, checked against the folder's head."""

from pathlib import Path
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.errors import OtherConfigurationError, PassedForkError
from wsnode.ethereum.storage.tables import HEADERS, number_key
from wsnode.store.environment import Reader

_BLOBS: Final = "blobSchedule"
_DESCRIPTION: Final = "wsnode"
"""Description of header rules; another version may describe them better, so a difference is no conflict."""


class _Genesis(msgspec.Struct):
    """Genesis file without its accounts, which may be hundreds of megabytes."""

    config: Any = None


class HeadPosition(msgspec.Struct, frozen=True):
    """Number and time (in seconds) of a folder's head."""

    number: int
    timestamp: int


def head_position(reader: Reader) -> HeadPosition | None:
    """Return the position of the head, None in an empty store."""
    head = meta.marked_head(reader, meta.HEAD)
    row = None if head is None else reader.get(HEADERS, number_key(head.number))
    if row is None:
        return None
    header = header_fields(row)
    return HeadPosition(header.number, header.timestamp)


def differs(stored: bytes, given: bytes) -> bool:
    """Return True if two genesis files differ in their `config`."""
    return _config(stored) != _config(given)


def require_compatible(folder: Path, stored: bytes, given: bytes, head: HeadPosition | None) -> None:
    """Check that the given `config` differs from the stored one only in forks above the head.

    The rule is that of go-ethereum (params/config.go: checkCompatible).

    Raises:
        PassedForkError: They differ in a fork, and one of them activates it at or below the head.
        OtherConfigurationError: They differ in another member.
    """
    before, after = _config(stored), _config(given)
    for name in sorted(before.keys() | after.keys()):
        if name not in (_BLOBS, _DESCRIPTION) and before.get(name) != after.get(name):
            _require_above(folder, name, before.get(name), after.get(name), head)
    blobs = (before.get(_BLOBS) or {}, after.get(_BLOBS) or {})
    for name in sorted(blobs[0].keys() | blobs[1].keys()):
        if blobs[0].get(name) != blobs[1].get(name):
            key = f"{name}Time"
            _require_above(folder, key, before.get(key), after.get(key), head)


def _require_above(folder: Path, key: str, stored: Any, given: Any, head: HeadPosition | None) -> None:
    if not key.endswith(("Time", "Block")):
        raise OtherConfigurationError(folder)
    activations = [_number(value) for value in (stored, given) if value is not None]
    if head is None or not activations:
        return
    position = head.timestamp if key.endswith("Time") else head.number
    if min(activations) <= position:
        raise PassedForkError(folder, key, stored, given, head.number, position)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else int(str(value), 0)


def _config(genesis: bytes) -> dict[str, Any]:
    config = msgspec.json.decode(genesis, type=_Genesis).config
    return config if isinstance(config, dict) else {}
