"""The link of a client to its upstream, over any transport."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import trio

from wsnode.upstream.errors import UpstreamRefusedError

MESSAGE_BYTES: Final = 64 << 20
"""The largest message: a block of 10 MB twice in hex, with the names of its members."""

OnEvent: TypeAlias = Callable[[bytes], None]
"""Called with the JSON text of a subscription's event; must not block."""


class Link(Protocol):
    """An open way to an upstream. After `ended` is set every question fails."""

    ended: trio.Event
    heard: int
    """Messages received, by which a waiting task distinguishes silence from slowness."""

    async def ask(self, method: str, params: list[Any]) -> bytes:
        """Return the JSON text of a call's result.

        Raises:
            UpstreamError: There is none.
        """

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        """Return the JSON texts of the results of a batch of calls, each with its parameters.

        Raises:
            UpstreamRefusedError: The upstream takes no batch, or none so large.
            UpstreamError: There is no answer.
        """

    async def subscribe(self, params: list[Any], on_event: OnEvent) -> None:
        """Have `on_event` called with each event of a subscription, until the link ends.

        Raises:
            UpstreamError: The upstream, or its transport, has no such subscription.
        """

    def drop(self) -> None:
        """End the link; questions on it fail."""
