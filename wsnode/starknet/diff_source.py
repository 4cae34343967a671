"""State diffs in the forms of sources: a node's nested form and the feeder gateway's.

The feeder has maps for storage and nonces, `old_declared_contracts` and `replaced_classes[].address`; a node
answers starknet-specs' STATE_DIFF (0.2.0 and later: `storage_entries` nested in `storage_diffs`).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from wsnode.starknet.block import InvalidStateDiffError, Pair, Slot, StateDiff
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.untrusted.decoding import JsonDecoder


class StorageEntry(msgspec.Struct, frozen=True, gc=False):
    """A slot below its contract."""

    key: str
    value: str


class ContractEntries(msgspec.Struct, frozen=True):
    """A contract's slots."""

    address: str
    storage_entries: list[StorageEntry]


class DeployedContract(msgspec.Struct, frozen=True, gc=False):
    """A new contract."""

    address: str
    class_hash: str


class ReplacedClass(msgspec.Struct, frozen=True, gc=False):
    """Contract whose class was replaced."""

    class_hash: str
    contract_address: str | None = None
    address: str | None = None
    """Contract address under the feeder gateway's name."""


class DeclaredClass(msgspec.Struct, frozen=True, gc=False):
    """A Sierra class and its compiled class."""

    class_hash: str
    compiled_class_hash: str


class NonceUpdate(msgspec.Struct, frozen=True, gc=False):
    """A contract's new nonce."""

    contract_address: str
    nonce: str


class _Common(msgspec.Struct, frozen=True, kw_only=True):
    deployed_contracts: list[DeployedContract] = []
    replaced_classes: list[ReplacedClass] = []
    declared_classes: list[DeclaredClass] = []
    migrated_compiled_classes: list[DeclaredClass] = []


class RpcDiff(_Common, frozen=True, kw_only=True):
    """The diff in the form of nodes."""

    storage_diffs: list[ContractEntries]
    nonces: list[NonceUpdate] = []
    deprecated_declared_classes: list[str] = []


class FeederDiff(_Common, frozen=True, kw_only=True):
    """The diff in the form of the feeder gateway."""

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
        declared=_pairs("declared_classes", _compiled(diff.declared_classes)),
        migrated=_pairs("migrated_compiled_classes", _compiled(diff.migrated_compiled_classes)),
        deprecated=sorted({felt_bytes(class_hash) for class_hash in deprecated}),
    )


def _pairs(member: str, items: Iterable[tuple[str, str]]) -> list[Pair]:
    pairs = sorted((felt_bytes(key), felt_bytes(value)) for key, value in items)
    for former, latter in pairwise(pairs):
        if former[0] == latter[0]:
            raise InvalidStateDiffError(f"{member} names {felt_text(former[0])} twice")
    return pairs


def _compiled(items: Iterable[DeclaredClass]) -> Iterable[tuple[str, str]]:
    return ((item.class_hash, item.compiled_class_hash) for item in items)
