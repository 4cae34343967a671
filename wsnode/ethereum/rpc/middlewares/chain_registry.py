"""Registry of a chain's methods, with the fetching of state and the wait for blocks."""

from collections.abc import Sequence

from wsnode.ethereum.live.block_barrier import BlockBarrier
from wsnode.ethereum.rpc.middlewares.state_fetching import StateFetching
from wsnode.ethereum.state_fetchers import StateFetchers
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.method import HandlerKind, Method
from wsnode.jsonrpc.registry import Registry


class ChainRegistry(Registry):
    """Methods by name."""

    barrier: BlockBarrier | None = None
    """Has calls wait for blocks that other nodes have, where a hub says when they come."""
    state_fetchers: StateFetchers | None = None
    """Fetches values of the state that calls lack; None if all of it is here."""

    def fetch_state(self, fetchers: StateFetchers, errors: Sequence[RpcError]) -> None:
        """Make calls of all methods fetch missing state; any call may then fail with one of `errors`."""
        self.state_fetchers = fetchers
        for name, method in self.methods.items():
            self.methods[name] = _fetching(method, fetchers).failing(errors)


def _fetching(method: Method, fetchers: StateFetchers) -> Method:
    """Return a method with state fetching inside of its wait for blocks."""
    inner = list[HandlerKind]()

    def wrap(kind: HandlerKind) -> HandlerKind:
        inner.append(kind)
        # What may be slow makes the calls again.
        return StateFetching(method.name, kind, inner[0], fetchers)

    kind = method.kind.around(wrap)
    is_one = method.quick_kind is method.kind
    return method.of_kind(kind, None if is_one else method.quick_kind.around(wrap))
