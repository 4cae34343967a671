"""What the block to come is built of: the pool's executable transactions on top of the head."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.rpc.answers import header_not_found
from wsnode.ethereum.rpc.lookup import Rows
from wsnode.ethereum.state import BlockAttributes, ReorganisedError, State

MOST_GAS: Final = 100_000_000
LAST_TIME: Final = 2**64 - 1
_ZERO_ADDRESS: Final = bytes(20)
_ZERO_HASH: Final = bytes(32)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A block that could be built on a head."""

    state: State
    state_root: bytes
    """The head's: a development chain may change its state in place."""
    parent: Rows
    parent_hash: bytes
    attributes: BlockAttributes
    transactions: list[PooledTransaction]
    pool_version: int
    now: int
    """In seconds, by the clock of the chain."""

    @property
    def gas(self) -> int:
        """Return how much gas its transactions may use."""
        return sum(transaction.gas for transaction in self.transactions)

    def build(self) -> BuiltBlock:
        """Return the block.

        Raises:
            RpcError: The head is gone.
        """
        encoded = [transaction.encoded for transaction in self.transactions]
        senders = [named_sender(transaction) for transaction in self.transactions]
        try:
            return self.state.build_block(self.parent, self.attributes, encoded, senders=senders)[0]
        except ReorganisedError:
            raise header_not_found() from None


def next_attributes(head: Header, now: int) -> BlockAttributes:
    """Return those of a block of which nothing is known but that it comes now."""
    return BlockAttributes(
        timestamp=min(max(now, head.timestamp + 1), LAST_TIME),
        fee_recipient=_ZERO_ADDRESS,
        prev_randao=_ZERO_HASH,
        gas_limit=head.gas_limit,
        parent_beacon_block_root=_ZERO_HASH,
    )


def continues(head: Header) -> bool:
    """Tell whether there is a block to come: none on proof of work."""
    return head.difficulty == 0


def within(transactions: Sequence[PooledTransaction], gas_limit: int) -> list[PooledTransaction]:
    """Return as many of the transactions as can be run while everybody waits.

    That is all that a block holds, but for chains whose blocks have next to no limit.
    """
    if gas_limit <= MOST_GAS:
        return list(transactions)
    spent = accumulate(transaction.gas for transaction in transactions)
    return [transaction for transaction, gas in zip(transactions, spent, strict=True) if gas <= MOST_GAS]


def named_sender(transaction: PooledTransaction) -> bytes | None:
    """Return whom a transaction is taken to be from though nobody signed it, None for any other."""
    return transaction.sender if transaction.is_impersonated else None
