"""Calls on the state of a block below the first one, of which a small chain is built."""

from collections.abc import Generator
from functools import partial
from typing import Any

from wsnode.ethereum.not_found import history_unavailable
from wsnode.ethereum.rpc.common.below_fork import below_of
from wsnode.ethereum.rpc.middlewares.state_fetching import fetching
from wsnode.ethereum.snapshot import BlockName, CallerContext, HistoricalChain, Snapshot
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RESOURCE_UNAVAILABLE, RpcError
from wsnode.jsonrpc.generators import begun
from wsnode.jsonrpc.method import HandlerKind
from wsnode.jsonrpc.work import Await, Step


class HistoricalTurn(CallContext):
    """Turn of one call that reads from a past chain; the view stays open at its end."""

    __slots__ = ()

    is_shared = True

    def __init__(self, view: Snapshot) -> None:
        super().__init__(lambda _caller: view, view.caller, None, 0)
        self.scope = self.view = view

    @property
    def may_wait(self) -> bool:
        return False

    def apart(self) -> "HistoricalTurn":
        return self

    def beside(self) -> "HistoricalTurn":
        return HistoricalTurn(self.view)

    def end_turn(self) -> None:
        """Do nothing: `answered_by` closes the view."""


def answered_by(
    past: HistoricalChain, caller: CallerContext, method: tuple[str, HandlerKind], params: bytes
) -> Generator[Step, Any, Any]:
    """Return the result of a method, by its name and its handler, that reads from a past chain.

    Raises:
        RpcError: As the handler says, or the state is not proved.
    """
    name, kind = method
    with past.snapshot(caller) as view:
        turn = HistoricalTurn(view)
        answer = partial(kind.answer, turn, params)
        session = past.fetchers.begin(name, params, view)
        try:
            return (yield from fetching(begun(answer), answer, session, turn, may_move=False))
        except RpcError as error:
            if error.code == RESOURCE_UNAVAILABLE:
                raise history_unavailable(error.message) from None
            raise


def executed(view: Snapshot, block: BlockName) -> Generator[Step, Any, HistoricalChain | None]:
    """Return a chain on which a block has been executed, None where proofs do not reach so far."""
    below = below_of(view)
    try:
        past: HistoricalChain = yield Await(lambda: below.executed(block))
    except RpcError:
        return None
    return past


def block_name(view: Snapshot, number: int) -> BlockName:
    """Return the hash of a block that is stored here, the number of any other, to name it to the other
    node.
    """
    own = view.hash_of(number)
    return number if own is None else own
