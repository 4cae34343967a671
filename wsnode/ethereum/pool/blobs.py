"""Blobs of received transactions, kept for payloads and for clients."""

from collections.abc import Iterable
from typing import Final

import msgspec

from wsnode.ethereum.codec.transactions import blob_proof, cell_proofs

CELLS: Final = 128
"""Number of cells of an extended blob (EIP-7594); each has its own proof."""


class Blob(msgspec.Struct, frozen=True):
    """Blob of a transaction (EIP-4844) with its KZG commitment, versioned hash and proofs."""

    versioned_hash: bytes
    content: bytes
    commitment: bytes
    proofs: list[bytes]
    """Single proof of the whole blob, or one proof for each cell."""

    @property
    def has_cell_proofs(self) -> bool:
        return len(self.proofs) == CELLS

    @property
    def size(self) -> int:
        """Return the size of blob and proofs, in bytes."""
        return len(self.content) + sum(map(len, self.proofs))

    def proved(self, *, by_cells: bool) -> "Blob":
        """Return the blob with proofs of one kind; to make proofs of cells takes some 200 ms."""
        if by_cells == self.has_cell_proofs:
            return self
        proofs = cell_proofs(self.content) if by_cells else [blob_proof(self.content, self.commitment)]
        return msgspec.structs.replace(self, proofs=proofs)


class Blobs:
    """Blobs by versioned hash, bounded in bytes; the oldest are dropped first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._blobs: dict[bytes, Blob] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._blobs)

    def get(self, versioned_hash: bytes) -> Blob | None:
        return self._blobs.get(versioned_hash)

    def add(self, blobs: Iterable[Blob]) -> None:
        """Keep blobs; older ones are dropped beyond the bound."""
        for blob in blobs:
            self._drop(blob.versioned_hash)
            self._blobs[blob.versioned_hash] = blob
            self.bytes += blob.size
        self._make_room()

    def replace(self, blob: Blob) -> None:
        """Replace a kept blob by one with other proofs, so that these are made only once."""
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
