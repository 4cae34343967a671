"""Attributes and transactions of the next block: the pool's executable transactions on the head."""

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import msgspec

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET, gas_limit_after
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Header, Rows
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.state import BlockAttributes, ChainSpec, State

MAX_GAS: Final = 100_000_000
LAST_TIME: Final = 2**64 - 1
_ZERO_ADDRESS: Final = bytes(20)
_ZERO_HASH: Final = bytes(32)


class NextBlockAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes of a new block that its maker chooses: time in seconds, gas limit, `prevRandao`, and base
    fee in wei, None to derive it from the parent.
    """

    timestamp: int
    gas_limit: int
    prev_randao: bytes = _ZERO_HASH
    base_fee: int | None = None
    may_lack_requests: bool = False
    """True if the block is built even if the system contract of its requests fails, then without requests."""

    def base_fee_after(self, spec: ChainSpec, parent: Header) -> int | None:
        """Return the block's base fee on `parent` in wei; None before there are base fees (EIP-1559)."""
        return spec.next_base_fee(parent) if self.base_fee is None else self.base_fee

    def attributes(self, fee_recipient: bytes = _ZERO_ADDRESS) -> BlockAttributes:
        return BlockAttributes(
            timestamp=self.timestamp,
            fee_recipient=fee_recipient,
            prev_randao=self.prev_randao,
            gas_limit=self.gas_limit,
            parent_beacon_block_root=_ZERO_HASH,
            base_fee=self.base_fee,
            may_lack_requests=self.may_lack_requests,
        )


class BlockPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of a block to build on the head: attributes, transactions in order, and the head's state."""

    state_root: bytes
    """State root of the head: a development chain may change the head's state in place."""
    chain_id: int
    """Chain id of the block: a development chain may change it."""
    parent: Rows
    head: Header
    next_block: NextBlockAttributes
    transactions: list[PooledTransaction]
    pool_version: int

    @property
    def gas(self) -> int:
        return sum(transaction.gas for transaction in self.transactions)

    def build(self, state: State) -> BuiltBlock:
        """Build the block and return it.

        Raises:
            ReorganisedError: The head has left the chain.
        """
        encoded = [transaction.encoded for transaction in self.transactions]
        senders = [named_sender(transaction) for transaction in self.transactions]
        return state.build_block(self.parent, self.next_block.attributes(), encoded, senders=senders)[0]


def block_now(head: Header, gas_limit_target: int = GAS_LIMIT_TARGET) -> NextBlockAttributes:
    """Return the attributes of a block made now: the current time, and the gas limit nearest the target."""
    timestamp = min(max(int(time.time()), head.timestamp + 1), LAST_TIME)
    return NextBlockAttributes(
        timestamp=timestamp, gas_limit=gas_limit_after(head.gas_limit, gas_limit_target)
    )


def continues(head: Header) -> bool:
    """Return True if a block may follow `head`; False on proof of work, where the header has a difficulty."""
    return head.difficulty == 0


def within(transactions: Sequence[PooledTransaction], gas_limit: int) -> list[PooledTransaction]:
    """Return the first transactions with at most `MAX_GAS` gas together, quick enough for the main thread.

    These are all of a block's, except on chains with nearly unlimited blocks.
    """
    if gas_limit <= MAX_GAS:
        return list(transactions)
    spent = accumulate(transaction.gas for transaction in transactions)
    return [transaction for transaction, gas in zip(transactions, spent, strict=True) if gas <= MAX_GAS]


def named_sender(transaction: PooledTransaction) -> bytes | None:
    """Return the impersonated sender of an unsigned transaction, None for a signed one."""
    return transaction.sender if transaction.is_impersonated else None
