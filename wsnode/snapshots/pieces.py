"""File in pieces: each compressed by itself, named, counted and hashed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Protocol, cast

import zstandard

from wsnode.snapshots.errors import (
    PieceHashError,
    PieceKindError,
    PieceMissingError,
    PieceSizeError,
    SnapshotContentError,
)
from wsnode.snapshots.manifest import PIECE_BYTES, ManifestFile, Piece, piece_name
from wsnode.store.private import private
from wsnode.untrusted.files import IrregularFileError, open_for_reading

CHUNK: Final = 1 << 20
LEVEL: Final = 3


class ByteSource(Protocol):
    """Source of bytes in order, to split into pieces; `PieceStream` implements it."""

    def read(self, most: int, /) -> bytes:
        """Return the next bytes, fewer than `most` only at the end."""


Count = Callable[[int], None]
"""Function that receives the number of finished bytes of a file."""


def split(source: ByteSource, name: str, folder: Path, count: Count) -> ManifestFile:
    """Write all bytes of a source as pieces of the file `name` into a folder, and sync them to the disk.

    Return the file's entry in the manifest.
    """
    pieces: list[Piece] = []
    done = 0
    while True:
        written, piece = _write_piece(source, folder / piece_name(name, len(pieces)), done, count)
        done += written
        if written or not pieces:
            pieces.append(piece)
        else:
            (folder / piece.name).unlink()
        if written < PIECE_BYTES:
            return ManifestFile(name, done, tuple(pieces))


def _write_piece(source: ByteSource, path: Path, before: int, count: Count) -> tuple[int, Piece]:
    """Return the number of the source's bytes in a piece, and the piece."""
    done = size = 0
    hashed = hashlib.sha256()
    draft = path.with_name(f"{path.name}.part")
    with open(draft, "wb", opener=private) as file:
        for found, packed in _packed(source):
            done += found
            size += len(packed)
            hashed.update(packed)
            file.write(packed)
            count(before + done)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return done, Piece(path.name, size, hashed.hexdigest())


def _packed(source: ByteSource) -> Iterator[tuple[int, bytes]]:
    """Yield pairs of the number of bytes taken from a source, and compressed bytes."""
    compressor = zstandard.ZstdCompressor(level=LEVEL).compressobj()
    left = PIECE_BYTES
    while left and (chunk := source.read(min(CHUNK, left))):
        left -= len(chunk)
        yield len(chunk), compressor.compress(chunk)
    yield 0, compressor.flush()


def require_sizes(folder: Path, pieces: list[Piece]) -> None:
    """Check that all pieces are there in their sizes; their bytes are verified when they are read.

    Raises:
        PieceMissingError, PieceSizeError: A piece is missing, or cut short.
    """
    for piece in pieces:
        path = folder / piece.name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise PieceMissingError(path) from None
        if size != piece.size:
            raise PieceSizeError(path, size, piece.size)


def join(file: ManifestFile, folder: Path, target: IO[bytes], count: Count) -> None:
    """Write a file from its pieces; each piece's bytes are verified before the next one is begun.

    Raises:
        PieceMissingError, PieceKindError, PieceSizeError, PieceHashError: A piece is not as it was written.
        SnapshotContentError: The unpacked bytes have another size.
    """
    done = 0
    for piece in file.pieces:
        for chunk in _unpacked(file, folder / piece.name, piece):
            done += len(chunk)
            if done > file.size:
                raise SnapshotContentError(file.name, "more bytes", f"{file.size} bytes")
            target.write(chunk)
            count(done)
    if done != file.size:
        raise SnapshotContentError(file.name, f"{done} bytes", f"{file.size} bytes")


def _unpacked(file: ManifestFile, path: Path, piece: Piece) -> Iterator[bytes]:
    hashed = HashingReader(path)
    try:
        yield from zstandard.ZstdDecompressor().read_to_iter(
            cast("IO[bytes]", hashed), read_size=CHUNK, write_size=CHUNK
        )
        hashed.finish()
    except zstandard.ZstdError as error:
        hashed.finish()
        hashed.require(piece)
        raise SnapshotContentError(file.name, f"a piece that does not unpack ({error})", "zstd") from None
    finally:
        hashed.close()
    hashed.require(piece)


class HashingReader:
    """Reader of a piece, which counts and hashes its bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._hash = hashlib.sha256()
        try:
            self._file = open_for_reading(path)
        except FileNotFoundError:
            raise PieceMissingError(path) from None
        except IrregularFileError as error:
            raise PieceKindError(path, error.kind) from None

    def read(self, most: int) -> bytes:
        found = self._file.read(most)
        self._size += len(found)
        self._hash.update(found)
        return found

    def finish(self) -> None:
        """Read the remaining bytes."""
        while self.read(CHUNK):
            pass

    def close(self) -> None:
        self._file.close()

    def require(self, piece: Piece) -> None:
        """Check the size and the hash of the bytes that were read.

        Raises:
            PieceSizeError, PieceHashError: One differs from the piece's.
        """
        if self._size != piece.size:
            raise PieceSizeError(self._path, self._size, piece.size)
        if (found := self._hash.hexdigest()) != piece.sha256:
            raise PieceHashError(self._path, found, piece.sha256)
