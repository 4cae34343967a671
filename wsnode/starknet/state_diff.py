"""A block's changes, checked and sorted: the form from which all others are derived."""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

Pair: TypeAlias = tuple[bytes, bytes]
Slot: TypeAlias = tuple[bytes, bytes, bytes]


class InvalidStateDiffError(ValueError):
    """The diff contradicts itself or holds a value that is no felt."""


class StateDiff(msgspec.Struct, frozen=True, gc=False):
    """One block's changes, each list sorted and without duplicates."""

    storage: list[Slot] = []
    """Address, key, value."""
    deployed: list[Pair] = []
    """Address, class hash."""
    replaced: list[Pair] = []
    """Address, class hash."""
    nonces: list[Pair] = []
    """Address, nonce."""
    declared: list[Pair] = []
    """Class hash, compiled class hash: Sierra."""
    migrated: list[Pair] = []
    """Class hash, new compiled class hash."""
    deprecated: list[bytes] = []
    """Class hash: Cairo 0."""

    def named_classes(self) -> list[bytes]:
        """Return the class hashes that the diff names; it need not declare them all."""
        hashes = {class_hash for _, class_hash in (*self.deployed, *self.replaced)}
        hashes.update(class_hash for class_hash, _ in self.declared)
        hashes.update(self.deprecated)
        return sorted(hashes)

    def packed(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Return storage, class hashes, nonces and compiled classes in the engine's form."""
        return (
            _packed(self.storage),
            # A replacing class overrides the deployed one, so it comes last.
            _packed(self.deployed) + _packed(self.replaced),
            _packed(self.nonces),
            _packed(self.declared) + _packed(self.migrated),
        )


def _packed(records: Iterable[tuple[bytes, ...]]) -> bytes:
    return b"".join(felt for record in records for felt in record)
