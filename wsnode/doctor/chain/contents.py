"""Check of blocks' contents: the rows of a canonical block, its access list, and blocks beside the chain.

Header, transactions, ommers, withdrawals and receipts are compared with each other. A block's RLP is put
together from its rows and decoded as an import does it, senders included. So rows that differ from those of
the decoded block are damaged.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from wsnode.doctor.chain.rows import StoredBlock, search_others
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    block_from_rows,
    decode_blocks,
    keccak256,
    verify_with_receipts,
)
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.codec.rows import CorruptRowError, block_rlp, header_fields
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.ethereum.storage.tables import ACCESS_LISTS, SIDE_BLOCKS, number_key
from wsnode.store.environment import Reader
from wsnode.store.table import scan

OF_RECEIPTS: Final = ("receipts_root", "logs_bloom", "gas_used")
"""Rules for which receipts are wrong rather than the body."""
_HASH: Final = 32
_SIDE_NEEDED: Final = {b"h", b"b", b"t"}
_SIDE_KINDS: Final = _SIDE_NEEDED | {b"r", b"v", b"a"}


class ContentCheck:
    """Check of `wsnode doctor` on each block: header, body and receipts are valid and agree, and the parent
    hash is that of the block before it.
    """

    def __init__(self, spec: ChainSpec, findings: FaultCollector, *, impersonates: bool) -> None:
        self._spec = spec
        self._findings = findings
        self._impersonates = impersonates
        self._before: StoredBlock | None = None

    def check(self, blocks: Sequence[StoredBlock]) -> None:
        """Check the blocks after those checked before; set `computed` of each to its header's hash."""
        self._findings.checked["blocks"] += len(blocks)
        complete = [(block, rlp) for block in blocks if (rlp := self._rlp(block)) is not None]
        for (stored, _), decoded in zip(complete, self._decoded(complete), strict=True):
            if decoded is not None:
                self._compare(stored, decoded)
        for before, block in pairwise([self._before, *blocks]):
            if before is not None and block is not None:
                self._check_link(before, block)
        self._before = blocks[-1]

    def _rlp(self, block: StoredBlock) -> bytes | None:
        for table, row in (("headers", block.header), ("bodies", block.body), ("receipts", block.receipts)):
            if row is None:
                self._findings.fault(table, "there is no row", block.number, block.named)
        if block.header is None or block.body is None:
            return None
        if block.named is None:
            self._findings.fault("headers", "the row cannot be read", block.number)
            return None
        try:
            return block_rlp(block.header, block.body)
        except CorruptRowError as error:
            self._findings.fault("bodies", str(error), block.number, block.named)
            return None

    def _decoded(self, blocks: Sequence[tuple[StoredBlock, bytes]]) -> list[UnverifiedBlock | None]:
        decoded: list[UnverifiedBlock | None] = []
        while len(decoded) < len(blocks):
            found, error = decode_blocks(self._spec, [rlp for _, rlp in blocks[len(decoded) :]])
            decoded += found
            if error is not None:
                decoded.append(self._undecoded(*blocks[len(decoded)], error))
        return decoded

    def _undecoded(
        self, stored: StoredBlock, encoded: bytes, error: InvalidBlockError
    ) -> UnverifiedBlock | None:
        """Return a block with impersonated senders from its rows, None after reporting a fault."""
        assert stored.header is not None
        assert stored.body is not None
        if self._impersonates and error.rule == "transaction_signature":
            self._findings.note("senders of blocks with impersonated transactions were not recovered")
            return block_from_rows(self._spec, stored.header, stored.body)
        table = "bodies" if block_hash(encoded) in (None, stored.named) else "headers"
        self._findings.fault(table, str(error), stored.number, stored.named)
        return None

    def _compare(self, stored: StoredBlock, block: UnverifiedBlock) -> None:
        stored.computed = block.hash
        fault = self._findings.fault
        if block.hash != stored.named or block.number != stored.number:
            text = f"the header is that of block {block.number} {'0x' + block.hash.hex()}"
            fault("headers", text, stored.number, stored.named)
            return
        if block.header != stored.header:
            fault("headers", "size or blob base fee is not the block's", stored.number, stored.named)
        if block.body != stored.body:
            fault("bodies", "a hash or a sender is not its transaction's", stored.number, stored.named)
        if stored.receipts is None:
            return
        verified = verify_with_receipts(self._spec, block, stored.receipts)
        if isinstance(verified, BuiltBlock):
            self._findings.checked["transactions"] += verified.transaction_count
            self._findings.checked["logs"] += verified.log_count
            if verified.receipts != stored.receipts:
                fault(
                    "receipts",
                    "the row differs from the one that an import writes",
                    stored.number,
                    stored.named,
                )
        else:
            table = "receipts" if verified.rule in OF_RECEIPTS else "bodies"
            text = f"{verified.rule}: {verified.expected} expected, {verified.actual} found"
            fault(table, text, stored.number, stored.named)

    def _check_link(self, before: StoredBlock, block: StoredBlock) -> None:
        hashes = {before.named, before.computed} - {None}
        if hashes and block.parent is not None and block.parent not in hashes:
            text = f"its parent is {'0x' + block.parent.hex()}, and no such block is before it"
            self._findings.fault("links", text, block.number, block.named)


