"""One payload that is being built."""

from collections.abc import Sequence

import msgspec
import trio

from wsnode.ethereum.codec.blocks import BuiltBlock, VerifiedBlock
from wsnode.ethereum.codec.rendering import render_receipts
from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.payloads.attributes import PayloadAttributes
from wsnode.ethereum.pool.blobs import Blob


class PayloadBuild:
    """What is decided of a payload, and its best block so far."""

    def __init__(self, parent: Rows, attributes: PayloadAttributes, gas_limit: int) -> None:
        self.parent = parent
        self.attributes = attributes
        self.gas_limit = gas_limit
        self.block: BuiltBlock | None = None
        self.value = 0
        """What the block earns its proposer, in wei."""
        self.blobs: Sequence[Blob] = ()
        """Those of the block's transactions, in their order."""
        self.pool_version = -1
        """The pool's when the block was built; -1 of an empty block."""
        self.is_begun = trio.Event()
        """Set once there is a block, or none can be built."""
        self.is_full = trio.Event()
        """Set once the pool was asked for transactions."""
        self.is_over = False

    def put(self, block: BuiltBlock, pool_version: int, blobs: Sequence[Blob]) -> None:
        """Take a block that was built, unless the one before earns its proposer more."""
        value = block_value(block)
        if self.block is None or value >= self.value:
            self.block, self.value, self.blobs = block, value, blobs
        self.pool_version = pool_version

    def end(self) -> None:
        """Build it no further."""
        self.is_over = True
        self.is_begun.set()
        self.is_full.set()


def block_value(block: VerifiedBlock) -> int:
    """Return what a block's proposer earns, in wei."""
    base_fee = header_fields(block.header).base_fee or 0
    receipts = msgspec.json.decode(render_receipts(block.header, block.body, block.receipts))
    gains = ((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)) for receipt in receipts)
    return sum(gas * (price - base_fee) for gas, price in gains)
