"""Blocks from files of concatenated RLP, plain or gzipped, as geth exports them."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, Self, cast

import msgspec

from wsnode.sync.errors import SourceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Larger than any block that a gas limit ever allowed, small enough to hold a few in memory.
MAX_BLOCK_SIZE: Final = 1 << 26
BATCH_BLOCKS: Final = 128
BATCH_BYTES: Final = 1 << 21
STDIN: Final = "-"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BUFFER: Final = 1 << 20
_SHORT_LIST: Final = 0xC0
_LONG_LIST: Final = 0xF7


class EncodedBlock(msgspec.Struct, frozen=True):
    """RLP of a block read from a file, with the file's name and its offset there in bytes."""

    encoded: bytes
    source: str
    offset: int


class FilePosition(msgspec.Struct, frozen=True):
    """Position in an import source, in bytes on the disk: `read` so far, and `whole` in total, None for a
    pipe.
    """

    read: int
    whole: int | None


class RlpFiles:
    """Blocks of several files, one file after the other; `-` is standard input. A context manager."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._open = ExitStack()
        self._raw: BinaryIO | None = None
        self._finished = 0
        sizes = [_size(name) for name in names]
        self._whole = None if None in sizes else sum(size for size in sizes if size)
        self._blocks = self._all_blocks()
        self._failure: SourceError | None = None

    def next_batch(self) -> list[EncodedBlock]:
        """Return some of the next blocks, none at the end.

        Raises:
            SourceError: The next bytes are no block; the blocks before them have been returned.
        """
        if self._failure is not None:
            raise self._failure
        batch: list[EncodedBlock] = []
        size = 0
        try:
            for block in islice(self._blocks, BATCH_BLOCKS):
                batch.append(block)
                size += len(block.encoded)
                if size >= BATCH_BYTES:
                    break
        except SourceError as error:
            if not batch:
                raise
            self._failure = error
        return batch

    def position(self) -> FilePosition:
        """Return the bytes read so far and in total, None for a pipe."""
        return FilePosition(self._finished + _tell(self._raw), self._whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _all_blocks(self) -> Iterator[EncodedBlock]:
        for name in self._names:
            self._raw = _open_raw(name)
            if name != STDIN:
                self._open.callback(self._raw.close)
            yield from cut_blocks(_unpacked(self._raw), name)
            self._finished += _tell(self._raw)
            self._raw = None


def cut_blocks(stream: BinaryIO, name: str) -> Iterator[EncodedBlock]:
    """Yield the RLP lists that follow one another in a stream, holding one at a time.

    Raises:
        SourceError: Other bytes follow, or the stream ends inside a list.
    """
    offset = 0
    while start := _read(stream, 1, name, offset):
        head, size = _list_head(stream, start, name, offset)
        if size > MAX_BLOCK_SIZE:
            raise SourceError(name, offset, f"{size} bytes are announced, more than any block has")
        content = _read(stream, size, name, offset)
        if len(content) < size:
            raise SourceError(
                name, offset, f"the file ends inside a block, after {len(content)} of {size} bytes"
            )
        yield EncodedBlock(head + content, name, offset)
        offset += len(head) + size


def _list_head(stream: BinaryIO, start: bytes, name: str, offset: int) -> tuple[bytes, int]:
    """Return the head of a list and the size of its contents in bytes."""
    first = start[0]
    if first < _SHORT_LIST:
        raise SourceError(
            name, offset, f"no block begins here (found 0x{first:02x}, an RLP list was expected)"
        )
    if first <= _LONG_LIST:
        return start, first - _SHORT_LIST
    length = _read(stream, first - _LONG_LIST, name, offset)
    if len(length) < first - _LONG_LIST:
        raise SourceError(name, offset, "the file ends inside a block's length")
    return start + length, int.from_bytes(length, "big")


def _read(stream: BinaryIO, size: int, name: str, offset: int) -> bytes:
    try:
        return stream.read(size)
    except EOFError:
        raise SourceError(name, offset, "the compressed file ends inside a block") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(name, offset, f"the compressed file is damaged ({error})") from None
    except OSError as error:
        raise SourceError(name, offset, error.strerror or str(error)) from error


def _open_raw(name: str) -> BinaryIO:
    if name == STDIN:
        return cast(BinaryIO, sys.stdin.buffer)
    try:
        return open(name, "rb", buffering=_BUFFER)
    except OSError as error:
        raise SourceError(name, 0, error.strerror or str(error)) from error


def _unpacked(raw: BinaryIO) -> BinaryIO:
    peek = cast(io.BufferedReader, raw).peek(2)
    if peek[:2] != _GZIP_MAGIC:
        return raw
    return cast(BinaryIO, io.BufferedReader(_Unpacked(raw), _BUFFER))


class _Unpacked(io.RawIOBase):
    """Reader of a gzip file that gives all bytes before a fault; a buffered GzipFile loses its last
    megabyte.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._gzip = gzip.GzipFile(fileobj=packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        content = self._gzip.read1(len(view))
        view[: len(content)] = content
        return len(content)


def _size(name: str) -> int | None:
    if name == STDIN:
        return None
    try:
        found = os.stat(name)
    except OSError as error:
        raise SourceError(name, 0, error.strerror or str(error)) from error
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _tell(raw: BinaryIO | None) -> int:
    try:
        return 0 if raw is None else raw.tell()
    except OSError:
        return 0
