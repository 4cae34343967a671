"""Check of blocks beside the chain: rows under their own hash, complete, and linked to their parents."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.blocks import BuiltBlock, decode_blocks, verify_with_receipts
from wsnode.ethereum.codec.rows import CorruptRowError, block_rlp, header_fields
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage.tables import SIDE_BLOCKS
from wsnode.store.table import scan

_HASH: Final = 32
_NEEDED: Final = {b"h", b"b", b"t"}
_KINDS: Final = _NEEDED | {b"r", b"v", b"a"}


def check_side_blocks(view: Snapshot, findings: FaultCollector, *, impersonates: bool) -> None:
    """Check each block of `side_blocks`, with one block in memory at a time."""
    entries = view.reader.entries(SIDE_BLOCKS)
    done = 0
    for block_hash, rows in _blocks(view):
        done += len(rows)
        findings.progress.advanced("side_blocks", done, entries)
        findings.checked["side blocks"] += 1
        if text := _damage(view, block_hash, rows, impersonates=impersonates):
            findings.fault("side_blocks", text, _number(rows.get(b"h")), block_hash)


def _blocks(view: Snapshot) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    for block_hash, rows in groupby(scan(view.reader, SIDE_BLOCKS, b""), lambda entry: entry[0][:_HASH]):
        yield block_hash, {key[_HASH:]: row for key, row in rows}


def _damage(view: Snapshot, block_hash: bytes, rows: dict[bytes, bytes], *, impersonates: bool) -> str | None:
    if unknown := rows.keys() - _KINDS:
        return f"unknown row {min(unknown).hex()}"
    if missing := _NEEDED - rows.keys():
        return f"row {min(missing).decode()} is missing"
    if view.number_of(block_hash) is not None:
        return "the block is canonical too"
    if _total_differs(view, rows):
        return "its total difficulty is not its parent's and its own"
    try:
        return _contents_differ(view, block_hash, rows, impersonates=impersonates)
    except CorruptRowError as error:
        return str(error)


def _contents_differ(
    view: Snapshot, block_hash: bytes, rows: dict[bytes, bytes], *, impersonates: bool
) -> str | None:
    blocks, error = decode_blocks(view.spec, [block_rlp(rows[b"h"], rows[b"b"])])
    if error is not None:
        is_unsigned = impersonates and error.rule == "transaction_signature"
        return None if is_unsigned else str(error)
    block = blocks[0]
    if block.hash != block_hash or (block.header, block.body) != (rows[b"h"], rows[b"b"]):
        return "header or body are not those of its hash"
    for kind in (b"r", b"v"):
        if kind in rows:
            verified = verify_with_receipts(view.spec, block, rows[kind])
            if not isinstance(verified, BuiltBlock):
                return str(verified)
    return None


def _total_differs(view: Snapshot, rows: dict[bytes, bytes]) -> bool:
    try:
        fields = header_fields(rows[b"h"])
        before = view.total_difficulty_of(fields.parent_hash)
    except CorruptRowError:
        return False
    return before is not None and int.from_bytes(rows[b"t"], "big") != before + fields.difficulty


def _number(header: bytes | None) -> int | None:
    try:
        return None if header is None else header_fields(header).number
    except CorruptRowError:
        return None
