"""A network that another process of the node follows, as a worker sees it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Self

import msgspec
import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.state import ChainSpec
from wsnode.node.workers.messages import Heard, Standing
from wsnode.server.shared import Figure

UNKNOWN: Final = "the process that follows has not said how it stands"
SILENT_SECONDS: Final = 5.0
"""After which the process that follows hangs: it says each second how it stands."""


class FollowedElsewhere:
    """Stands in for a follower, by what the process that follows has sent last."""

    background: Sequence[Callable[[], Awaitable[None]]] = ()

    def __init__(
        self,
        spec: ChainSpec | None,
        hub: Hub | None,
        send: Callable[[bytes], Awaitable[None]],
        inquire: Callable[[], Awaitable[bytes | None]],
        mode: str,
    ) -> None:
        """`send` has the process that follows send a transaction, `inquire` asks it for its status.

        `mode` is what that calls how the chain grows. With only an alt chain there is no `spec` and no `hub`.
        """
        self._spec = spec
        self._hub = hub
        self._send = send
        self._inquire = inquire
        self._mode = mode
        self._standing: Standing | None = None
        self._heard = 0.0
        """When that was said."""

    @property
    def following(self) -> Self:
        """Return itself: it answers as a follower does."""
        return self

    @property
    def progress(self) -> SyncProgress | None:
        """Return how far the way to the others' head is gone, None at its end."""
        if self._standing is None or self._standing.progress is None:
            return None
        return SyncProgress(*self._standing.progress)

    @property
    def peers(self) -> int:
        """Return how many nodes are followed now."""
        return 0 if self._standing is None else self._standing.peers

    async def tell_status(self) -> dict[str, Any]:
        """Return the state of following, and of each node; of neither if the process that follows is gone."""
        found = await self._inquire()
        if found is None:
            head = None if self._hub is None else self._hub.head.members()
            return {"mode": self._mode, "head": head, "upstreams": []}
        status: dict[str, Any] = msgspec.json.decode(found)
        return status

    def hindrance(self) -> str | None:
        """Return why this network should not be asked now, None if nothing speaks against it."""
        if self._standing is None:
            return UNKNOWN
        silence = trio.current_time() - self._heard
        if self._standing.hindrance is None and silence > SILENT_SECONDS:
            return f"the process that follows has said nothing for {silence:.0f} s"
        return self._standing.hindrance

    def announced_height(self) -> int | None:
        """Return how high the chain is elsewhere, None if that is not known."""
        return None if self._standing is None else self._standing.height

    async def send(self, encoded: bytes) -> None:
        """Return once a followed node has taken a signed transaction, and all processes of this one have it.

        Raises:
            NotSentError: No node has.
        """
        await self._send(encoded)

    def hear(self, message: Standing | Heard) -> None:
        """Take what the process that follows tells all workers."""
        if isinstance(message, Heard):
            self._announce(message)
            return
        self._heard = trio.current_time()
        was_behind, self._standing = self.progress is not None, message
        if self._hub is not None and was_behind != (self.progress is not None):
            self._hub.syncing.announce(self.progress)

    def _announce(self, message: Heard) -> None:
        if self._hub is not None and self._spec is not None:
            self._hub.pending.hear([PooledTransaction(self._spec, each) for each in message.encoded])

    def reload(self, _network: object) -> None:
        """Do nothing: the process that follows reads the configuration again too."""

    def figures(self) -> list[Figure]:
        """Return no numbers: the process that follows tells them."""
        return []
