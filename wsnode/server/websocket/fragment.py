"""A long fragment of a message, read as it arrives, so that its end costs no more than its other parts."""

from wsnode._native.wire import unmask

MASK_BYTES = 4
EMPTY = b"\x80" + bytes(MASK_BYTES)
"""What follows the first byte of a masked frame without a payload."""


class PartialFrame:
    """A masked frame, without extensions, of which some has arrived."""

    __slots__ = ("_first", "_lacking", "_mask", "size")

    def __init__(self, head: bytes, size: int) -> None:
        """Begin with the head of a frame whose payload has `size` bytes."""
        self._first = head[0]
        self._mask = head[-MASK_BYTES:]
        self.size = size
        self._lacking = size

    @property
    def is_whole(self) -> bool:
        """Return whether all of it has arrived."""
        return not self._lacking

    @property
    def without_payload(self) -> bytes:
        """Return a frame like this one whose payload is empty."""
        return bytes((self._first,)) + EMPTY

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what `data` has of the payload, unmasked, and what follows the frame."""
        masked = data[: self._lacking]
        payload = unmask(masked, self._mask, self.size - self._lacking)
        self._lacking -= len(masked)
        return payload, data[len(masked) :]
