"""The other processes of a node, as a network needs them."""

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
    """A network that is followed, by this process or another one."""

    @property
    def following(self) -> SyncReporter:
        """Return what its methods ask."""
        ...

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return what runs as long as the network is served."""
        ...

    def not_ready_reason(self) -> str | None:
        """Return why the network should not be asked now, None if nothing speaks against it."""
        ...

    def announced_height(self) -> int | None:
        """Return how high the chain is elsewhere, None if that is not known."""
        ...

    def reload(self, network: Any, /) -> None:
        """Follow what a configuration of the network names by now."""
        ...

    def figures(self) -> list[MetricValue]:
        """Return the numbers of following for `/metrics`."""
        ...


class LocalSyncService(SyncService, Protocol):
    """A network that this process follows, and writes, for all of them."""

    async def send(self, encoded: bytes) -> None:
        """Return once another node has taken a signed transaction of another process of this node.

        Raises:
            SendFailedError: None has.
        """

    def tell(self, news: SyncEvents) -> None:
        """Give the other processes news from now on."""


class ProcessGroup(Protocol):
    """What a network shares with the same network in other processes of the node."""

    writes: bool
    """Whether this process writes the chains that are followed."""
    is_first: bool
    """Whether this process logs what it opens, for all of them."""

    def rate_limiter_of(self, network: str, digest: str, *, is_metered: bool) -> RateLimiter | None:
        """Return what counts the use of a network's key, by its hash; None for this process alone.

        Of a metered one other machines learn what it has spent.
        """
        ...

    def join(self, network: str, pool: TransactionPool) -> Relay | None:
        """Join a network's pool to the others'; return what has them take a transaction, if there are any."""
        ...

    def follows(self, network: str, followed: LocalSyncService, journal: StatusReporter | None) -> None:
        """Take note of a network that this process follows, and publishes if there is a `journal`."""
        ...

    def followed(
        self, network: str, spec: ChainSpec | None, hub: Hub | None, relay: Relay | None, mode: str
    ) -> SyncService:
        """Return a network that another process follows; `relay` has all of them take a transaction.

        `mode` is what `wsnode_status` calls it. One with only a Starknet chain has neither `spec` nor `hub`.
        """
        ...


class SingleProcess:
    """A node of one process."""

    writes = True
    is_first = True

    def rate_limiter_of(self, _network: str, _digest: str, *, is_metered: bool) -> RateLimiter | None:
        """Return a count of this process, None for the usual one."""
        return CreditCountingRateLimiter() if is_metered else None

    def join(self, _network: str, _pool: TransactionPool) -> None:
        """Return None: there is no other pool."""

    def follows(self, _network: str, _followed: LocalSyncService, _journal: StatusReporter | None) -> None:
        """Do nothing: nobody else needs to know."""

    def followed(
        self, network: str, spec: ChainSpec | None, hub: Hub | None, relay: Relay | None, mode: str
    ) -> SyncService:
        """Fail: a lone process follows what it serves."""
        raise AssertionError(network, spec, hub, relay, mode)
