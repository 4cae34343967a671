"""Interface of a network to the other processes of a node."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.live.sync_feed import StatusReporter, SyncReporter
from wsnode.ethereum.pool.pool import Relay, TransactionPool
from wsnode.ethereum.state import ChainSpec
from wsnode.node.services.sync_events import SyncEvents
from wsnode.server.access.rate_limit import CreditCountingRateLimiter, RateLimiter
from wsnode.server.shared import MetricValue


class SyncService(Protocol):
    """Source of a network's new blocks, with its readiness and metrics. In the process that extends the chain
    it is a `LocalSyncService`, in other processes a `SyncProxy`.
    """

    @property
    def following(self) -> SyncReporter: ...

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return the tasks that run as long as the network is served."""
        ...

    def not_ready_reason(self) -> str | None:
        """Return the reason why the network should not be asked now, None if it is ready."""
        ...

    def announced_height(self) -> int | None:
        """Return the number of the highest block elsewhere, None if that is not known."""
        ...

    def reload(self, network: Any, /) -> None:
        """Apply a new configuration of the network, such as other upstreams."""
        ...

    def figures(self) -> list[MetricValue]:
        """Return the metrics of following, for `/metrics`."""
        ...


class LocalSyncService(SyncService, Protocol):
    """Sync service in the process that extends and writes the chain for all processes of the node; it also
    sends their transactions to other nodes.
    """

    async def send(self, encoded: bytes) -> None:
        """Send a signed transaction of another process of this node to another node.

        Raises:
            SendFailedError: No node has taken it.
        """

    def tell(self, news: SyncEvents) -> None:
        """Pass events of the network to the other processes through `news` from now on."""


class SiblingProcesses(Protocol):
    """Link from a network to the same network in other processes of the node: key rates, transactions, sync
    status and damage are shared. `SingleProcess` and `WorkerSiblings` implement it.
    """

    writes: bool
    """True if this process writes the followed chains."""
    is_first: bool
    """True if this process logs for all of them which chains are opened."""

    def rate_limiter_of(self, network: str, digest: str, *, is_metered: bool) -> RateLimiter | None:
        """Return the counter of a key's use over all processes; None if this process counts alone.

        `digest` is the key's hash. A metered counter also sums the credits that were spent, for other
        machines.
        """
        ...

    def join(self, network: str, pool: TransactionPool) -> Relay | None:
        """Join a network's pool to those of the other processes.

        Returns the relay that passes a transaction to them, None if there are none.
        """
        ...

    def follows(self, network: str, followed: LocalSyncService, journal: StatusReporter | None) -> None:
        """Record a network that this process follows, and publishes if there is a `journal`."""
        ...

    def tell_damage(self, network: str, reason: str) -> None:
        """Notify the other processes that this one has read a damaged row in a network's store."""
        ...

    def told_damage(self, network: str) -> str | None:
        """Return the damage that another process has met in a network's store, None if none has."""
        ...

    def followed(
        self, network: str, spec: ChainSpec, hub: Hub, relay: Relay | None, mode: str
    ) -> SyncService:
        """Return a network that another process follows; `relay` passes a transaction to all processes.

        `mode` is the value of `mode` in `wsnode_status`.
        """
        ...


class SingleProcess:
    """Implementation of `SiblingProcesses` for a node with one process, so without any siblings."""

    writes = True
    is_first = True

    def rate_limiter_of(self, _network: str, _digest: str, *, is_metered: bool) -> RateLimiter | None:
        """Return a counter of this process if other machines need the sum, None for the default counter."""
        return CreditCountingRateLimiter() if is_metered else None

    def join(self, _network: str, _pool: TransactionPool) -> None: ...

    def follows(
        self, _network: str, _followed: LocalSyncService, _journal: StatusReporter | None
    ) -> None: ...

    def tell_damage(self, _network: str, _reason: str) -> None: ...

    def told_damage(self, _network: str) -> None: ...

    def followed(
        self, network: str, spec: ChainSpec, hub: Hub, relay: Relay | None, mode: str
    ) -> SyncService:
        """Fail: a lone process follows the chains that it serves."""
        raise AssertionError(network, spec, hub, relay, mode)
