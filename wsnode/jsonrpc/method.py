"""A registered method: its description, and the kind of its handler.

A kind is chosen once, at registration, by the handler's first argument and by the form of its parameters.
"""

import functools
import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from types import GeneratorType
from typing import Any, TypeAlias

from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.context import CallContext
from wsnode.jsonrpc.errors import RpcError, notifications_not_supported
from wsnode.jsonrpc.parameters import ParameterDecoder
from wsnode.jsonrpc.schema import Schema
from wsnode.jsonrpc.work import Notifier, Steps

Contracts: TypeAlias = Callable[[Any], Iterable[int] | None]
"""Function that returns the contracts in a method's parameters, None if they may concern any."""
OnSuccess: TypeAlias = Callable[[str, Sequence[Any], Any], object]
"""Callback with the method's name, its decoded parameters and its result."""
OnCall: TypeAlias = Callable[[str], object]
"""Callback with the method's name."""

_NO_ARGUMENTS = (b"[]", b"")
LOGGED_PARAMS_BYTES = 200

slow_logger = logging.getLogger("wsnode.slow")

BUCKET_SECONDS = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""Upper bounds of the histogram's buckets, in seconds; one more bucket counts longer calls."""
FIRST_BUCKET_SECONDS = BUCKET_SECONDS[0]


Wrap: TypeAlias = Callable[["HandlerKind"], "HandlerKind"]
"""Function that returns a middleware around the given kind."""


class HandlerKind:
    """Way of calling a handler, one subclass for each list of arguments."""

    __slots__ = ("contracts", "decode", "function", "parameters", "takes_parameters")

    leading = 0
    """Number of arguments before the parameters."""
    reads_view = False
    """True if the handler gets a view. A handler without one may change the state that later views show."""

    @property
    def holds(self) -> bool:
        """Return True if calls may begin subscriptions, held until the reply is posted."""
        return False

    def __init__(
        self, function: Callable[..., Any], parameters: ParameterDecoder, contracts: Contracts | None
    ) -> None:
        self.function = function
        self.parameters = parameters
        self.decode = parameters.decode
        self.takes_parameters = parameters.struct is not None
        self.contracts = contracts

    def around(self, wrap: "Wrap") -> "HandlerKind":
        """Return `wrap(self)`; a middleware may return a copy of itself with `wrap` applied to its inner kind
        instead.
        """
        return wrap(self)

    def calling(self, function: Callable[..., Any]) -> "HandlerKind":
        """Return this kind with another handler."""
        return type(self)(function, self.parameters, self.contracts)

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Decode parameters from JSON text, call the handler, and return its result.

        Raises:
            RpcError: The parameters are invalid, or name a contract that the caller may not use.
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

    def answer_read(self, turn: CallContext, parameters: Any) -> Any:
        return self.run(turn, parameters) if self.takes_parameters else self.run(turn)

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        raise NotImplementedError

    def check(self, turn: CallContext, parameters: Sequence[Any]) -> None:
        """Check that the caller may use the contracts in the parameters.

        Raises:
            RpcError: A contract is not allowed.
        """
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(*parameters))


class Middleware(HandlerKind):
    """Wrapper around a handler's kind that acts before or after its calls."""

    __slots__ = ("_inner",)

    def __init__(self, inner: HandlerKind) -> None:
        super().__init__(inner.function, inner.parameters, inner.contracts)
        self._inner = inner

    @property
    def leading(self) -> int:  # type: ignore[override]
        return self._inner.leading

    @property
    def reads_view(self) -> bool:  # type: ignore[override]
        return self._inner.reads_view

    @property
    def holds(self) -> bool:
        return self._inner.holds

    def answer(self, turn: CallContext, params: bytes) -> Any:
        return self._inner.answer(turn, params)

    def answer_read(self, turn: CallContext, parameters: Any) -> Any:
        return self._inner.answer_read(turn, parameters)


class NoContextHandler(HandlerKind):
    """Kind of handler that takes nothing but its parameters."""

    __slots__ = ()

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        self.check(turn, parameters)
        return self.function(*parameters)


class ViewHandler(HandlerKind):
    """Kind of handler that takes a view (a snapshot of the data) and no parameters; since its calls are
    frequent, `answer` repeats `run`.
    """

    __slots__ = ()
    leading = 1
    reads_view = True

    def answer(self, turn: CallContext, params: bytes) -> Any:
        if params not in _NO_ARGUMENTS:
            self.parameters.explain(params)
        # Python 3.11 calls a local name faster than an attribute in a slot: 20 ns of 800.
        function = self.function
        return function(turn.open() if turn.scope is None else turn.view)

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        return self.function(turn.open() if turn.scope is None else turn.view)


