"""Rows: a block's header, and compressed text."""

import msgspec
import zstandard

DIFF_LEVEL = 3
CLASS_LEVEL = 9  # written once and read often: a Sierra class of 1.39 MB takes 353 kB at 3, 300 kB at 9


class BlockRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The stored header of a block."""

    hash: bytes
    parent_hash: bytes | None
    old_root: bytes
    new_root: bytes
    timestamp: int | None
    version: str | None
    more: bytes = b""
    """Further members of the header: a JSON object, or empty."""


encode_block = msgspec.msgpack.Encoder().encode
decode_block = msgspec.msgpack.Decoder(BlockRow).decode


def compress(text: bytes, level: int) -> bytes:
    """Return `text` as one zstd frame with its size."""
    return zstandard.ZstdCompressor(level=level).compress(text)


def decompress(frame: bytes | memoryview) -> bytes:
    """Return the text of a frame."""
    return zstandard.ZstdDecompressor().decompress(frame)
