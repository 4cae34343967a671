"""What puts a development chain on another block, or on another chain."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import ForkedFrom, ForkRequest


class ForkedChain(msgspec.Struct, frozen=True):
    """A new chain on a block of another one, which nobody has yet."""

    chain: Chain
    fork: ForkedFrom
    funds: bytes
    """What is given to accounts again after each reset, as state overrides; they have it already."""
    follow: Callable[[], Awaitable[None]]
    """Has the nodes behind it be asked for its state, once it is in the other's place."""


class ForkFactory(Protocol):
    """Begins chains on blocks of other ones."""

    async def begin(self, forking: ForkRequest, present: ForkedFrom) -> ForkedChain | None:
        """Return a new chain on a block, None if it is the `present` one.

        Raises:
            ControlError: It cannot begin there.
        """
