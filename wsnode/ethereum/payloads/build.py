"""Build of one payload."""

from collections.abc import Sequence

import msgspec
import trio

from wsnode.ethereum.codec.blocks import BuiltBlock, VerifiedBlock
from wsnode.ethereum.codec.rendering import render_receipts
from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.payloads.attributes import PayloadAttributes
from wsnode.ethereum.pool.blobs import Blob


class PayloadBuild:
    """Attributes of a payload, and the best block built so far."""

    def __init__(self, parent: Rows, attributes: PayloadAttributes, gas_limit: int) -> None:
        self.parent = parent
        self.attributes = attributes
        self.gas_limit = gas_limit
        self.block: BuiltBlock | None = None
        self.value = 0
        """Proposer's gain from the block, in wei."""
        self.blobs: Sequence[Blob] = ()
        """Blobs of the block's transactions, in order."""
        self.pool_version = -1
        """Version of the pool when the block was built; -1 for an empty block."""
        self.is_begun = trio.Event()
        """Event set once there is a block, or none can be built."""
        self.is_full = trio.Event()
        """Event set once a block with the pool's transactions has been built, or the build has ended."""
        self.is_over = False

    def put(self, block: BuiltBlock, pool_version: int, blobs: Sequence[Blob]) -> None:
        """Keep a built block, unless the present one earns the proposer more."""
        value = block_value(block)
        if self.block is None or value >= self.value:
            self.block, self.value, self.blobs = block, value, blobs
        self.pool_version = pool_version

    def end(self) -> None:
        self.is_over = True
        self.is_begun.set()
        self.is_full.set()


def block_value(block: VerifiedBlock) -> int:
    """Return the proposer's gain from a block, in wei: the tips of its transactions."""
    base_fee = header_fields(block.header).base_fee or 0
    receipts = msgspec.json.decode(render_receipts(block.header, block.body, block.receipts))
    gains = ((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)) for receipt in receipts)
    return sum(gas * (price - base_fee) for gas, price in gains)
