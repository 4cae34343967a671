"""Calls that lack values of the state: these are fetched, and the calls are made again."""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from types import GeneratorType
from typing import Any

from wsnode.ethereum.live.block_barrier import BlockBarrier
from wsnode.ethereum.state_fetchers import FetchSession, StateFetchers
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.generators import begun, failing
from wsnode.jsonrpc.method import HandlerKind, Method, Middleware
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Step, Steps


class StateFetching(Middleware):
    """Middleware that fetches values of the state missing for a call from other nodes, and repeats the call
    on the same view, or once on a later one.
    """

    __slots__ = ("_again", "_fetchers", "_name")

    def __init__(self, name: str, inner: HandlerKind, again: HandlerKind, fetchers: StateFetchers) -> None:
        """Make the middleware of the method `name`; `again` repeats a call after a fetch."""
        super().__init__(inner)
        self._name = name
        self._again = again
        self._fetchers = fetchers

    def calling(self, function: Callable[..., Any]) -> HandlerKind:
        inner = self._inner.calling(function)
        return StateFetching(self._name, inner, inner, self._fetchers)

    def answer(self, turn: CallContext, params: bytes) -> Any:
        try:
            result = self._inner.answer(turn, params)
        except Exception as error:
            if not self._fetchers.is_lack(error):
                raise
            result = failing(error)
        return self._fetching(turn, params, result) if type(result) is GeneratorType else result

    def _fetching(self, turn: CallContext, params: bytes, steps: Steps) -> Steps:
        # The turn may have another view by the time that the call is made again.
        own, may_move = turn.beside(), not turn.is_shared
        own.scope, own.view = turn.scope, turn.view
        again = partial(self._again.answer, own, params)
        session = self._fetchers.begin(self._name, params, turn.view)
        return fetching(steps, again, session, own, may_move=may_move)


def fetching(
    steps: Steps, again: Callable[[], Any], session: FetchSession, own: CallContext, *, may_move: bool
) -> Generator[Step, Any, Any]:
    """Run the steps of a call; where they lack state, fetch it and make the call again.

    `own` is the call's context. If the call `may_move`, it may be repeated once on a later view.
    """
    owns_view = own.scope is None
    try:
        while True:
            try:
                return (yield from steps)
            except Exception as error:
                fetch = session.fetch_for(error)
                if fetch is None:
                    raise
            finally:
                steps.close()
            try:
                yield Await(fetch, is_shared=True)
            except RpcError:
                if not (may_move and session.moves_on()):
                    raise
                own.scope = own.view = None
                may_move, owns_view = False, True
            steps = begun(again)
    finally:
        if owns_view:
            own.end_turn()


class ChainRegistry(Registry):
    """Registry of a chain's methods, with the barrier and the source of state by which calls wait for missing
    blocks and fetch missing state.
    """

    barrier: BlockBarrier | None = None
    """Barrier for calls that name blocks of other nodes; None without a hub."""
    state_fetchers: StateFetchers | None = None
    """Source of values of the state that calls lack; None if all of it is stored here."""

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
        # The repeated call may be slow, so it is always made by the kind inside `method.kind`, which is
        # `inner[0]`.
        return StateFetching(method.name, kind, inner[0], fetchers)

    kind = method.kind.around(wrap)
    is_one = method.quick_kind is method.kind
    return method.of_kind(kind, None if is_one else method.quick_kind.around(wrap))
