"""Long fragment of a message, read as it arrives, so that its end costs no more than its other parts."""

from wsnode._native.wire import unmask

MASK_BYTES = 4
EMPTY = b"\x80" + bytes(MASK_BYTES)
"""Second byte and mask of a masked frame without a payload."""


class PartialFrame:
    """Masked frame without extensions that has arrived in part."""

    __slots__ = ("_first", "_lacking", "_mask", "size")

    def __init__(self, head: bytes, size: int) -> None:
        """Begin with the head of a frame whose payload has `size` bytes."""
        self._first = head[0]
        self._mask = head[-MASK_BYTES:]
        self.size = size
        self._lacking = size

    @property
    def is_whole(self) -> bool:
        """Return True if all of its payload has arrived."""
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
