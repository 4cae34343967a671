"""Interface between the methods of a development chain and its block maker."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from wsnode.ethereum.building.next_block import NextBlockAttributes
from wsnode.ethereum.codec.rows import Header
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.jsonrpc.errors import INTERNAL_ERROR, RpcError

BLOCKS_AT_ONCE: Final = 256
"""Blocks made on request before other changes may come between: a tenth of a second."""


class WriteFailedError(RpcError):
    """Error of a chain that cannot be written, for example on a full disk; it continues once writing
    succeeds.
    """

    def __init__(self) -> None:
        super().__init__(INTERNAL_ERROR, "the chain cannot be written at the moment")


class ControlError(Exception):
    """Error of a change that cannot be made; the text is for the caller."""


class ScheduledTransaction(msgspec.Struct, frozen=True):
    """Transaction of a new branch, completed when the block before its own exists."""

    sender: Address
    encode: Callable[[int, int | None], bytes]
    """Function from its nonce and its block's base fee to its bytes; raises RpcError."""
    nonce: int | None = None
    """Its nonce; None for the sender's next one."""
    block: int = 0
    """Index of its block in the branch."""
    is_impersonated: bool = False


class ReorganisationRequest(msgspec.Struct, frozen=True):
    """Change of branch after `ancestor`; `refused` has the index and the reason of each transaction left
    out.
    """

    ancestor: Head
    change: HeadChange
    refused: list[tuple[int, str]]


class Impersonation:
    """Accounts whose transactions need no signature."""

    def __init__(self, *, is_general: bool = False) -> None:
        self._addresses: dict[Address, None] = {}
        self._begins_general = is_general
        self.is_general = is_general
        """True if no account's transactions need a signature."""

    @property
    def addresses(self) -> list[Address]:
        """Return the accounts that were named by `begin`."""
        return list(self._addresses)

    def covers(self, address: Address) -> bool:
        """Return True if transactions of `address` need no signature."""
        return self.is_general or address in self._addresses

    def begin(self, address: Address) -> None:
        """Accept transactions of `address` without a signature."""
        self._addresses[address] = None

    def end_all(self) -> None:
        """Restore the state at the start: no named accounts, and the initial rule for all."""
        self._addresses.clear()
        self.is_general = self._begins_general

    def end(self, address: Address) -> bool:
        """Require signatures of `address` again; return True if it was named."""
        was_named = address in self._addresses
        self._addresses.pop(address, None)
        return was_named


class DevelopmentLog:
    """Switch of the lines printed for blocks, transactions and controls."""

    def __init__(self) -> None:
        self.enabled = True


class ForkedFrom(msgspec.Struct, frozen=True):
    """Chain on which a development chain began: its node's URL without secret parts, its id, its block."""

    url: str
    chain_id: int
    block: Head
    network: str | None = None
    """Name of the network, if it is known and has rules of its own."""


class ForkRequest(msgspec.Struct, frozen=True):
    """Requested chain and block to begin on; None keeps the present one, or means the head of another
    chain.
    """

    url: str | None = None
    block: int | None = None


