"""One registered method: the kind of call that its handler takes, and its description.

A kind is chosen once, at registration, by the handler's first argument and by the form of its parameters.
"""

import functools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Protocol, TypeAlias

from wsnode.jsonrpc.bounds import Gate
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.errors import RpcError, notifications_not_supported
from wsnode.jsonrpc.parameters import ParameterDecoder
from wsnode.jsonrpc.schema import Schema
from wsnode.jsonrpc.work import Channel, View

Contracts: TypeAlias = Callable[[Any], Iterable[int] | None]
"""Finds the contracts that a method's parameters name, None if they mean any."""
OnSuccess: TypeAlias = Callable[[str, Sequence[Any], Any], object]
"""Called with the method, its decoded parameters and its result."""

_NO_ARGUMENTS = (b"[]", b"")

BOUNDS = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""The upper bounds of the buckets in seconds; one more bucket counts longer calls."""
FIRST_BOUND = BOUNDS[0]


class Turn(Protocol):
    """The state that the calls of one turn share."""

    gate: Gate | None
    scope: View | None
    """None as long as no call has opened a view."""
    view: Any
    caller: Any
    channel: Channel | None
    held: list[Any]

    @property
    def waits(self) -> bool:
        """Return whether a call is to wait if it names what has yet to come."""

    @property
    def may_move(self) -> bool:
        """Return whether a call may be made at a later moment than others of the turn."""

    def demand(self, floor: Any) -> None:
        """Have further calls of the caller wait until `floor` has come."""

    def open(self) -> Any:
        """Return a view, opened for this turn."""
        ...


class Kind:
    """Calls handlers of one shape, with the parameters that they take, if they take any."""

    __slots__ = ("contracts", "decode", "function", "parameters", "takes_parameters")

    leading = 0
    """The number of arguments before the parameters."""

    def __init__(
        self, function: Callable[..., Any], parameters: ParameterDecoder, contracts: Contracts | None
    ) -> None:
        self.function = function
        self.parameters = parameters
        self.decode = parameters.decode
        self.takes_parameters = parameters.struct is not None
        self.contracts = contracts

    def awaited(self, params: bytes) -> Any:
        """Return what parameters as JSON text name that has yet to come, None for nothing."""
        return

    def calling(self, function: Callable[..., Any]) -> "Kind":
        """Return the kind with another handler."""
        return type(self)(function, self.parameters, self.contracts)

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result for parameters as JSON text.

        Raises:
            RpcError: They are invalid, or they name a contract that is refused.
        """
        if not self.takes_parameters:
            if params not in _NO_ARGUMENTS:
                self.parameters.explain(params)
            return self.run(turn)
        try:
            parameters = self.decode(params)
        except UNREADABLE:
            parameters = self.parameters.explain(params)
        return self.run(turn, parameters)

    def answer_read(self, turn: Turn, parameters: Any) -> Any:
        """Return the handler's result for parameters that are decoded."""
        return self.run(turn, parameters) if self.takes_parameters else self.run(turn)

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result for its decoded parameters."""
        raise NotImplementedError

    def check(self, turn: Turn, parameters: Sequence[Any]) -> None:
        """Check that the caller may name the contracts in the parameters.

        Raises:
            RpcError: It may not.
        """
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(*parameters))


class Alone(Kind):
    """Calls a handler with nothing but its parameters."""

    __slots__ = ()

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result for its decoded parameters."""
        self.check(turn, parameters)
        return self.function(*parameters)


class Bare(Kind):
    """Calls a handler with a view and nothing else."""

    __slots__ = ()
    leading = 1

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result, as `Kind` specifies; these are the most frequent calls."""
        if params not in _NO_ARGUMENTS:
            self.parameters.explain(params)
        # Python 3.11 calls a local name faster than an attribute in a slot: 20 ns of 800.
        function = self.function
        return function(turn.open() if turn.scope is None else turn.view)

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result."""
        return self.function(turn.open() if turn.scope is None else turn.view)


class OfView(Kind):
    """Calls a handler with a view and decoded parameters."""

    __slots__ = ()
    leading = 1

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result, as `Kind` specifies, in one step: these calls are frequent."""
        decode, function = self.decode, self.function
        try:
            parameters = decode(params)
        except UNREADABLE:
            parameters = self.parameters.explain(params)
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(parameters))
        return function(turn.open() if turn.scope is None else turn.view, parameters)

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result for its decoded parameters."""
        self.check(turn, parameters)
        return self.function(turn.open() if turn.scope is None else turn.view, *parameters)


