"""Block of Starknet: its header and its state diff; transactions too, if its source has receipts."""

from collections.abc import Iterable
from typing import Any, TypeAlias

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


class StarknetHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Members of a block's header; those unknown are None, as all but the hash for a mere state update."""

    hash: bytes
    number: int | None = None
    parent_hash: bytes | None = None
    root: bytes | None = None
    timestamp: int | None = None
    version: str | None = None
    commitment: bytes | None = None
    """Commitment to the state diff."""
    more: dict[str, Any] = {}
    """Further members of starknet-specs' BLOCK_HEADER, in the form of results, not checked."""


class UnverifiedStarknetBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Block as a dump or an upstream gave it, before verification: its header, the state roots before and
    after it, and its state diff.
    """

    number: int
    header: StarknetHeader
    old_root: bytes
    new_root: bytes
    diff: StateDiff
    body: bytes | None = None
    """JSON of the block with transactions and receipts as nodes send it, or None if the source lacks it."""

    @property
    def hash(self) -> bytes:
        return self.header.hash


class VerifiedStarknetBlock(UnverifiedStarknetBlock, frozen=True, kw_only=True):
    """Block checked against the head before it.

    Its `body` is in the stored form, and None if the block's hash does not prove the body.
    """


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a version, (0, 13, 2) for `0.13.2`; None without a version.

    A part that is no number counts as 0.
    """
    if not version:
        return None
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
