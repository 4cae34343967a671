"""Creation of chains that begin on a block of another chain, for a development chain to continue on."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import ForkedFrom, ForkRequest


class ForkedChain(msgspec.Struct, frozen=True):
    """New chain on a block of another one, not yet in use."""

    chain: Chain
    fork: ForkedFrom
    follow: Callable[[], Awaitable[None]]
    """Function that directs requests for state to the new chain's nodes, called once the chain is in use."""


class ForkFactory(Protocol):
    """Factory of chains on blocks of other chains."""

    async def begin(self, forking: ForkRequest, present: ForkedFrom) -> ForkedChain | None:
        """Return a new chain on the requested block, None if that is the `present` block.

        Raises:
            ControlError: The chain cannot begin on the requested block.
        """