class ViewAndParamsHandler(HandlerKind):
    """Kind of handler that takes a view and decoded parameters; its calls are frequent, so `answer` repeats
    `run`.
    """

    __slots__ = ()
    leading = 1
    reads_view = True

    def answer(self, turn: CallContext, params: bytes) -> Any:
        decode, function = self.decode, self.function
        try:
            parameters = decode(params)
        except UNREADABLE:
            parameters = self.parameters.explain(params)
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(parameters))
        return function(turn.open() if turn.scope is None else turn.view, parameters)

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        self.check(turn, parameters)
        return self.function(turn.open() if turn.scope is None else turn.view, *parameters)


class RawParamsHandler(ViewAndParamsHandler):
    """Kind of handler that takes a view and the JSON text of its parameters."""

    __slots__ = ()

    def answer(self, turn: CallContext, params: bytes) -> Any:
        if self.contracts is not None and turn.gate is not None:
            turn.gate.check_contracts(self.contracts(params))
        function = self.function
        return function(turn.open() if turn.scope is None else turn.view, params)


class NativeFirstHandler(ViewAndParamsHandler):
    """Kind of a method that the engine answers from the text of its parameters where it can, else its
    handler.
    """

    __slots__ = ("_name",)

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: ParameterDecoder,
        contracts: Contracts | None,
        name: str,
    ) -> None:
        super().__init__(function, parameters, contracts)
        self._name = name

    def calling(self, function: Callable[..., Any]) -> HandlerKind:
        """Return the kind with another handler and without the engine."""
        return ViewAndParamsHandler(function, self.parameters, self.contracts)

    def answer(self, turn: CallContext, params: bytes) -> Any:
        """Return the engine's result, or the handler's if the engine has none."""
        parameters = None
        if self.contracts is not None and turn.gate is not None:
            parameters = self.parameters.read(params)
            turn.gate.check_contracts(self.contracts(parameters))
        view = turn.open() if turn.scope is None else turn.view
        native_view = view.native_view
        if native_view is not None and (result := native_view.answer(self._name, params)) is not None:
            return result
        return self.function(view, self.parameters.read(params) if parameters is None else parameters)


class CallerAndParamsHandler(HandlerKind):
    """Kind of handler that takes the caller instead of a view."""

    __slots__ = ()
    leading = 1

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        self.check(turn, parameters)
        return self.function(turn.caller, *parameters)


class ConnectionHandler(HandlerKind):
    """Kind of handler that takes the connection, and may send notifications on it."""

    __slots__ = ()
    leading = 1

    @property
    def holds(self) -> bool:
        return True

    def run(self, turn: CallContext, *parameters: Any) -> Any:
        """Return the handler's result for decoded parameters.

        Raises:
            RpcError: Only replies can be sent, as over HTTP.
        """
        self.check(turn, parameters)
        if turn.channel is None:
            raise notifications_not_supported()
        try:
            result = self.function(turn.channel, *parameters)
        finally:
            turn.pending_subscriptions += turn.channel.take_pending()
        return _holding(turn, turn.channel, result) if type(result) is GeneratorType else result


def _holding(turn: CallContext, channel: Notifier, steps: Steps) -> Steps:
    """Return the result of steps; the turn holds their subscriptions until the reply is posted."""
    try:
        return (yield from steps)
    finally:
        turn.pending_subscriptions += channel.take_pending()


