"""Calls that name blocks which are still to come: they wait, where the node is behind others of its chain."""

from collections.abc import Iterator
from typing import Any, Final, get_args, get_type_hints

import msgspec

from wsnode.ethereum.live.arrivals import Arrivals, Awaited, Named
from wsnode.ethereum.rpc.form.parameters import BlockHash, BlockParameter, NumberOrTag
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.errors import BehindError, RpcError
from wsnode.jsonrpc.method import Kind, Method, Turn
from wsnode.jsonrpc.registry import Registry

BEHIND: Final = BehindError({"number": "0x…", "hash": "0x…"})
"""The error of every method that names a block."""
OF_THE_FUTURE: Final = frozenset({"eth_newFilter"})
"""Methods that may name blocks which do not exist anywhere yet."""
CURSORS: Final = frozenset({"eth_subscribe", "wsnode_getLogsPage"})
"""Methods that may name a block by a cursor, which another node may have written."""


def named_blocks(value: Any) -> Iterator[Awaited]:
    """Yield the blocks that a parameter names by number or hash; a tag names none."""
    if isinstance(value, NumberOrTag):
        if value >= 0:
            yield Named(value)
    elif isinstance(value, BlockHash):
        yield Named(None, value)
    elif isinstance(value, BlockParameter):
        yield from named_blocks(value.number)
        if value.hash is not None:
            yield Named(None, value.hash)
    elif hasattr(value, "named_blocks"):
        yield from value.named_blocks()
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from named_blocks(getattr(value, name))


def names_blocks(kind: Any) -> bool:
    """Return whether parameters of a type can name a block."""
    if not isinstance(kind, type):
        return any(map(names_blocks, get_args(kind)))
    if issubclass(kind, NumberOrTag | BlockHash | BlockParameter) or hasattr(kind, "named_blocks"):
        return True
    return issubclass(kind, msgspec.Struct) and any(map(names_blocks, get_type_hints(kind).values()))


class Awaiting(Kind):
    """Calls a handler once the blocks that the parameters name are here, if others have them already."""

    __slots__ = ("_arrivals", "_inner", "_takes_cursors")

    def __init__(self, inner: Kind, arrivals: Arrivals, *, takes_cursors: bool) -> None:
        super().__init__(inner.function, inner.parameters, inner.contracts)
        self._inner = inner
        self._arrivals = arrivals
        self._takes_cursors = takes_cursors

    def calling(self, function: Any) -> "Awaiting":
        """Return the kind with another handler."""
        return Awaiting(self._inner.calling(function), self._arrivals, takes_cursors=self._takes_cursors)

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result.

        Raises:
            BehindError: A block is still to come; the call waits for it where it may.
            RpcError: As the handler says.
        """
        if (self._takes_cursors or self._arrivals.is_behind) and turn.waits:
            self._require(self._due_after(params, self._here(turn)))
        return self._inner.answer(turn, params)

    def answer_read(self, turn: Turn, parameters: Any) -> Any:
        """Return the handler's result for parameters that are decoded."""
        if turn.waits:
            self._require(self._first_due(parameters, self._here(turn)))
        return self._inner.answer_read(turn, parameters)

    def awaited(self, params: bytes) -> Awaited | None:
        """Return a block that parameters as JSON text name and that has yet to come, None for none."""
        return self._due_after(params, self._arrivals.head.number)

    def _require(self, due: Awaited | None) -> None:
        if due is not None:
            raise self._arrivals.behind(due)

    def _here(self, turn: Turn) -> int:
        number: int = self._arrivals.head.number if turn.scope is None else turn.view.number
        return number

    def _due_after(self, params: bytes, here: int) -> Awaited | None:
        try:
            parameters = self.parameters.read(params)
        except (RpcError, *UNREADABLE):
            # The handler's decoder says what is wrong.
            return None
        return self._first_due(parameters, here)

    def _first_due(self, parameters: Any, here: int) -> Awaited | None:
        due = (each for each in named_blocks(parameters) if self._arrivals.is_due(each, here))
        return next(due, None)


def add_waiting(registry: Registry, arrivals: Arrivals) -> None:
    """Have the calls of all methods that name blocks wait for those that others have."""
    registry.arrivals = arrivals
    for name, method in registry.methods.items():
        struct = method.parameters.struct
        if struct is None or name in OF_THE_FUTURE or not names_blocks(struct):
            continue
        if arrivals.knows_others or name in CURSORS:
            registry.methods[name] = _waiting(method, arrivals)


def _waiting(method: Method, arrivals: Arrivals) -> Method:
    takes_cursors = method.name in CURSORS
    kinds = (method.kind, method.quick_kind)
    kind, quick_kind = (Awaiting(each, arrivals, takes_cursors=takes_cursors) for each in kinds)
    return method.failing([BEHIND]).of_kind(kind, quick_kind)
