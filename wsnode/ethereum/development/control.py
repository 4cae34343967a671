"""The interface between the methods of a development chain and its block maker."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.jsonrpc.errors import INTERNAL_ERROR, RpcError

BLOCKS_AT_ONCE: Final = 256
"""Blocks on demand that are made in a row, which takes a tenth of a second."""


class WriteFailedError(RpcError):
    """The chain could not be written: its disk is full or unreachable. It continues once it can be."""

    def __init__(self) -> None:
        super().__init__(INTERNAL_ERROR, "the chain cannot be written at the moment")


class ControlError(Exception):
    """Something that cannot be done to the chain; the text is for the caller."""


class ScheduledTransaction(msgspec.Struct, frozen=True):
    """A transaction of a new branch, which is completed when the block before its own is there."""

    sender: Address
    encode: Callable[[int, int | None], bytes]
    """Returns its bytes for a nonce, and for the base fee of its block; raises RpcError."""
    nonce: int | None = None
    """Its nonce, or None for the next one of its sender."""
    block: int = 0
    """The index of its block in the branch."""
    is_impersonated: bool = False


class ReorganisationRequest(msgspec.Struct, frozen=True):
    """A change of branch after `ancestor`; the transactions given that could not be in it, and why."""

    ancestor: Head
    change: HeadChange
    refused: list[tuple[int, str]]


class Impersonation:
    """Whose transactions need no signature."""

    def __init__(self, *, is_general: bool = False) -> None:
        self._addresses: dict[Address, None] = {}
        self._begins_general = is_general
        self.is_general = is_general
        """Whether transactions of all accounts need no signature."""

    @property
    def addresses(self) -> list[Address]:
        """Return those that were named."""
        return list(self._addresses)

    def covers(self, address: Address) -> bool:
        """Return whether transactions of `address` need no signature."""
        return self.is_general or address in self._addresses

    def begin(self, address: Address) -> None:
        """Take transactions of `address` without a signature."""
        self._addresses[address] = None

    def end_all(self) -> None:
        """Go back to how it began."""
        self._addresses.clear()
        self.is_general = self._begins_general

    def end(self, address: Address) -> bool:
        """Require signatures of `address` again, and return whether it was named."""
        was_named = address in self._addresses
        self._addresses.pop(address, None)
        return was_named


class DevelopmentLog:
    """Whether blocks, transactions and controls are printed for the person at the terminal."""

    def __init__(self) -> None:
        self.enabled = True


class ForkedFrom(msgspec.Struct, frozen=True):
    """The chain on which a development chain began: its node without secret parts, its id, the block."""

    url: str
    chain_id: int
    block: Head
    network: str | None = None
    """Its name, if it is a known one with rules of its own."""


class ForkRequest(msgspec.Struct, frozen=True):
    """A chain to begin on, and the block; None leaves either as it is, or is the head of another chain."""

    url: str | None = None
    block: int | None = None


class DevelopmentControl(Protocol):
    """A chain under control of its methods; each change returns once it is published."""

    @property
    def is_automatic(self) -> bool:
        """Return whether each transaction gets a block at once."""

    @property
    def interval(self) -> float | None:
        """Return the seconds between two blocks, None if they do not come at regular times."""

    async def mine(self, blocks: int = 1, *, interval: int = 0, timestamp: int | None = None) -> int:
        """Make blocks, and return the last one's number.

        Each is `interval` seconds later than it would be, the first exactly at `timestamp`. Other changes
        may come between `BLOCKS_AT_ONCE` of them and the next; a cancellation ends it between two.

        Raises:
            ControlError: The time is not later than the head's, or no block can be as late.
        """

    @property
    def is_quiet(self) -> bool:
        """Return whether no change of the chain is under way; none begins before the caller waits."""

    async def wait_quiet(self) -> None:
        """Return when no change of the chain is under way; none begins before the caller waits again."""

    async def settle(self) -> None:
        """Return when the transactions that can be in a block are, if each is to get one at once."""

    async def set_automatic(self, *, enabled: bool) -> None:
        """Give each transaction a block at once, or no longer."""

    def set_interval(self, seconds: float) -> None:
        """Mine a block every `seconds`; 0: only on request."""

    def next_block(self, head: Header) -> NextBlockAttributes:
        """Return the attributes of a block made now after `head` that do not follow from the head."""

    def increase_time(self, seconds: int) -> int:
        """Set the clock forward and return how far it is ahead by now.

        Raises:
            ControlError: No block can be as late.
        """

    def set_time(self, timestamp: int) -> int:
        """Have it be that time now, and return how many seconds later that is than it was.

        Raises:
            ControlError: It is earlier than the head's, or no block can be as late.
        """

    def set_next_timestamp(self, timestamp: int) -> None:
        """Give the next block exactly this time.

        Raises:
            ControlError: It is not later than the head's, or no block can be as late.
        """

    def set_next_base_fee(self, base_fee: int) -> None:
        """Give the next block this base fee, in wei.

        Raises:
            ControlError: It has more than 64 bits.
        """

    def set_gas_limit(self, gas_limit: int) -> None:
        """Give the next blocks this gas limit.

        Raises:
            ControlError: No block can have it.
        """

    def set_next_randao(self, prev_randao: Hash32) -> None:
        """Give the next block this random value."""

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Set the difference between two blocks' timestamps, and return whether one was set before.

        Raises:
            ControlError: It is 0.
        """

    @property
    def snapshots(self) -> Mapping[int, Head]:
        """Return the heads of the snapshots that there are, by their numbers."""

    async def snapshot(self) -> int:
        """Return a number under which the chain can be brought back to how it is now, once."""

    async def revert(self, identity: int) -> bool:
        """Restore a snapshot, and return whether it existed."""

    async def patch(self, address: Address, changes: dict[str, Any]) -> None:
        """Change an account in place: `balance`, `nonce`, `code`, `stateDiff`, as in state overrides."""

    async def set_chain_id(self, chain_id: int) -> None:
        """Have the blocks to come and all calls be of another chain; drop what waits for the one before.

        Raises:
            ControlError: It was changed as often as can be kept.
        """

    async def put_accounts(self, accounts: Mapping[Address, dict[str, Any]]) -> None:
        """Change many accounts in place at once; each has a `nonce`, a number, which becomes no lower."""

    async def add_balance(self, address: Address, wei: int) -> None:
        """Add `wei` to the balance of an account.

        Raises:
            ControlError: Its balance would not fit 256 bits.
        """

    @property
    def impersonation(self) -> Impersonation:
        """Return whose transactions need no signature."""

    @property
    def log(self) -> DevelopmentLog:
        """Return the switch of the chain's log."""

    fee_recipient: Address
    """The fee recipient of the next blocks."""

    async def drop(self, transaction: Hash32) -> bool:
        """Remove a transaction from the pool and return whether it was there."""

    async def drop_sent_by(self, address: Address) -> None:
        """Take every transaction of an account out of the pool."""

    async def drop_all(self) -> None:
        """Take every transaction out of the pool."""

    async def roll_back(self, depth: int) -> None:
        """Take the last `depth` blocks off the chain, and forget their transactions.

        Raises:
            ControlError: The chain is not that long.
        """

    @property
    def fork(self) -> ForkedFrom | None:
        """Return the chain on which this one began, None if it has a genesis of its own."""

    async def reset(self, forking: ForkRequest | None = None) -> None:
        """Begin anew after the first block, which may be another one, with all else as in the beginning.

        Raises:
            ControlError: It cannot begin on that block.
        """

    async def reorganise(
        self, depth: int, transactions: Sequence[ScheduledTransaction], *, keep_dropped: bool
    ) -> ReorganisationRequest:
        """Replace the last `depth` blocks by as many others, which hold the transactions given.

        Those of the dropped blocks go back into the pool, or with `keep_dropped` unset nowhere.

        Raises:
            ControlError: The chain is not that long, or a transaction is placed outside of the branch.
        """