class OfText(OfView):
    """Calls a handler with a view and with parameters as JSON text, which it parses itself."""

    __slots__ = ()

    def answer(self, turn: Turn, params: bytes) -> Any:
        """Return the handler's result, as `Kind` specifies."""
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(params))
        function = self.function
        return function(turn.open() if turn.scope is None else turn.view, params)


class OfCaller(Kind):
    """Calls a handler with the caller instead of a view."""

    __slots__ = ()
    leading = 1

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result for its decoded parameters."""
        self.check(turn, parameters)
        return self.function(turn.caller, *parameters)


class OfChannel(Kind):
    """Calls a handler with the connection, on which it may send more than its reply."""

    __slots__ = ()
    leading = 1

    def run(self, turn: Turn, *parameters: Any) -> Any:
        """Return the handler's result for its decoded parameters.

        Raises:
            RpcError: Only replies can be sent.
        """
        self.check(turn, parameters)
        if turn.channel is None:
            raise notifications_not_supported()
        try:
            return self.function(turn.channel, *parameters)
        finally:
            turn.held += turn.channel.take_held()


class Meter:
    """Calls by their duration, and the time of all together."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float, calls: int = 1) -> None:
        """Count one call, or several that took `seconds` together."""
        self.counts[bisect_left(BOUNDS, seconds / calls)] += calls
        self.seconds += seconds


class Method:
    """A method's handler, its description and its counters; it does not change after registration."""

    __slots__ = (
        "answer",
        "at_engine",
        "contracts",
        "deadline",
        "engine_limits",
        "errors",
        "failed",
        "failures",
        "goes_together",
        "in_slices",
        "kind",
        "name",
        "parameters",
        "quick_kind",
        "result",
        "steady",
        "succeeded",
        "summary",
        "timeout_error",
    )

    def __init__(
        self,
        name: str,
        kind: Kind,
        *,
        in_slices: bool,
        at_once: Callable[..., Any] | None,
        deadline: float | None,
        timeout_error: RpcError,
        summary: str,
        result: Schema,
        errors: Sequence[RpcError],
        steady: bool,
        at_engine: bool,
        engine_limits: Sequence[int],
    ) -> None:
        self.name = name
        self.kind = kind
        self.in_slices = in_slices
        self.quick_kind = kind if at_once is None else kind.calling(at_once)
        """The kind of call that gives the result at once where it can."""
        self.answer = self.quick_kind.answer
        """Returns the result, or else the slices to come."""
        self.parameters = kind.parameters
        self.contracts = kind.contracts
        """None if its parameters name none."""
        self.deadline = deadline
        self.timeout_error = timeout_error
        self.summary = summary
        self.result = result
        self.errors = errors
        """All that are documented, those of every method too."""
        self.steady = steady
        """Whether one view determines its result."""
        self.at_engine = at_engine
        """Whether the engine may answer it without the handler."""
        self.engine_limits = engine_limits
        self.goes_together = steady or at_engine
        self.succeeded = Meter()
        self.failed = Meter()
        self.failures: dict[int, int] = {}
        """The number of failed calls by code."""

    @property
    def function(self) -> Callable[..., Any]:
        """Return the handler."""
        return self.kind.function

    def of_kind(self, kind: Kind, quick_kind: Kind | None = None) -> "Method":
        """Return the method with calls of another kind, and of `quick_kind` where they can be answered at
        once.
        """
        method = copy(self)
        method.kind, method.quick_kind = kind, quick_kind or kind
        method.answer = method.quick_kind.answer
        return method

    def failing(self, errors: Sequence[RpcError]) -> "Method":
        """Return the method with more errors."""
        method = copy(self)
        method.errors = (*self.errors, *errors)
        return method

    def observed(self, listener: OnSuccess) -> "Method":
        """Return the method with `listener` called after each call that succeeds; not for frequent ones."""
        function, leading = self.kind.function, self.kind.leading

        @functools.wraps(function)
        def at_once(*arguments: Any) -> Any:
            result = function(*arguments)
            listener(self.name, arguments[leading:], result)
            return result

        @functools.wraps(function)
        def in_steps(*arguments: Any) -> Any:
            result = yield from function(*arguments)
            listener(self.name, arguments[leading:], result)
            return result

        return self.of_kind(self.kind.calling(in_steps if self.in_slices else at_once))
