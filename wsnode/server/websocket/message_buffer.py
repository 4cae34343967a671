"""Parts of an unfinished message, and a long fragment that is read as it arrives.

Further bytes do not cause a copy of earlier ones, and the end of a fragment costs no more than other parts.
"""

from collections.abc import Sized
from typing import Final

from websockets.typing import BytesLike

from wsnode._native.wire import unmask

PART_BYTES: Final = 16 * 1024
"""Bytes from which a part is kept as it is; shorter parts are joined."""
MASK_BYTES = 4
EMPTY = b"\x80" + bytes(MASK_BYTES)
"""Second byte and mask of a masked frame without a payload."""


class MessageBuffer(Sized):
    """Parts of an unfinished message; `len` is their size in bytes."""

    __slots__ = ("_gathered", "_kept", "_size")

    def __init__(self) -> None:
        self._kept: list[BytesLike] = []
        self._gathered = bytearray()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, payload: BytesLike) -> None:
        """Add a part; the caller must not change it afterwards."""
        self._size += len(payload)
        if len(payload) >= PART_BYTES:
            self._set_aside()
            self._kept.append(payload)
            return
        self._gathered += payload
        if len(self._gathered) >= PART_BYTES:
            self._set_aside()

    def _set_aside(self) -> None:
        if self._gathered:
            self._kept.append(self._gathered)
            self._gathered = bytearray()

    def join(self) -> bytes:
        return b"".join((*self._kept, self._gathered))


class PartialFrame:
    """Masked frame without extensions that has arrived in part."""

    __slots__ = ("_first", "_lacking", "_mask", "size")

    def __init__(self, head: bytes, size: int) -> None:
        self._first = head[0]
        self._mask = head[-MASK_BYTES:]
        self.size = size
        self._lacking = size

    @property
    def is_whole(self) -> bool:
        return not self._lacking

    @property
    def without_payload(self) -> bytes:
        """Return this frame with an empty payload."""
        return bytes((self._first,)) + EMPTY

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the payload's bytes in `data`, unmasked, and the bytes after the frame."""
        masked = data[: self._lacking]
        payload = unmask(masked, self._mask, self.size - self._lacking)
        self._lacking -= len(masked)
        return payload, data[len(masked) :]
