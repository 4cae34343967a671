"""Blobs of transactions that were sent here, kept for the payloads and the clients that ask for them."""

from collections.abc import Iterable
from typing import Final

import msgspec

from wsnode.ethereum.codec.transactions import blob_proof, cell_proofs

CELLS: Final = 128
"""Of an extended blob (EIP-7594); each has a proof of its own."""


class Blob(msgspec.Struct, frozen=True):
    """A blob with what proves that it is the one of its versioned hash."""

    versioned_hash: bytes
    content: bytes
    commitment: bytes
    proofs: list[bytes]
    """One of the whole blob, or one of each cell."""

    @property
    def has_cell_proofs(self) -> bool:
        """Tell whether there is one proof for each cell."""
        return len(self.proofs) == CELLS

    @property
    def size(self) -> int:
        """Return the bytes of all of it."""
        return len(self.content) + sum(map(len, self.proofs))

    def proved(self, *, by_cells: bool) -> "Blob":
        """Return the blob with proofs of one kind; if they are to be made, cells' take some 200 ms."""
        if by_cells == self.has_cell_proofs:
            return self
        proofs = cell_proofs(self.content) if by_cells else [blob_proof(self.content, self.commitment)]
        return msgspec.structs.replace(self, proofs=proofs)


class Blobs:
    """Blobs by their versioned hashes, bounded in bytes; those that came first are dropped first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._blobs: dict[bytes, Blob] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._blobs)

    def get(self, versioned_hash: bytes) -> Blob | None:
        """Return the blob of a hash."""
        return self._blobs.get(versioned_hash)

    def add(self, blobs: Iterable[Blob]) -> None:
        """Keep blobs, as long as there is room for them."""
        for blob in blobs:
            self._drop(blob.versioned_hash)
            self._blobs[blob.versioned_hash] = blob
            self.bytes += blob.size
        self._make_room()

    def replace(self, blob: Blob) -> None:
        """Keep a blob with the proofs that it was given, so that they are not made again."""
        before = self._blobs.get(blob.versioned_hash)
        if before is not None and before is not blob:
            self._blobs[blob.versioned_hash] = blob
            self.bytes += blob.size - before.size
            self._make_room()

    def _make_room(self) -> None:
        while self.bytes > self._most_bytes:
            self._drop(next(iter(self._blobs)))

    def _drop(self, versioned_hash: bytes) -> None:
        blob = self._blobs.pop(versioned_hash, None)
        if blob is not None:
            self.bytes -= blob.size
