"""The documents of a folder's files: `.json`, `.jsonl` and `.ndjson`, each also as `.gz`."""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, cast

import msgspec

from wsnode.starknet.errors import BlockDumpError
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.untrusted.files import open_for_reading

ONE_DOCUMENT = (".json",)
ONE_A_LINE = (".jsonl", ".ndjson")
SMALL_BYTES: Final = 64 << 20
MAX_EXPANSION: Final = 50
"""Maximum expansion of a compressed file beyond `SMALL_BYTES`; JSON of blocks expands about 10 times."""
MAX_LINE_BYTES: Final = 128 << 20
_NUMBER = re.compile(r"(?:^|[^0-9a-zA-Z])(\d+)$")
_PARTS = re.compile(r"(\d+)")

_decode_items = JsonDecoder[list[msgspec.Raw]](list[msgspec.Raw]).decode


class FileLocation(msgspec.Struct, frozen=True):
    """Place of a document in a dump: its file, and its line's offset or its index in the file's array."""

    path: Path
    position: int = 0


def dump_files(folder: Path) -> list[Path]:
    """Return the files below `folder` that may hold documents, in numeric order; `folder` may be such a file.

    Raises:
        BlockDumpError: There are none.
    """
    if not folder.exists():
        raise BlockDumpError(f"{folder}: no such file or folder")
    paths = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    found = sorted((path for path in paths if _suffix(path)), key=lambda path: _natural(str(path)))
    if not found:
        raise BlockDumpError(f"{folder}: no .json, .jsonl or .ndjson file in it, nor one of them as .gz")
    return found


def number_in_name(path: Path) -> int | None:
    """Return the number at the end of the file's name, as in `550000.json` and `mainnet_550000.json.gz`; None
    for another name.
    """
    match = _NUMBER.search(stem(path))
    return int(match[1]) if match else None


def stem(path: Path) -> str:
    """Return the file's name without its endings."""
    return path.name.removesuffix(".gz").removesuffix(_suffix(path))


def documents(path: Path) -> Iterator[tuple[FileLocation, bytes]]:
    """Yield the documents of one file and their places.

    Raises:
        BlockDumpError: The file cannot be read.
    """
    if _suffix(path) in ONE_A_LINE:
        yield from _lines(path)
        return
    text = read_file(path)
    if not text.lstrip().startswith(b"["):
        yield FileLocation(path), text
        return
    for index, item in enumerate(_items(path, text)):
        yield FileLocation(path, index), bytes(item)


def read_file(path: Path) -> bytes:
    """Return the content of the file, decompressed.

    Raises:
        BlockDumpError: It cannot be read.
    """
    try:
        with _open(path) as stream:
            content = stream.read(most := _most_bytes(path))
            if len(content) == most:
                raise BlockDumpError(f"{path}: it expands to {most} bytes and more")
            return content
    except (OSError, EOFError, zlib.error) as error:
        raise BlockDumpError(f"{path}: {error}") from None


class DocumentReader:
    """Reader of a dump's documents by their places; fast if the places come in the order of the files."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._stream: IO[bytes] | None = None
        self._items: list[msgspec.Raw] = []

    def read(self, place: FileLocation) -> bytes:
        """Return the document at `place`.

        Raises:
            BlockDumpError: The file can no longer be read.
        """
        if place.path != self._path:
            self._turn_to(place.path)
        if self._stream is None:
            return bytes(self._items[place.position])
        try:
            if self._stream.tell() != place.position:
                self._stream.seek(place.position)
            return self._stream.readline(MAX_LINE_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise BlockDumpError(f"{place.path}: {error}") from None

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream, self._path = None, None

    def _turn_to(self, path: Path) -> None:
        self.close()
        if _suffix(path) in ONE_A_LINE:
            self._stream = _open(path)
        else:
            self._items = [msgspec.Raw(text) for _, text in documents(path)]
        self._path = path


def _lines(path: Path) -> Iterator[tuple[FileLocation, bytes]]:
    try:
        with _open(path) as stream:
            position = 0
            while line := stream.readline(MAX_LINE_BYTES):
                if len(line) == MAX_LINE_BYTES:
                    raise BlockDumpError(f"{path}: it has a line of {MAX_LINE_BYTES} bytes and more")
                if line.strip():
                    yield FileLocation(path, position), line
                position += len(line)
    except (OSError, EOFError, zlib.error) as error:
        raise BlockDumpError(f"{path}: {error}") from None


def _items(path: Path, text: bytes) -> list[msgspec.Raw]:
    try:
        return _decode_items(text)
    except MalformedError as error:
        raise BlockDumpError(f"{path}: {error}") from None


def _open(path: Path) -> IO[bytes]:
    opened = open_for_reading(path)
    if path.suffix != ".gz":
        return opened
    return cast("IO[bytes]", _Unpacking(opened))


class _Unpacking(gzip.GzipFile):
    """Decompressing reader of a gzip file; closing it also closes the compressed file below it."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__(fileobj=packed, mode="rb")
        # GzipFile closes the file that it keeps under this name, so it closes `packed` too.
        self.myfileobj: Any = packed


def _most_bytes(path: Path) -> int:
    """Return the size in bytes, after expansion, at which a file is refused."""
    size = path.stat().st_size
    return SMALL_BYTES + MAX_EXPANSION * size if path.suffix == ".gz" else size + SMALL_BYTES


def _suffix(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return next((ending for ending in (*ONE_DOCUMENT, *ONE_A_LINE) if name.endswith(ending)), "")


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _PARTS.split(name)]