class DevelopmentControl(Protocol):
    """Control of a chain by its methods; a change returns once it is published."""

    @property
    def is_automatic(self) -> bool:
        """Return True if each transaction gets a block immediately."""

    @property
    def interval(self) -> float | None:
        """Return the seconds between two blocks, None without regular blocks."""

    async def mine(self, blocks: int = 1, *, interval: int = 0, timestamp: int | None = None) -> int:
        """Make blocks, and return the number of the last one.

        The timestamp of each is moved on by `interval` seconds, and the first has exactly `timestamp`. Other
        changes may come between runs of `BLOCKS_AT_ONCE` blocks; a cancellation takes effect between two
        blocks.

        Raises:
            ControlError: The time is not later than the head's, or later than any block's can be.
        """

    @property
    def is_quiet(self) -> bool:
        """Return True if no change of the chain is under way; none begins before the caller waits."""

    async def wait_quiet(self) -> None:
        """Wait until no change of the chain is under way; none begins before the caller waits again."""

    async def settle(self) -> None:
        """Wait until all executable transactions are in blocks, if each is to get one immediately."""

    async def set_automatic(self, *, enabled: bool) -> None:
        """Give each transaction a block immediately, or stop doing so."""

    def set_interval(self, seconds: float) -> None:
        """Make a block every `seconds`; with 0, only on request."""

    def next_block(self, head: Header) -> NextBlockAttributes:
        """Return the attributes, other than those that follow from `head`, of a block made on it now."""

    def increase_time(self, seconds: int) -> int:
        """Set the clock forward, and return the seconds by which it is now ahead of the system clock.

        Raises:
            ControlError: The time is later than any block's can be.
        """

    def set_time(self, timestamp: int) -> int:
        """Set the clock to `timestamp`, and return the change in seconds, maybe negative.

        Raises:
            ControlError: The time is earlier than the head's, or later than any block's can be.
        """

    def set_next_timestamp(self, timestamp: int) -> None:
        """Set the exact time of the next block.

        Raises:
            ControlError: The time is not later than the head's, or later than any block's can be.
        """

    def set_next_base_fee(self, base_fee: int) -> None:
        """Set the base fee of the next block, in wei.

        Raises:
            ControlError: The fee exceeds 64 bits.
        """

    def set_gas_limit(self, gas_limit: int) -> None:
        """Set the gas limit of the next block and of later ones, in gas.

        Raises:
            ControlError: No valid block has this gas limit.
        """

    def set_next_randao(self, prev_randao: Hash32) -> None:
        """Set the random value (`prevRandao`) of the next block."""

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Set the difference of two blocks' timestamps in seconds; return True if one was set before.

        Raises:
            ControlError: The difference is 0.
        """

    @property
    def snapshots(self) -> Mapping[int, Head]:
        """Return the heads of the snapshots, by number."""

    async def snapshot(self) -> int:
        """Take a snapshot and return its number; `revert` can restore it once."""

    async def revert(self, identity: int) -> bool:
        """Restore a snapshot and return True; return False if it does not exist."""

    async def patch(self, address: Address, changes: dict[str, Any]) -> None:
        """Change an account in place: `balance`, `nonce`, `code`, `stateDiff`, as in state overrides."""

    async def set_chain_id(self, chain_id: int) -> None:
        """Change the chain id of further blocks and calls; drop pending transactions of the former id.

        Raises:
            ControlError: The id has been changed as often as can be recorded.
        """

    async def put_accounts(self, accounts: Mapping[Address, dict[str, Any]]) -> None:
        """Change many accounts in place, in one step; the `nonce` of each, an integer, never becomes
        lower.
        """

    async def add_balance(self, address: Address, wei: int) -> None:
        """Add `wei` to the balance of an account.

        Raises:
            ControlError: The balance would exceed 256 bits.
        """

    @property
    def impersonation(self) -> Impersonation:
        """Return the accounts whose transactions need no signature."""

    @property
    def log(self) -> DevelopmentLog:
        """Return the switch of the chain's log."""

    fee_recipient: Address
    """The fee recipient of the next blocks."""

    async def drop(self, transaction: Hash32) -> bool:
        """Remove a transaction from the pool; return True if it was there."""

    async def drop_sent_by(self, address: Address) -> None:
        """Remove every transaction of an account from the pool."""

    async def drop_all(self) -> None:
        """Remove every transaction from the pool."""

    async def roll_back(self, depth: int) -> None:
        """Remove the last `depth` blocks from the chain, and drop their transactions.

        Raises:
            ControlError: The chain has fewer blocks.
        """

    @property
    def fork(self) -> ForkedFrom | None:
        """Return the chain on which this one began, None if it has a genesis of its own."""

    async def reset(self, forking: ForkRequest | None = None) -> None:
        """Begin again after the first block, or on another first block, with all settings as at the start.

        Raises:
            ControlError: The chain cannot begin on the requested block.
        """

    async def reorganise(
        self, depth: int, transactions: Sequence[ScheduledTransaction], *, keep_dropped: bool
    ) -> ReorganisationRequest:
        """Replace the last `depth` blocks by as many new ones, with the given transactions.

        With `keep_dropped` the transactions of the replaced blocks return to the pool.

        Raises:
            ControlError: The chain has fewer blocks, or a transaction has an index outside of the branch.
        """
