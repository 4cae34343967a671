"""Bytes of rows changed in a store's file, beside LMDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SMALL = 1000
"""Bytes of a value that lies beside its key; larger ones have pages of their own."""


def stored(key: bytes, value: bytes) -> bytes:
    """Return the bytes of a row by which it is found in a file."""
    return key + value if len(value) < SMALL else value


@contextmanager
def flipped(file: Path, row: bytes, place: int = 0, bits: int = 1) -> Iterator[None]:
    """Change one byte of a row, wherever the file has it, and change it back in the end.

    A file has copies of earlier versions of a row in pages that it does not use any more.
    """
    content = file.read_bytes()
    places = [start + place for start in _starts(content, row)]
    assert places, f"the file has no such row: {row.hex()}"
    _write(file, {each: content[each] ^ bits for each in places})
    try:
        yield
    finally:
        _write(file, {each: content[each] for each in places})


@contextmanager
def flipped_at(file: Path, place: int, bits: int) -> Iterator[None]:
    """Change the byte at a place of a file, and change it back in the end."""
    with file.open("rb") as opened:
        opened.seek(place)
        (byte,) = opened.read(1)
    _write(file, {place: byte ^ bits})
    try:
        yield
    finally:
        _write(file, {place: byte})


def _starts(content: bytes, row: bytes) -> Iterator[int]:
    start = content.find(row)
    while start >= 0:
        yield start
        start = content.find(row, start + 1)


def _write(file: Path, changes: dict[int, int]) -> None:
    with file.open("r+b") as opened:
        for place, byte in changes.items():
            opened.seek(place)
            opened.write(bytes([byte]))
