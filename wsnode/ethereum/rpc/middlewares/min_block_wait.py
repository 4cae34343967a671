"""Wait of calls for blocks still to come, where the node is behind others of its chain."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, get_args, get_type_hints

import msgspec

from wsnode.ethereum.live.block_barrier import Awaited, BlockBarrier, NamedBlock, NodeLaggingError
from wsnode.ethereum.rpc.common.parameters import BlockHash, BlockParameter, NumberOrTag
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.generators import begun
from wsnode.jsonrpc.method import HandlerKind, Method, Middleware, Wrap
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Request, Steps

BEHIND: Final = NodeLaggingError({"number": "0x…", "hash": "0x…"})
"""The error of every method that names a block."""
OF_THE_FUTURE: Final = frozenset({"eth_newFilter"})
"""Methods with parameters that may name future blocks."""
CURSORS: Final = frozenset({"eth_subscribe", "wsnode_getLogsPage"})
"""Methods with a cursor in their parameters, possibly made by another node."""


def named_blocks(value: Any) -> Iterator[Awaited]:
    """Yield the blocks that a parameter names by number or hash; a tag names none."""
    if isinstance(value, NumberOrTag):
        if value >= 0:
            yield NamedBlock(value)
    elif isinstance(value, BlockHash):
        yield NamedBlock(None, value)
    elif isinstance(value, BlockParameter):
        yield from named_blocks(value.number)
        if value.hash is not None:
            yield NamedBlock(None, value.hash)
    elif hasattr(value, "named_blocks"):
        yield from value.named_blocks()
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from named_blocks(getattr(value, name))


def names_blocks(kind: Any) -> bool:
    """Return True if parameters of this type can name a block."""
    if not isinstance(kind, type):
        return any(map(names_blocks, get_args(kind)))
    if issubclass(kind, NumberOrTag | BlockHash | BlockParameter) or hasattr(kind, "named_blocks"):
        return True
    return issubclass(kind, msgspec.Struct) and any(map(names_blocks, get_type_hints(kind).values()))


class MinBlockWait(Middleware):
    """Middleware that delays a call until the node has the blocks named in its parameters, if other nodes
    have them.
    """

    __slots__ = ("_after", "_barrier", "_takes_cursors")

    def __init__(
        self,
        inner: HandlerKind,
        barrier: BlockBarrier,
        after: HandlerKind | None = None,
        *,
        takes_cursors: bool,
    ) -> None:
        """Make the middleware; calls are made by `inner`, and after a wait by `after` if given."""
        super().__init__(inner)
        self._after = after or inner
        self._barrier = barrier
        self._takes_cursors = takes_cursors

    def calling(self, function: Callable[..., Any]) -> "MinBlockWait":
        return MinBlockWait(self._inner.calling(function), self._barrier, takes_cursors=self._takes_cursors)

    def around(self, wrap: Wrap) -> HandlerKind:
        inner = self._inner.around(wrap)
        after = inner if self._after is self._inner else self._after.around(wrap)
        return MinBlockWait(inner, self._barrier, after, takes_cursors=self._takes_cursors)

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the handler's result, or steps that wait first.

        Raises:
            NodeLaggingError: A block is still to come, and the call may not wait.
            RpcError: The handler fails.
        """
        if self._takes_cursors or self._barrier.is_behind:
            due = self._due_after(params, self._here(turn))
            if due is not None:
                if not turn.may_wait:
                    raise self._barrier.behind()
                return self._wait(turn.apart(), params, due)
        return self._inner.answer(turn, params)

    def answer_read(self, turn: CallContext, parameters: Any) -> Any:
        """Return the handler's result for decoded parameters; the call may not wait.

        Raises:
            NodeLaggingError: A block is still to come.
            RpcError: The handler fails.
        """
        due = self._first_due(parameters, self._here(turn))
        if due is not None:
            raise self._barrier.behind()
        return self._inner.answer_read(turn, parameters)

    def awaited(self, params: bytes) -> Awaited | None:
        """Return a block still to come in parameters (JSON text), None if they name none."""
        return self._due_after(params, self._barrier.head.number)

    def _wait(self, own: CallContext, params: bytes, due: Awaited) -> Steps:
        """Return the result of a call that holds no view until it has waited."""
        yield waiting(self._barrier, (due,), own.caller)
        try:
            return (yield from begun(partial(self._after.answer, own, params)))
        finally:
            own.end_turn()

    def _here(self, turn: CallContext) -> int:
        number: int = self._barrier.head.number if turn.scope is None else turn.view.number
        return number

    def _due_after(self, params: bytes, here: int) -> Awaited | None:
        try:
            parameters = self.parameters.read(params)
        except (RpcError, *UNREADABLE):
            # The handler's decoder says what is wrong.
            return None
        return self._first_due(parameters, here)

    def _first_due(self, parameters: Any, here: int) -> Awaited | None:
        due = (each for each in named_blocks(parameters) if self._barrier.is_due(each, here))
        return next(due, None)


def waiting(barrier: BlockBarrier, awaited: Sequence[Awaited], caller: Any) -> Await:
    """Return the step that waits for blocks."""
    return Await(partial(barrier.wait, awaited, getattr(caller, "client", None)))


def add_waiting(registry: Registry, barrier: BlockBarrier) -> None:
    """Add the wait for blocks to all methods with a block in their parameters."""
    for name, method in registry.methods.items():
        struct = method.parameters.struct
        if struct is None or name in OF_THE_FUTURE or not names_blocks(struct):
            continue
        if barrier.knows_others or name in CURSORS:
            registry.methods[name] = _waiting(method, barrier)
    registry.before_batch = partial(_before_batch, registry, barrier)


def _waiting(method: Method, barrier: BlockBarrier) -> Method:
    takes_cursors = method.name in CURSORS
    kind = MinBlockWait(method.kind, barrier, takes_cursors=takes_cursors)
    quick_kind = MinBlockWait(method.quick_kind, barrier, method.kind, takes_cursors=takes_cursors)
    return method.failing([BEHIND]).of_kind(kind, quick_kind)


def _before_batch(
    registry: Registry, barrier: BlockBarrier, requests: Iterable[Request], caller: Any
) -> Await | None:
    """Return the step that waits for the blocks named in a batch, before its view is opened; None if all are
    here.
    """
    if not barrier.is_behind:
        return None
    awaited = list[Awaited]()
    for name, params, _identity in requests:
        method = registry.methods.get(name)
        if method is not None and isinstance(method.kind, MinBlockWait):
            due = method.kind.awaited(params)
            awaited += () if due is None else (due,)
    return waiting(barrier, awaited, caller) if awaited else None
