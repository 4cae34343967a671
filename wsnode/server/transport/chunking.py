"""Joining of many small pieces of a text to few larger ones."""

from collections.abc import Iterable, Iterator

PARCEL_BYTES = 64 * 1024
"""Bytes that are sent in one call, or compressed without letting other threads run."""


def coalesce(pieces: Iterable[bytes], most: int = PARCEL_BYTES) -> Iterator[bytes | memoryview]:
    """Yield the bytes of `pieces` in parcels of `most` bytes.

    Only the beginning of a large piece is copied; its rest is yielded as a view, however large.
    """
    together: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        rest = memoryview(piece)
        if together:
            together.append(rest[: most - size])
            size += len(together[-1])
            if size < most:
                continue
            rest = rest[len(together[-1]) :]
            yield b"".join(together)
            together, size = [], 0
        if len(rest) >= most:
            yield rest
        elif rest:
            together, size = [rest], len(rest)
    if together:
        yield b"".join(together)
