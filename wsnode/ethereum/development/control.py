"""Requests to a development chain, its errors, impersonated accounts, and forks of another chain."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.primitives.values import Address
from wsnode.jsonrpc.errors import INTERNAL_ERROR, RpcError

BLOCKS_AT_ONCE: Final = 256
"""Blocks made on request before other changes may come between: a tenth of a second."""


class WriteFailedError(RpcError):
    """Error of a chain that cannot be written, as on a full disk; the chain works again once writing
    succeeds.
    """

    def __init__(self) -> None:
        super().__init__(INTERNAL_ERROR, "the chain cannot be written at the moment")


class ControlError(Exception):
    """Error of a requested change that a development chain cannot make; its text becomes the message of the
    JSON-RPC error.
    """


class ScheduledTransaction(msgspec.Struct, frozen=True):
    """Transaction to include in a block of a new branch; it is encoded once the previous block exists,
    because its nonce and fees may depend on it.
    """

    sender: Address
    encode: Callable[[int, int | None], bytes]
    """Function from its nonce and its block's base fee to its bytes; raises RpcError."""
    nonce: int | None = None
    """Its nonce; None for the sender's next one."""
    block: int = 0
    """Index of its block in the branch."""
    is_impersonated: bool = False


class ReorganisationRequest(msgspec.Struct, frozen=True):
    """Outcome of a requested reorganisation: the last common block, the blocks removed and added, and the
    index and reason of each transaction left out.
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
    """Switch (anvil_setLoggingEnabled) of the lines printed for a development chain's blocks, transactions
    and controls.
    """

    def __init__(self) -> None:
        self.enabled = True


class ForkedFrom(msgspec.Struct, frozen=True):
    """Origin of a forked development chain: URL of the other chain's node without secret parts, chain id, and
    the block on which the fork began.
    """

    url: str
    chain_id: int
    block: Head
    network: str | None = None
    """Name of the network, if it is known and has rules of its own."""


class ForkRequest(msgspec.Struct, frozen=True):
    """Request to begin the development chain anew on another block (anvil_reset). Without `url` it stays on
    the present chain; without `block` it takes the present block, or the head of another chain.
    """

    url: str | None = None
    block: int | None = None


class ForkedChain(msgspec.Struct, frozen=True):
    """New development chain that forks another one, opened but not yet in use."""

    chain: Chain
    fork: ForkedFrom
    follow: Callable[[], Awaitable[None]]
    """Function that directs requests for state to the new chain's nodes, called once the chain is in use."""


class ForkFactory(Protocol):
    """Factory of development chains that fork another chain, called by anvil_reset; implemented by
    `TemporaryForkFactory`.
    """

    async def begin(self, forking: ForkRequest, present: ForkedFrom) -> ForkedChain | None:
        """Return a new chain on the requested block, None if that is the `present` block.

        Raises:
            ControlError: The chain cannot begin on the requested block.
        """
