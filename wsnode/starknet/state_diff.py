"""State diff of a block, checked and sorted; all other forms are derived from it."""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

Pair: TypeAlias = tuple[bytes, bytes]
Slot: TypeAlias = tuple[bytes, bytes, bytes]


class InvalidStateDiffError(ValueError):
    """Error of a diff with a contradiction, or with a value that is no felt."""


class StateDiff(msgspec.Struct, frozen=True, gc=False):
    """Changes of one block to the state, each list sorted and without duplicates."""

    storage: list[Slot] = []
    """Address, key and new value of each changed slot."""
    deployed: list[Pair] = []
    """Address and class hash of each new contract."""
    replaced: list[Pair] = []
    """Address and new class hash of each contract with a replaced class."""
    nonces: list[Pair] = []
    """Address and new nonce of each contract."""
    declared: list[Pair] = []
    """Class hash and compiled class hash of each declared Sierra class."""
    migrated: list[Pair] = []
    """Class hash and new compiled class hash of each migrated class."""
    deprecated: list[bytes] = []
    """Class hash of each declared Cairo 0 class."""

    def named_classes(self) -> list[bytes]:
        """Return the hashes of all classes declared, or used by contracts, in this diff; sorted."""
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
