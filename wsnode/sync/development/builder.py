"""Builds, verifies and stores blocks on the head of a chain: for one thread at a time."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.ethereum.chain import Chain, Marks
from wsnode.ethereum.codec.blocks import block_from_rows, keccak256
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes
from wsnode.sync.appender import Appender

# What is safe and what is final is as far below the head as with anvil, so there is room to reorganise.
EPOCH: Final = 32
EPOCHS_TO_FINALITY: Final = 2


class BuiltBlock(msgspec.Struct, frozen=True):
    """A new head, and those of the transactions that could not be part of it, with the reasons."""

    head: Head
    refused: list[tuple[int, str]]


class BlockBuilder:
    """Builds on the head of a chain that is open for writing."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._appender = Appender(chain)

    @property
    def tip(self) -> Header:
        """Return the head's header."""
        return header_fields(self._appender.tip[0])

    def append(
        self,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        timestamp: int,
        fee_recipient: bytes,
        salt: bytes = b"",
    ) -> BuiltBlock:
        """Return the block of these transactions, verified and stored.

        It passes the same checks as a block from elsewhere, so a builder's mistake cannot be stored. A
        transaction with one of `senders` needs no signature. Blocks that are equal in all else differ if
        their `salt` does.
        """
        parent = self._appender.tip
        attributes = _attributes(header_fields(parent[0]), timestamp, fee_recipient, salt)
        built, refused = self._chain.state.build_block(parent, attributes, transactions, senders=senders)
        block = block_from_rows(self._chain.spec, built.header, built.body)
        extension = self._appender.extend([block])
        if extension.error is not None:
            raise extension.error
        head = self._appender.head
        self._appender.store(self._appender.take_pending(), self._marks(head))
        return BuiltBlock(head, refused)

    def _marks(self, head: Head) -> Marks:
        with self._chain.snapshot() as snapshot:
            return Marks(_below(snapshot, head, 1), _below(snapshot, head, EPOCHS_TO_FINALITY))

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Take the blocks above `number` off the chain, and return them, highest first.

        With a state root, changes of that block's state are taken back until it has that root.
        """
        removed = self._chain.unwind(number, state_root)
        self._appender.reset()
        return removed


def _below(snapshot: Snapshot, head: Head, epochs: int) -> Head:
    number = BlockNumber(max(head.number - epochs * EPOCH, 0))
    block_hash = snapshot.hash_of(number)
    assert block_hash is not None, "blocks below the head are stored"
    return Head(number, block_hash)


def _attributes(parent: Header, timestamp: int, fee_recipient: bytes, salt: bytes) -> BlockAttributes:
    return BlockAttributes(
        timestamp=timestamp,
        fee_recipient=fee_recipient,
        # Anything does that is the same in every run.
        prev_randao=keccak256(parent.hash + salt),
        gas_limit=parent.gas_limit,
        parent_beacon_block_root=bytes(32),
    )
