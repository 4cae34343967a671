"""Bytes of an unfinished message; further bytes do not cause a copy of earlier ones."""

from collections.abc import Sized
from typing import Final

from websockets.typing import BytesLike

PART_BYTES: Final = 16 * 1024
"""Bytes from which a part is kept as it is; shorter parts are joined."""


class MessageBuffer(Sized):
    """Parts of an unfinished message; `len` is their size in bytes."""

    __slots__ = ("_gathered", "_kept", "_size")

    def __init__(self) -> None:
        """Begin without parts."""
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
        """Return the message."""
        return b"".join((*self._kept, self._gathered))
