"""Reports of the process that follows to workers: the status of networks, and pending transactions."""

from typing import Final

import msgspec
import trio

from wsnode.ethereum.live.sync_feed import StatusReporter, with_journal
from wsnode.node.process_group import LocalSyncService
from wsnode.node.workers.ipc import IpcChannel
from wsnode.node.workers.messages import (
    PendingTransactions,
    PoolUpdateRequest,
    SyncRequest,
    SyncResponse,
    SyncStatus,
    ToWorker,
    parts,
)
from wsnode.upstream.errors import SendFailedError

LOOK_SECONDS: Final = 0.1
"""Seconds between two checks for a change of status."""
AGAIN_LOOKS: Final = 10
"""Checks after which each network is reported even without a change, as a heartbeat."""


class SyncPublisher:
    """Publisher of sync status to the workers, and sender of their transactions."""

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
