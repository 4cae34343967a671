"""The other processes of a node, as a network needs them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.node.following import Following
from wsnode.ethereum.rpc.transactions.sending import Relay
from wsnode.ethereum.state import ChainSpec
from wsnode.server.access.uses import Uses
from wsnode.server.shared import Figure

if TYPE_CHECKING:
    # What few networks have is imported when one does: a node starts much sooner without it.
    from wsnode.node.growth.following import FollowedNetwork


class Followed(Protocol):
    """A network that is followed, by this process or another one."""

    @property
    def following(self) -> Following:
        """Return what its methods ask."""
        ...

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Return what runs as long as the network is served."""
        ...

    def hindrance(self) -> str | None:
        """Return why the network should not be asked now, None if nothing speaks against it."""
        ...

    def announced_height(self) -> int | None:
        """Return how high the upstreams' heads are, None if too few can be asked."""
        ...

    def reload(self, network: Any, /) -> None:
        """Follow what a configuration of the network names by now."""
        ...

    def figures(self) -> list[Figure]:
        """Return the numbers of following for `/metrics`."""
        ...


class Processes(Protocol):
    """What a network shares with the same network in other processes of the node."""

    writes: bool
    """Whether this process writes the chains that are followed."""

    def uses_of(self, network: str, digest: str) -> Uses | None:
        """Return what counts the use of a network's key, by its hash; None for this process alone."""
        ...

    def join(self, network: str, pool: TransactionPool) -> Relay | None:
        """Join a network's pool to the others'; return what has them take a transaction, if there are any."""
        ...

    def follows(self, network: str, followed: "FollowedNetwork") -> None:
        """Take note of a network that this process follows."""
        ...

    def followed(self, network: str, spec: ChainSpec, hub: Hub, relay: Relay | None) -> Followed:
        """Return a network that another process follows; `relay` has all of them take a transaction."""
        ...


class Alone:
    """A node of one process."""

    writes = True

    def uses_of(self, _network: str, _digest: str) -> None:
        """Return None: this process counts alone."""

    def join(self, _network: str, _pool: TransactionPool) -> None:
        """Return None: there is no other pool."""

    def follows(self, _network: str, _followed: "FollowedNetwork") -> None:
        """Do nothing: nobody else needs to know."""

    def followed(self, network: str, spec: ChainSpec, hub: Hub, relay: Relay | None) -> Followed:
        """Fail: a lone process follows what it serves."""
        raise AssertionError(network, spec, hub, relay)
