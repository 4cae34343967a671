"""Builds, verifies and stores blocks on the head of a chain: for one thread at a time."""

import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
import trio

from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.chain import Chain, FinalityMarks
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Address, BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import MissingStateError
from wsnode.ethereum.tree.tree import BlockTree

EPOCH: Final = 32
"""Blocks from the head down to the safe one, as in anvil, to leave room for reorganisations."""
EPOCHS_TO_FINALITY: Final = 2
MOST_ROUNDS: Final = 256
"""How often what a block lacks of the state below the first one is fetched."""

Result = TypeVar("Result")

logger = logging.getLogger("wsnode.development")


class BuiltBlock(msgspec.Struct, frozen=True):
    """A new head, and those of the transactions that could not be part of it, with the reasons."""

    head: Head
    refused: list[tuple[int, str]]


class BlockBuilder:
    """Builds on the head of a chain that is open for writing."""

    def __init__(self, chain: Chain, *, epoch: int = EPOCH) -> None:
        """Build on `chain`, whose safe block is an `epoch` of blocks below the head."""
        self._chain = chain
        self._epoch = epoch
        self.tree = BlockTree(chain)

    @property
    def tip(self) -> Header:
        """Return the head's header."""
        return header_fields(self.tree.tip[0])

    @property
    def has_arbos(self) -> bool:
        """Return whether ArbOS runs some accounts of the state, so that transactions may not come to them."""
        return self._chain.spec.has_arbos

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
        following = NextBlockAttributes(
            timestamp=timestamp,
            gas_limit=head.gas_limit if gas_limit is None else gas_limit,
            prev_randao=random_value(head, salt),
            may_lack_requests=True,
        )
        return self.append_next(following, transactions, senders=senders, fee_recipient=fee_recipient)

    def append_next(
        self,
        following: NextBlockAttributes,
        transactions: Sequence[bytes],
        *,
        senders: Sequence[bytes | None] | None = None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        """Return the block with all its attributes, appended to the chain.

        It is executed once, while it is built. It passes all other checks of a block from elsewhere; only its
        gas limit and its base fee are free.

        Raises:
            StateError, StoreError: It cannot be stored; the chain is unchanged.
        """
        with self.tree.whole():
            return self._append_next(following, transactions, senders, fee_recipient)

    def _append_next(
        self,
        following: NextBlockAttributes,
        transactions: Sequence[bytes],
        senders: Sequence[bytes | None] | None,
        fee_recipient: bytes,
    ) -> BuiltBlock:
        parent, attributes = self.tree.tip, following.attributes(fee_recipient)
        built, refused = self._known(
            lambda: self._chain.state.build_next(parent, attributes, transactions, senders=senders)
        )
        for failure in built.failed_calls:
            logger.warning("block %d: %s; it has no requests of that contract", built.number, failure)
        self.tree.accept_made(built, attributes)
        head = self.tree.head
        # First the steps that can fail without having written anything.
        self.tree.store_pending(self._marks(head))
        return BuiltBlock(head, refused)

    def _marks(self, head: Head) -> FinalityMarks:
        with self._chain.snapshot() as snapshot:
            return FinalityMarks(
                _below(snapshot, head, self._epoch), _below(snapshot, head, EPOCHS_TO_FINALITY * self._epoch)
            )

    def base_fee(self) -> int | None:
        """Return the base fee of the block after the head, in wei; None before there are base fees."""
        return self._chain.spec.next_base_fee(self.tip)

    def nonce(self, address: Address) -> int:
        """Return an account's nonce after the head.

        Raises:
            RpcError: It cannot be had.
        """
        head = self.tree.head
        account = self._known(lambda: self._chain.state.account(address, (head.number, head.hash)))
        return 0 if account is None else account[0]

    def unwind(self, number: int, state_root: Hash32 | None = None) -> list[Head]:
        """Remove the blocks above `number` from the chain, and return them, highest first.

        With a state root, changes of that block's state are undone until it has that root.

        Raises:
            StateError, StoreError: Not all of them can be removed.
        """
        return self.tree.unwind(number, state_root)

    def set_chain_id(self, chain_id: int) -> None:
        """Have the blocks after the head be of another id.

        Raises:
            ChainIdsError: It was changed as often as can be kept.
            StoreError: It cannot be stored; the id is as it was before.
        """
        with self.tree.whole():
            self._chain.set_chain_id(chain_id)

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state in place; `accounts` is JSON as state overrides are.

        Raises:
            StateError: It cannot be written; the state is as it was before.
        """
        with self.tree.whole():
            self._known(lambda: self._chain.patch(accounts))

    def _known(self, work: Callable[[], Result]) -> Result:
        """Return the result of work, once what it lacks of the state below the first block is there.

        Raises:
            RpcError: It cannot be had.
        """
        for _ in range(MOST_ROUNDS):
            try:
                return work()
            except MissingStateError as error:
                if self._chain.fetch is None:
                    raise
                # The thread is one of the event loop's.
                trio.from_thread.run(self._chain.fetch, error)
        return work()


def _below(snapshot: Snapshot, head: Head, blocks: int) -> Head:
    if blocks == 0:
        # It is not stored yet.
        return head
    number = BlockNumber(max(head.number - blocks, snapshot.earliest))
    block_hash = snapshot.hash_of(number)
    assert block_hash is not None, "blocks below the head are stored"
    return Head(number, block_hash)


def random_value(head: Header, salt: bytes = b"") -> bytes:
    """Return the random value (`prevRandao`) of the block after `head`.

    Any value serves that is reproducible.
    """
    return keccak256(head.hash + salt)
