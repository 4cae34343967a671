"""State diffs in their stored form and in the form of results.

The stored text is the specification's: one `storage_diffs` row a slot, so `alt_getStateUpdate` copies it.
starknet-specs nests a contract's slots below its address; that form is made from the stored one.
"""

from collections.abc import Collection
from itertools import groupby
from operator import attrgetter

import msgspec

from wsnode.starknet.block import StateDiff
from wsnode.starknet.diff_source import (
    ContractEntries,
    DeclaredClass,
    DeployedContract,
    NonceUpdate,
    StorageEntry,
)
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.untrusted.decoding import JsonDecoder


class FlatEntry(msgspec.Struct, frozen=True, gc=False):
    """A slot with its contract's address."""

    address: str
    key: str
    value: str


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """Contract whose class was replaced."""

    contract_address: str
    class_hash: str


class _DiffMembers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    deprecated_declared_classes: list[str]
    declared_classes: list[DeclaredClass]
    deployed_contracts: list[DeployedContract]
    replaced_classes: list[Replacement]
    nonces: list[NonceUpdate]
    # starknet.py refuses an empty list, and the member is optional (starknet-specs 0.10.0).
    migrated_compiled_classes: list[DeclaredClass] = []


class FlatDiff(_DiffMembers, frozen=True, kw_only=True):
    """The diff with one `storage_diffs` row a slot."""

    storage_diffs: list[FlatEntry]


class NestedDiff(_DiffMembers, frozen=True, kw_only=True):
    """The diff with a contract's slots below its address."""

    storage_diffs: list[ContractEntries]


_decode = JsonDecoder(FlatDiff).decode
EMPTY = FlatDiff(
    storage_diffs=[],
    deprecated_declared_classes=[],
    declared_classes=[],
    deployed_contracts=[],
    replaced_classes=[],
    nonces=[],
)


def decode_flat(text: bytes) -> FlatDiff:
    """Return the diff that the stored `text` holds."""
    return _decode(text)


def flat_diff(diff: StateDiff) -> FlatDiff:
    """Return `diff` in the stored form."""
    return FlatDiff(
        storage_diffs=[FlatEntry(felt_text(a), felt_text(k), felt_text(v)) for a, k, v in diff.storage],
        deprecated_declared_classes=[felt_text(class_hash) for class_hash in diff.deprecated],
        declared_classes=[DeclaredClass(felt_text(c), felt_text(k)) for c, k in diff.declared],
        deployed_contracts=[DeployedContract(felt_text(a), felt_text(c)) for a, c in diff.deployed],
        replaced_classes=[Replacement(felt_text(a), felt_text(c)) for a, c in diff.replaced],
        nonces=[NonceUpdate(felt_text(a), felt_text(n)) for a, n in diff.nonces],
        migrated_compiled_classes=[DeclaredClass(felt_text(c), felt_text(k)) for c, k in diff.migrated],
    )


def state_diff(flat: FlatDiff) -> StateDiff:
    """Return the diff whose stored form is `flat`."""
    return StateDiff(
        storage=[
            (felt_bytes(row.address), felt_bytes(row.key), felt_bytes(row.value))
            for row in flat.storage_diffs
        ],
        deployed=[
            (felt_bytes(item.address), felt_bytes(item.class_hash)) for item in flat.deployed_contracts
        ],
        replaced=[
            (felt_bytes(item.contract_address), felt_bytes(item.class_hash)) for item in flat.replaced_classes
        ],
        nonces=[(felt_bytes(item.contract_address), felt_bytes(item.nonce)) for item in flat.nonces],
        declared=[_compiled(item) for item in flat.declared_classes],
        migrated=[_compiled(item) for item in flat.migrated_compiled_classes],
        deprecated=[felt_bytes(class_hash) for class_hash in flat.deprecated_declared_classes],
    )


def nested_diff(flat: FlatDiff) -> NestedDiff:
    """Return the diff in starknet-specs' form; the rows of a contract are adjacent in `flat`."""
    contracts = [
        ContractEntries(address, [StorageEntry(row.key, row.value) for row in rows])
        for address, rows in groupby(flat.storage_diffs, attrgetter("address"))
    ]
    return NestedDiff(
        storage_diffs=contracts,
        deprecated_declared_classes=flat.deprecated_declared_classes,
        declared_classes=flat.declared_classes,
        deployed_contracts=flat.deployed_contracts,
        replaced_classes=flat.replaced_classes,
        nonces=flat.nonces,
        migrated_compiled_classes=flat.migrated_compiled_classes,
    )


def filtered(flat: FlatDiff, addresses: Collection[str]) -> FlatDiff:
    """Return the changes of the contracts at `addresses`; declared classes belong to no contract and stay."""
    return msgspec.structs.replace(
        flat,
        storage_diffs=[row for row in flat.storage_diffs if row.address in addresses],
        deployed_contracts=[item for item in flat.deployed_contracts if item.address in addresses],
        replaced_classes=[item for item in flat.replaced_classes if item.contract_address in addresses],
        nonces=[item for item in flat.nonces if item.contract_address in addresses],
    )


def _compiled(item: DeclaredClass) -> tuple[bytes, bytes]:
    return felt_bytes(item.class_hash), felt_bytes(item.compiled_class_hash)
