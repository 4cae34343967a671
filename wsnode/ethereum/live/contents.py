"""Contents of a block's notification beyond its header."""

from typing import TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_block, render_receipts

BlockRows: TypeAlias = tuple[bytes, bytes, bytes]
"""A block's header, body and receipts row."""


class BlockContents(msgspec.Struct, frozen=True):
    """What a subscription to whole blocks receives of each."""

    transactions: bool = False
    """Transaction objects instead of hashes."""
    receipts: bool = False
    """The receipts of all transactions, as a member of the block."""

    def render(self, rows: BlockRows) -> bytes:
        """Return the JSON text of a block, as eth_getBlockByHash and eth_getBlockReceipts write it."""
        text = render_block(rows[0], rows[1], full=self.transactions)
        if not self.receipts:
            return text
        return b'%b,"receipts":%b}' % (text[:-1], render_receipts(*rows))