class DurationMeter:
    """Histogram of calls by duration, with the total of their seconds."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKET_SECONDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float, calls: int = 1) -> None:
        """Count one call, or `calls` of them that took `seconds` in all."""
        self.counts[bisect_left(BUCKET_SECONDS, seconds / calls)] += calls
        self.seconds += seconds


class Waits(DurationMeter):
    """Histogram of slow calls by their seconds of waiting for turns and threads, and the number refused for
    waiting too long.
    """

    __slots__ = ("refused",)

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0
        """Number of calls that were refused because they had waited too long."""


class Method:
    """Handler, description and counters of a method; all but the counters are fixed at registration."""

    __slots__ = (
        "answer",
        "cacheable",
        "contracts",
        "deadline",
        "engine_limits",
        "errors",
        "failed",
        "failures",
        "in_slices",
        "kind",
        "max_values",
        "name",
        "native",
        "on_call",
        "on_fast_path",
        "parameters",
        "quick_kind",
        "result",
        "succeeded",
        "summary",
        "timeout_error",
        "waits",
    )

    def __init__(
        self,
        name: str,
        kind: HandlerKind,
        *,
        in_slices: bool,
        at_once: Callable[..., Any] | None,
        deadline: float | None,
        timeout_error: RpcError,
        summary: str,
        result: Schema,
        errors: Sequence[RpcError],
        cacheable: bool,
        native: bool,
        engine_limits: Sequence[int],
        max_values: int = 0,
    ) -> None:
        self.name = name
        self.on_call: OnCall | None = None
        """Listener called before each call, by `answer` or by other code that begins the call."""
        self.kind = kind
        self.in_slices = in_slices
        self.quick_kind = kind if at_once is None else kind.calling(at_once)
        """Kind whose calls return the result immediately where possible, else steps."""
        self.answer = self.quick_kind.answer
        """Function that returns the result, or steps if it is not available immediately."""
        self.parameters = kind.parameters
        self.contracts = kind.contracts
        """Function that finds the contracts in parameters; None if the parameters name no contract."""
        self.deadline = deadline
        self.timeout_error = timeout_error
        self.summary = summary
        self.result = result
        self.errors = errors
        """All documented errors of the method, with those of every method."""
        self.cacheable = cacheable
        """True if the result depends on the view alone."""
        self.native = native
        """True if the engine may answer without the handler."""
        self.engine_limits = engine_limits
        self.max_values = max_values
        """Number of JSON values that the parameters may have, where the session's bound is lower."""
        self.on_fast_path = cacheable or native
        self.succeeded = DurationMeter()
        self.failed = DurationMeter()
        self.failures: dict[int, int] = {}
        """Number of failed calls, by code."""
        self.waits = Waits()

    @property
    def function(self) -> Callable[..., Any]:
        return self.kind.function

    def report_slow(self, seconds: float, params: bytes) -> None:
        """Log a call that took `seconds`, with the beginning of its parameters."""
        shown = params[:LOGGED_PARAMS_BYTES].decode(errors="replace")
        details = {"method": self.name, "seconds": round(seconds, 3), "params": shown}
        slow_logger.warning("%s took %.3f s", self.name, seconds, extra={"details": details})

    def of_kind(self, kind: HandlerKind, quick_kind: HandlerKind | None = None) -> "Method":
        """Return the method with its calls made by `kind`, or by `quick_kind` for immediate results."""
        method = copy(self)
        method.kind, method.quick_kind = kind, quick_kind or kind
        method.answer = method.quick_kind.answer
        return method if self.on_call is None else method.announced(self.on_call)

    def failing(self, errors: Sequence[RpcError]) -> "Method":
        """Return the method with further documented errors."""
        method = copy(self)
        method.errors = (*self.errors, *errors)
        return method

    def handled_alone(self) -> "Method":
        """Return the method without the fast path: the engine answers none of its calls."""
        method = copy(self)
        method.cacheable = method.native = method.on_fast_path = False
        return method

    def announced(self, listener: OnCall) -> "Method":
        """Return the method with `listener` called before each call; the engine then answers none of them."""
        method = self.handled_alone()
        method.on_call = listener
        answer = method.quick_kind.answer

        def announce(turn: CallContext, params: bytes) -> Any:
            listener(method.name)
            return answer(turn, params)

        method.answer = announce
        return method

    def observed(self, listener: OnSuccess) -> "Method":
        """Return the method with `listener` called after each call of its handler that succeeds."""
        leading = self.kind.leading

        def listening(kind: HandlerKind) -> HandlerKind:
            function = kind.function

            def in_steps(steps: Any, arguments: Sequence[Any]) -> Any:
                result = yield from steps
                listener(self.name, arguments[leading:], result)
                return result

            @functools.wraps(function)
            def call(*arguments: Any) -> Any:
                result = function(*arguments)
                if type(result) is GeneratorType:
                    return in_steps(result, arguments)
                listener(self.name, arguments[leading:], result)
                return result

            return kind.calling(call)

        kind = listening(self.kind)
        return self.of_kind(kind, kind if self.quick_kind is self.kind else listening(self.quick_kind))
