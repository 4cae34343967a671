"""Sources of blocks."""

from typing import Protocol

import msgspec


class EncodedBlock(msgspec.Struct, frozen=True):
    """RLP of a block, with its file and its offset."""

    encoded: bytes
    source: str
    offset: int


class FilePosition(msgspec.Struct, frozen=True):
    """The position of a source in bytes on the disk, and its size, None for a pipe."""

    read: int
    whole: int | None


class BlockSource(Protocol):
    """Blocks in the order in which they are to be imported."""

    def next_batch(self) -> list[EncodedBlock]:
        """Return some of the next blocks, none at the end; may block the calling thread.

        Raises:
            SourceError: The next bytes are no block.
        """

    def position(self) -> FilePosition:
        """Return the position of the source."""
