"""The kinds of a dump's JSON documents: header, state update, both, pending update, class, or another.

Feeder form: get_block, get_state_update (with includeBlock or without), get_class_by_hash. RPC form:
getBlockWithTxHashes and its kin, getStateUpdate, getClass, each bare or as the result of a JSON-RPC reply.
"""

from typing import TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from wsnode.starknet.block import StarknetHeader, StateDiff
from wsnode.starknet.diff_json import decode_state_diff
from wsnode.starknet.dump.header_members import header_members
from wsnode.starknet.dump.receipt_block import has_receipts
from wsnode.starknet.felt import felt_bytes
from wsnode.untrusted.decoding import JsonDecoder

Optional: TypeAlias = msgspec.Raw | UnsetType


class _DocumentMembers(msgspec.Struct, frozen=True):
    block: Optional = UNSET
    state_update: Optional = UNSET
    result: Optional = UNSET
    state_diff: Optional = UNSET
    sierra_program: Optional = UNSET
    program: Optional = UNSET
    classes: dict[str, msgspec.Raw] | None = None
    block_hash: str | None = None
    block_number: int | None = None
    parent_hash: str | None = None
    parent_block_hash: str | None = None
    state_root: str | None = None
    new_root: str | None = None
    old_root: str | None = None
    timestamp: int | None = None
    starknet_version: str | None = None
    state_diff_commitment: str | None = None


class DumpUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """State update of a block in a dump; `diff_text` is the JSON of its state diff, not decoded yet."""

    hash: bytes
    old_root: bytes
    new_root: bytes
    number: int | None
    diff_text: bytes

    def diff(self) -> StateDiff:
        """Return the diff, checked and sorted.

        Raises:
            InvalidStateDiffError: It contradicts itself.
        """
        return decode_state_diff(self.diff_text)


class DumpDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Content of one JSON document of a dump: for example a header, a state update or classes. `other` is the
    reason why it has no usable content, None if it has some.
    """

    header: StarknetHeader | None = None
    update: DumpUpdate | None = None
    is_pending: bool = False
    """True if the document is the state update of an unfinished block."""
    is_class: bool = False
    body: bytes | None = None
    """The text of the header's document, if it has transactions and receipts; still in the source's form."""
    classes: dict[str, msgspec.Raw] = {}
    other: str | None = None


_decode = JsonDecoder(_DocumentMembers).decode


def read_document(text: bytes | msgspec.Raw) -> DumpDocument:
    """Return the content of `text`; never raises."""
    try:
        return _document(text)
    except ValueError as error:
        return DumpDocument(other=str(error))


def _document(text: bytes | msgspec.Raw) -> DumpDocument:
    members = _decode(text)
    if not isinstance(members.result, UnsetType):
        return _document(members.result)
    if not isinstance(members.sierra_program, UnsetType) or not isinstance(members.program, UnsetType):
        return DumpDocument(is_class=True)
    if not isinstance(members.state_update, UnsetType):
        return _block_and_update(members, members.state_update, text)
    return _state_update(members, text)


def _block_and_update(
    outer: _DocumentMembers, update: msgspec.Raw, text: bytes | msgspec.Raw
) -> DumpDocument:
    block_text = text if isinstance(outer.block, UnsetType) else outer.block
    block = _DocumentMembers() if isinstance(outer.block, UnsetType) else _decode(outer.block)
    document = _state_update(_decode(update), update)
    header, body_text = _header(block, block_text), block_text
    if header is None:
        header, body_text = _header(outer, text), text
    body = _body(header, body_text)
    return msgspec.structs.replace(document, header=header, body=body, classes=outer.classes or {})


def _state_update(members: _DocumentMembers, text: bytes | msgspec.Raw) -> DumpDocument:
    header, classes = _header(members, text), members.classes or {}
    if isinstance(members.state_diff, UnsetType):
        other = None if header else "no block, no state update and no class"
        return DumpDocument(header=header, body=_body(header, text), classes=classes, other=other)
    if members.block_hash is None or members.new_root is None or members.old_root is None:
        return DumpDocument(is_pending=True, classes=classes)
    update = DumpUpdate(
        hash=felt_bytes(members.block_hash),
        old_root=felt_bytes(members.old_root),
        new_root=felt_bytes(members.new_root),
        number=members.block_number,
        diff_text=bytes(members.state_diff),
    )
    return DumpDocument(header=header, update=update, body=_body(header, text), classes=classes)


def _body(header: StarknetHeader | None, text: bytes | msgspec.Raw) -> bytes | None:
    return bytes(text) if header is not None and has_receipts(text) else None


def _header(members: _DocumentMembers, text: bytes | msgspec.Raw) -> StarknetHeader | None:
    """Return the header, None if the document has no members of one beside those of every state update."""
    parent = members.parent_block_hash or members.parent_hash
    if members.block_hash is None or (parent is None and members.block_number is None):
        return None
    root = members.state_root or members.new_root
    return StarknetHeader(
        hash=felt_bytes(members.block_hash),
        number=members.block_number,
        parent_hash=felt_bytes(parent) if parent else None,
        root=felt_bytes(root) if root else None,
        timestamp=members.timestamp,
        version=members.starknet_version,
        commitment=felt_bytes(members.state_diff_commitment) if members.state_diff_commitment else None,
        more=header_members(text),
    )
