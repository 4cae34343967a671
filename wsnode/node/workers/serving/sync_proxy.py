"""Sync service of a worker whose network another process follows."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Self

import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import SyncProgress
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.node.workers.messages import SILENT_SECONDS, PendingTransactions, SyncStatus
from wsnode.server.shared import MetricValue
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

_STATUS: Final = JsonDecoder[dict[str, Any]](dict[str, Any])
UNKNOWN: Final = "the process that follows has not reported its status"


class SyncProxy:
    """Sync service with the last status from another process."""

    background: Sequence[Callable[[], Awaitable[None]]] = ()

    def __init__(
        self,
        spec: ChainSpec,
        hub: Hub,
        send: Callable[[bytes], Awaitable[None]],
        inquire: Callable[[], Awaitable[bytes | None]],
        mode: str,
    ) -> None:
        """Prepare to ask the process that follows.

        `send` has it send a transaction, and `inquire` requests its status. `mode` is the value of `mode` in
        `wsnode_status`.
        """
        self._spec = spec
        self._hub = hub
        self._send = send
        self._inquire = inquire
        self._mode = mode
        self._status: SyncStatus | None = None
        self._heard = 0.0
        """Time of arrival of the status, by trio's clock."""

    @property
    def following(self) -> Self:
        return self

    @property
    def progress(self) -> SyncProgress | None:
        if self._status is None or self._status.progress is None:
            return None
        return SyncProgress(*self._status.progress)

    @property
    def peers(self) -> int:
        """Return the number of nodes that are followed now."""
        return 0 if self._status is None else self._status.peers

    async def tell_status(self) -> dict[str, Any]:
        """Return the result of `wsnode_status`, without upstreams if the process that follows has ended."""
        found = await self._inquire()
        if found is not None:
            with suppress(MalformedError):
                return _STATUS.decode(found)
        return {"mode": self._mode, "head": self._hub.head.members(), "upstreams": []}

    def not_ready_reason(self) -> str | None:
        if self._status is None:
            return UNKNOWN
        silence = trio.current_time() - self._heard
        if self._status.not_ready_reason is None and silence > SILENT_SECONDS:
            return f"the process that follows has not reported for {silence:.0f} s"
        return self._status.not_ready_reason

    def announced_height(self) -> int | None:
        return None if self._status is None else self._status.height

    async def send(self, encoded: bytes) -> None:
        """Send a signed transaction by way of the process that follows, and to all processes of this node.

        Raises:
            SendFailedError: No node has taken it.
        """
        await self._send(encoded)

    def hear(self, message: SyncStatus | PendingTransactions) -> None:
        """Record a message of the process that follows."""
        if isinstance(message, PendingTransactions):
            self._announce(message)
            return
        self._heard = trio.current_time()
        was_behind, self._status = self.progress is not None, message
        if was_behind != (self.progress is not None):
            self._hub.syncing.announce(self.progress)

    def _announce(self, message: PendingTransactions) -> None:
        # One that is none comes from a process that has another configuration, or was taken over.
        with suppress(InvalidTransactionError):
            self._hub.pending.hear([PooledTransaction(self._spec, each) for each in message.encoded])

    def reload(self, _network: object) -> None:
        """Do nothing: the process that follows reads the configuration itself."""

    def figures(self) -> list[MetricValue]:
        """Return no metrics, since the process that follows reports them."""
        return []
