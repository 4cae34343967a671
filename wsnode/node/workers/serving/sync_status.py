"""Status of followed networks between the process that follows and the workers, both ends."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Self

import msgspec
import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter, SyncProgress, with_journal
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.node.process_group import LocalSyncService
from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import (
    SILENT_SECONDS,
    PendingTransactions,
    PoolUpdateRequest,
    SyncRequest,
    SyncResponse,
    SyncStatus,
    ToWorker,
    parts,
)
from wsnode.server.shared import MetricValue
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.upstream.errors import SendFailedError

LOOK_SECONDS: Final = 0.1
"""Seconds between two checks for a change of status."""
AGAIN_LOOKS: Final = 10
"""Checks after which each network is reported even without a change, as a heartbeat."""
UNKNOWN: Final = "the process that follows has not reported its status"
_STATUS: Final = JsonDecoder[dict[str, Any]](dict[str, Any])


class SyncPublisher:
    """Publisher of sync status in the process that follows other nodes: it sends the status to workers, and
    sends their transactions to other nodes.
    """

    def __init__(self, channel: IpcChannel[ToWorker]) -> None:
        self._channel = channel
        self._networks: dict[str, _PublishedNetwork] = {}

    def follows(self, network: str, followed: LocalSyncService, journal: StatusReporter | None) -> None:
        """Report on a network from now on, and on the journal to which it is published."""
        made = self._networks[network] = _PublishedNetwork(self._channel, network, followed, journal)
        followed.tell(made)

    async def run(self) -> None:
        """Report each change, and each network once a second without one, for ever."""
        while True:
            for network in self._networks.values():
                network.reported = None
            for _ in range(AGAIN_LOOKS):
                for network in self._networks.values():
                    network.stands_anew()
                await trio.sleep(LOOK_SECONDS)

    async def answer(self, message: SyncRequest) -> None:
        """Send a worker's transaction to other nodes, or a network's status to the worker."""
        network, failure, status = self._networks.get(message.network), None, b""
        if message.transaction is None:
            status = b"" if network is None else await network.status()
        else:
            failure = await self._failure_of(message.network, network, message.transaction)
        self._channel.post(SyncResponse(message.number, failure, status, message.slot))

    async def _failure_of(
        self, name: str, network: "_PublishedNetwork | None", transaction: bytes
    ) -> str | None:
        """Return the reason why no node has taken a transaction, None if a node has."""
        if network is None:
            return f"{name} is not followed yet: its process has an older configuration"
        try:
            await network.followed.send(transaction)
        except SendFailedError as error:
            return str(error)
        return None


class _PublishedNetwork:
    """Followed network that reports to the workers; implements `SyncEvents`."""

    def __init__(
        self,
        channel: IpcChannel[ToWorker],
        name: str,
        followed: LocalSyncService,
        journal: StatusReporter | None,
    ) -> None:
        self._channel = channel
        self._name = name
        self.followed = followed
        self._journal = journal
        self.reported: SyncStatus | None = None
        """Status that was last reported; None to have it reported again."""

    def stands_anew(self) -> None:
        """Report the network's status, if it has changed."""
        status = self._status()
        if status != self.reported:
            self.reported = status
            self._channel.post(status)

    def heard(self, encoded: list[bytes]) -> None:
        for part in parts(encoded):
            self._channel.post(PendingTransactions(self._name, part))

    def pooled(self, encoded: list[bytes], dropped: list[bytes]) -> None:
        for part in parts(encoded):
            self._channel.post(PoolUpdateRequest(0, self._name, part))
        if dropped:
            self._channel.post(PoolUpdateRequest(0, self._name, [], dropped))

    async def status(self) -> bytes:
        """Return the JSON of `wsnode_status` for this network."""
        return msgspec.json.encode(with_journal(await self.followed.following.tell_status(), self._journal))

    def _status(self) -> SyncStatus:
        following = self.followed.following
        progress = following.progress
        way = None if progress is None else (progress.starting, progress.current, progress.highest)
        height = self.followed.announced_height()
        return SyncStatus(self._name, self.followed.not_ready_reason(), following.peers, way, height)


class SyncProxy:
    """Sync service of a worker for a network that another process follows: it keeps the last status from
    there, and passes transactions and requests on.
    """

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
        # An invalid transaction comes from a process that has another configuration or was compromised, so
        # the message is dropped.
        with suppress(InvalidTransactionError):
            self._hub.pending.hear([PooledTransaction(self._spec, each) for each in message.encoded])

    def reload(self, _network: object) -> None:
        """Do nothing: the process that follows reads the configuration itself."""

    def figures(self) -> list[MetricValue]:
        """Return no metrics, since the process that follows reports them."""
        return []
