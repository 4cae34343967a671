"""A chain that builds its own blocks: for demonstrations and tests."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows, keccak256
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head, HeadChange, PublishHeadChange
from wsnode.ethereum.state import BlockAttributes
from wsnode.sync.appender import Appender


class BuiltBlock(msgspec.Struct, frozen=True):
    """A new head, and those of the transactions that could not be part of it, with the reasons."""

    head: Head
    refused: list[tuple[int, str]]


class DevelopmentChain:
    """Builds blocks on the head of a chain that is open for writing; for one thread at a time."""

    def __init__(self, chain: Chain, publish: PublishHeadChange = lambda change: None) -> None:
        self._chain = chain
        self._publish = publish
        self._appender = Appender(chain)

    def append(self, transactions: Sequence[bytes], *, timestamp: int, fee_recipient: bytes) -> BuiltBlock:
        """Return the block of these signed transactions, verified, stored on the disk, and published.

        It passes the same checks as a block from elsewhere, so a builder's mistake cannot be stored.
        """
        parent = self._appender.tip
        attributes = self._attributes(parent[0], timestamp, fee_recipient)
        built, refused = self._chain.state.build_block(parent, attributes, transactions)
        block = block_from_rows(self._chain.spec, built.header, built.body)
        extension = self._appender.extend([block])
        if extension.error is not None:
            raise extension.error
        self._appender.store(self._appender.take_pending())
        head = self._appender.head
        self._chain.mark_final(head)
        self._publish(HeadChange((), (head,)))
        return BuiltBlock(head, refused)

    def _attributes(self, parent: bytes, timestamp: int, fee_recipient: bytes) -> BlockAttributes:
        header = header_fields(parent)
        return BlockAttributes(
            timestamp=timestamp,
            fee_recipient=fee_recipient,
            # Anything does that is the same in every run.
            prev_randao=keccak256(header.hash),
            gas_limit=header.gas_limit,
            parent_beacon_block_root=bytes(32),
        )
