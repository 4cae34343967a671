"""Contents of a block's notification besides its header."""

from typing import TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_block, render_receipts

BlockRows: TypeAlias = tuple[bytes, bytes, bytes]
"""Header, body and receipts row of a block."""


class BlockContentOptions(msgspec.Struct, frozen=True):
    """Members of each notification of a subscription to whole blocks."""

    transactions: bool = False
    """True for transaction objects, False for hashes."""
    receipts: bool = False
    """True if the block has a member with the receipts of all transactions."""

    def render(self, rows: BlockRows) -> bytes:
        """Return the JSON text of a block, as eth_getBlockByHash and eth_getBlockReceipts write it."""
        text = render_block(rows[0], rows[1], full=self.transactions)
        if not self.receipts:
            return text
        return b'%b,"receipts":%b}' % (text[:-1], render_receipts(*rows))
