"""Builds, verifies and stores blocks on the head of a chain: for one thread at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from wsnode.ethereum.appender import Appender
from wsnode.ethereum.building.next_block import NextBlock
from wsnode.ethereum.chain import Chain, Marks
from wsnode.ethereum.codec.blocks import block_from_rows, keccak256
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot

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
        self._is_torn = False
        """Whether a change failed half-way, and the stores could not be taken back yet."""

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
        gas_limit: int | None = None,
        salt: bytes = b"",
    ) -> BuiltBlock:
        """Return the block of these transactions, verified and stored.

        Its gas limit is the parent's unless one is given. A transaction with one of `senders` needs no
        signature. Blocks that are equal in all else differ if their `salt` does.
        """
        head = self.tip
        following = NextBlock(
            timestamp=timestamp,
            gas_limit=head.gas_limit if gas_limit is None else gas_limit,
            prev_randao=random_value(head, salt),
        )
        return self.append_next(following, transactions, senders=senders, fee_recipient=fee_recipient)

    def append_next(
        self,
        following: NextBlock,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        """Return the same with all that is decided about it.

        It passes the same checks as a block from elsewhere, so a builder's mistake cannot be stored, but that
        its gas limit and its base fee may be any.

        Raises:
            StateError, StoreError: It cannot be stored; the chain is as it was before.
        """
        with self._whole():
            return self._append_next(following, transactions, senders, fee_recipient)

    def _append_next(
        self,
        following: NextBlock,
        transactions: Sequence[bytes],
        senders: Sequence[bytes | None] | None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        parent, attributes = self._appender.tip, following.attributes(fee_recipient)
        built, refused = self._chain.state.build_block(parent, attributes, transactions, senders=senders)
        block = block_from_rows(self._chain.spec, built.header, built.body)
        extension = self._appender.extend([block], attributes)
        if extension.error is not None:
            raise extension.error
        head = self._appender.head
        # Before anything is written: what can fail without harm comes first.
        marks = self._marks(head)
        self._appender.store(self._appender.take_pending(), marks)
        return BuiltBlock(head, refused)

    def _marks(self, head: Head) -> Marks:
        with self._chain.snapshot() as snapshot:
            return Marks(_below(snapshot, head, 1), _below(snapshot, head, EPOCHS_TO_FINALITY))

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Take the blocks above `number` off the chain, and return them, highest first.

        With a state root, changes of that block's state are taken back until it has that root.

        Raises:
            StateError, StoreError: They cannot be taken off, or not all of them.
        """
        with self._whole():
            removed = self._chain.unwind(number, state_root)
            self._appender.reset()
        return removed

    def set_chain_id(self, chain_id: int) -> None:
        """Have the blocks after the head be of another id.

        Raises:
            ChainIdsError: It was changed as often as can be kept.
            StoreError: It cannot be stored; the id is as it was before.
        """
        with self._whole():
            self._chain.set_chain_id(chain_id)

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state in place; `accounts` is JSON as state overrides are.

        Raises:
            StateError: It cannot be written; the state is as it was before.
        """
        with self._whole():
            self._chain.state.patch(accounts, sync=self._chain.durable)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Have a change take place whole: if it fails, the stores go back to their lower head.

        There may be no room on the disk for that either. Then it is done before the next change.
        """
        self._mend()
        try:
            yield
        except BaseException:
            self._is_torn = True
            # Whatever fails here as well fails again before the next change, and is said then.
            with suppress(Exception):
                self._mend()
            raise

    def _mend(self) -> None:
        if self._is_torn:
            # First what is read alone: nobody may be shown a block that is not stored.
            self._appender.reset()
            self._chain.agree_on_head()
            self._appender.reset()
            self._is_torn = False


def _below(snapshot: Snapshot, head: Head, epochs: int) -> Head:
    number = BlockNumber(max(head.number - epochs * EPOCH, 0))
    block_hash = snapshot.hash_of(number)
    assert block_hash is not None, "blocks below the head are stored"
    return Head(number, block_hash)


def random_value(head: Header, salt: bytes = b"") -> bytes:
    """Return what the block after `head` has in the place of the beacon chain's random value.

    Anything does that is the same in every run.
    """
    return keccak256(head.hash + salt)
