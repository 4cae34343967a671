"""Link of a client to its upstream, over any transport."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import trio

from wsnode.upstream.errors import UpstreamRefusedError
from wsnode.upstream.messages import ETH_SUBSCRIBE, Params

MESSAGE_BYTES: Final = 64 << 20
"""Maximum bytes of a message: a block of 10 MB, in hex and twice, with the names of its members."""

OnEvent: TypeAlias = Callable[[bytes], None]
"""Callback with the JSON text of a subscription's event; must not block."""


class Link(Protocol):
    """Open way to an upstream. Once `ended` is set, every call fails."""

    ended: trio.Event
    heard: int
    """Number of messages received, by which a waiting task distinguishes silence from slowness."""

    async def ask(self, method: str, params: Params) -> bytes:
        """Return the JSON text of a call's result.

        Raises:
            UpstreamError: No result came.
        """

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        """Return for each call of a batch the JSON text of its result, or the upstream's refusal.

        Raises:
            UpstreamRefusedError: The upstream takes no batch, or none of this size.
            UpstreamError: No answer came.
        """

    async def subscribe(self, params: Params, on_event: OnEvent, method: str = ETH_SUBSCRIBE) -> None:
        """Subscribe by `method`, and have `on_event` called with each event until the link ends.

        Raises:
            UpstreamError: The upstream, or its transport, has no such subscription.
        """

    def drop(self) -> None:
        """End the link; calls in flight on it fail."""
