"""Check of each block's contents: header, transactions, ommers, withdrawals and receipts against each other.

A block's RLP is put together from its rows and decoded as an import does it, senders included. So rows that
differ from those of the decoded block are damaged.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from wsnode.doctor.chain.rows import StoredBlock
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    block_from_rows,
    decode_blocks,
    verify_with_receipts,
)
from wsnode.ethereum.codec.headers import block_hash
from wsnode.ethereum.codec.rows import CorruptRowError, block_rlp
from wsnode.ethereum.state import ChainSpec, InvalidBlockError

OF_RECEIPTS: Final = ("receipts_root", "logs_bloom", "gas_used")
"""Rules for which receipts are wrong rather than the body."""


class ContentCheck:
    """Check of each block by itself, and of the links between blocks."""

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
        """Return a block with impersonated senders from its rows, on a development chain; else report the
        fault.

        Return None for a faulty block.
        """
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
