"""State diffs in the forms of sources, in their stored form, and in the form of results.

The feeder has maps for storage and nonces, `old_declared_contracts` and `replaced_classes[].address`; a node
answers starknet-specs' STATE_DIFF (0.2.0 and later: `storage_entries` nested in `storage_diffs`). The stored
text is the specification's: one `storage_diffs` row a slot, so `alt_getStateUpdate` copies it. starknet-specs
nests a contract's slots below its address; that form is made from the stored one.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby, pairwise
from operator import attrgetter

import msgspec

from wsnode.starknet.block import InvalidStateDiffError, Pair, Slot, StateDiff
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.untrusted.decoding import JsonDecoder


class StorageEntry(msgspec.Struct, frozen=True, gc=False):
    """Changed slot in a state diff, listed under its contract: key and new value in hex."""

    key: str
    value: str


class ContractEntries(msgspec.Struct, frozen=True):
    """Contract in a state diff, with its changed slots."""

    address: str
    storage_entries: list[StorageEntry]


class DeployedContract(msgspec.Struct, frozen=True, gc=False):
    """New contract in a state diff: its address, and the hash of its class."""

    address: str
    class_hash: str


class ReplacedClass(msgspec.Struct, frozen=True, gc=False):
    """Contract in a source's state diff whose class was replaced. Nodes name it in `contract_address`, the
    feeder gateway in `address`.
    """

    class_hash: str
    contract_address: str | None = None
    address: str | None = None
    """Contract address under the feeder gateway's name."""


class DeclaredClass(msgspec.Struct, frozen=True, gc=False):
    """Sierra class in a state diff, declared or migrated: its hash, and the hash of its compiled class."""

    class_hash: str
    compiled_class_hash: str


class NonceUpdate(msgspec.Struct, frozen=True, gc=False):
    """Contract in a state diff with its new nonce."""

    contract_address: str
    nonce: str


class _Common(msgspec.Struct, frozen=True, kw_only=True):
    deployed_contracts: list[DeployedContract] = []
    replaced_classes: list[ReplacedClass] = []
    declared_classes: list[DeclaredClass] = []
    migrated_compiled_classes: list[DeclaredClass] = []


class RpcDiff(_Common, frozen=True, kw_only=True):
    """State diff as nodes send it (starknet-specs STATE_DIFF), with slots listed under their contract."""

    storage_diffs: list[ContractEntries]
    nonces: list[NonceUpdate] = []
    deprecated_declared_classes: list[str] = []


class FeederDiff(_Common, frozen=True, kw_only=True):
    """State diff as the feeder gateway sends it, with maps from contract address to slots and to nonces."""

    storage_diffs: dict[str, list[StorageEntry]]
    nonces: dict[str, str] = {}
    old_declared_contracts: list[str] = []


class _Probe(msgspec.Struct):
    storage_diffs: msgspec.Raw


_decode_probe = JsonDecoder(_Probe).decode
_decode_rpc = JsonDecoder(RpcDiff).decode
_decode_feeder = JsonDecoder(FeederDiff).decode


def decode_state_diff(text: bytes | msgspec.Raw) -> StateDiff:
    """Return the diff that `text` holds in the feeder's or a node's form.

    Raises:
        InvalidStateDiffError: It is neither, or contradicts itself.
    """
    try:
        if bytes(_decode_probe(text).storage_diffs).startswith(b"{"):
            return _from_feeder(_decode_feeder(text))
        return _from_rpc(_decode_rpc(text))
    except InvalidStateDiffError:
        raise
    except ValueError as error:
        raise InvalidStateDiffError(f"{error}") from None


def _from_rpc(diff: RpcDiff) -> StateDiff:
    slots = [
        (felt_bytes(contract.address), felt_bytes(entry.key), felt_bytes(entry.value))
        for contract in diff.storage_diffs
        for entry in contract.storage_entries
    ]
    nonces = [(item.contract_address, item.nonce) for item in diff.nonces]
    return _state_diff(diff, slots, nonces, diff.deprecated_declared_classes)


def _from_feeder(diff: FeederDiff) -> StateDiff:
    slots = [
        (felt_bytes(address), felt_bytes(entry.key), felt_bytes(entry.value))
        for address, entries in diff.storage_diffs.items()
        for entry in entries
    ]
    return _state_diff(diff, slots, diff.nonces.items(), diff.old_declared_contracts)


def _state_diff(
    diff: _Common, slots: list[Slot], nonces: Iterable[tuple[str, str]], deprecated: Sequence[str]
) -> StateDiff:
    slots.sort()
    for former, latter in pairwise(slots):
        if former[:2] == latter[:2]:
            where = f"{felt_text(former[0])} key {felt_text(former[1])}"
            raise InvalidStateDiffError(f"storage {where} is written twice")
    replaced = (
        (item.contract_address or item.address or "", item.class_hash) for item in diff.replaced_classes
    )
    return StateDiff(
        storage=slots,
        deployed=_pairs(
            "deployed_contracts", ((item.address, item.class_hash) for item in diff.deployed_contracts)
        ),
        replaced=_pairs("replaced_classes", replaced),
        nonces=_pairs("nonces", nonces),
        declared=_pairs("declared_classes", _compiled_pairs(diff.declared_classes)),
        migrated=_pairs("migrated_compiled_classes", _compiled_pairs(diff.migrated_compiled_classes)),
        deprecated=sorted({felt_bytes(class_hash) for class_hash in deprecated}),
    )


def _pairs(member: str, items: Iterable[tuple[str, str]]) -> list[Pair]:
    pairs = sorted((felt_bytes(key), felt_bytes(value)) for key, value in items)
    for former, latter in pairwise(pairs):
        if former[0] == latter[0]:
            raise InvalidStateDiffError(f"{member} names {felt_text(former[0])} twice")
    return pairs


def _compiled_pairs(items: Iterable[DeclaredClass]) -> Iterable[tuple[str, str]]:
    return ((item.class_hash, item.compiled_class_hash) for item in items)


class FlatEntry(msgspec.Struct, frozen=True, gc=False):
    """Changed slot in the stored form of a state diff: the contract's address, the key and the new value."""

    address: str
    key: str
    value: str


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """Contract whose class was replaced, with the new class, in a state diff as stored and as in results."""

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
    """State diff in its stored form, returned by `alt_getStateUpdate`: one row of `storage_diffs` a slot."""

    storage_diffs: list[FlatEntry]


class NestedDiff(_DiffMembers, frozen=True, kw_only=True):
    """State diff in the form of starknet-specs: one row of `storage_diffs` a contract, with its slots."""

    storage_diffs: list[ContractEntries]


decode_flat = JsonDecoder(FlatDiff).decode
"""Return a diff in its stored form out of the stored text."""
EMPTY = FlatDiff(
    storage_diffs=[],
    deprecated_declared_classes=[],
    declared_classes=[],
    deployed_contracts=[],
    replaced_classes=[],
    nonces=[],
)


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