class AccessListCheck:
    """Check of `wsnode doctor` that each block access list (EIP-7928) has the hash in its block's header. A
    missing list is a fault, except in a light folder.
    """

    def __init__(self, reader: Reader, findings: FaultCollector, *, is_light: bool) -> None:
        self._reader = reader
        self._findings = findings
        self._is_light = is_light
        self._keys: set[bytes] = set()

    def check(self, block: StoredBlock) -> None:
        stated = stated_hash(block)
        if stated is None:
            return
        key = number_key(block.number)
        row = self._reader.get(ACCESS_LISTS, key)
        if row is None:
            if not self._is_light:
                self._findings.fault(ACCESS_LISTS.name, "there is no row", block.number, block.named)
        else:
            self._keys.add(key)
            if keccak256(row) != stated:
                text = "the list is not the one of the header"
                self._findings.fault(ACCESS_LISTS.name, text, block.number, block.named)

    def finish(self) -> None:
        search_others(
            self._reader, ACCESS_LISTS, len(self._keys), self._findings, lambda key, _row: key in self._keys
        )


def stated_hash(block: StoredBlock) -> bytes | None:
    """Return the access list's hash in a block's header, None if it has none or cannot be read."""
    if block.header is None:
        return None
    try:
        return header_fields(block.header).block_access_list_hash
    except CorruptRowError:
        # The check of headers reports this fault.
        return None


def check_side_blocks(view: Snapshot, findings: FaultCollector, *, impersonates: bool) -> None:
    """Check each block of `side_blocks`, with one block in memory at a time."""
    entries = view.reader.entries(SIDE_BLOCKS)
    done = 0
    for side_hash, rows in _blocks(view):
        done += len(rows)
        findings.progress.advanced("side_blocks", done, entries)
        findings.checked["side blocks"] += 1
        if text := _damage(view, side_hash, rows, impersonates=impersonates):
            findings.fault("side_blocks", text, _number(rows.get(b"h")), side_hash)


def _blocks(view: Snapshot) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    for side_hash, rows in groupby(scan(view.reader, SIDE_BLOCKS, b""), lambda entry: entry[0][:_HASH]):
        yield side_hash, {key[_HASH:]: row for key, row in rows}


def _damage(view: Snapshot, side_hash: bytes, rows: dict[bytes, bytes], *, impersonates: bool) -> str | None:
    if unknown := rows.keys() - _SIDE_KINDS:
        return f"unknown row {min(unknown).hex()}"
    if missing := _SIDE_NEEDED - rows.keys():
        return f"row {min(missing).decode()} is missing"
    if view.number_of(side_hash) is not None:
        return "the block is canonical too"
    if _total_differs(view, rows):
        return "its total difficulty is not its parent's and its own"
    try:
        return _contents_differ(view, side_hash, rows, impersonates=impersonates)
    except CorruptRowError as error:
        return str(error)


def _contents_differ(
    view: Snapshot, side_hash: bytes, rows: dict[bytes, bytes], *, impersonates: bool
) -> str | None:
    blocks, error = decode_blocks(view.spec, [block_rlp(rows[b"h"], rows[b"b"])])
    if error is not None:
        is_unsigned = impersonates and error.rule == "transaction_signature"
        return None if is_unsigned else str(error)
    block = blocks[0]
    if block.hash != side_hash or (block.header, block.body) != (rows[b"h"], rows[b"b"]):
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
