"""Many small pieces of one text as few larger ones."""

from collections.abc import Iterable, Iterator

PARCEL_BYTES = 64 * 1024
"""Bytes that are sent at once, or compressed without letting other threads run."""


def coalesce(pieces: Iterable[bytes], most: int = PARCEL_BYTES) -> Iterator[bytes | memoryview]:
    """Yield the bytes of pieces, small ones and the beginnings of large ones `most` bytes at once.

    The rest of a large piece is not copied, however large.
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
