"""The methods of one network, each with all that is to be said of it: what it takes, returns and refuses."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from wsnode.jsonrpc.errors import (
    INTERNAL_ERROR,
    LIMIT_EXCEEDED,
    RpcError,
    invalid_params,
    method_not_found,
    request_timed_out,
    server_busy,
)
from wsnode.jsonrpc.meter import Meter
from wsnode.jsonrpc.parameters import ParameterDecoder, decoder_for
from wsnode.jsonrpc.schema import ANYTHING, Schema
from wsnode.jsonrpc.work import CancelToken, InThread

Handler = TypeVar("Handler", bound=Callable[..., Any])
Contracts: TypeAlias = Callable[[Any], Iterable[int] | None]
"""Finds the contracts that a method's parameters name, None if they mean any."""

_ALWAYS: Final = (
    invalid_params("invalid argument, or one missing or too many"),
    RpcError(INTERNAL_ERROR, "internal error"),
)
"""What every method may be refused with."""


class Method:
    """One registered method, as the dispatcher needs it."""

    __slots__ = (
        "at_engine",
        "at_once",
        "contracts",
        "deadline",
        "errors",
        "failed",
        "failures",
        "function",
        "goes_together",
        "is_bare",
        "name",
        "needs_caller",
        "needs_channel",
        "needs_view",
        "parameters",
        "plain",
        "result",
        "steady",
        "succeeded",
        "summary",
        "takes_parameters",
        "takes_text",
        "timeout_error",
    )

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        needs_view: bool,
        needs_caller: bool,
        needs_channel: bool,
        takes_parameters: bool,
        parameters: ParameterDecoder,
        deadline: float | None,
        timeout_error: RpcError,
        result: Schema,
        errors: Sequence[RpcError],
        contracts: Contracts | None,
        at_once: Callable[..., Any] | None = None,
        steady: bool = False,
        at_engine: bool = False,
    ) -> None:
        self.name = name
        self.function = function
        self.plain = not inspect.isgeneratorfunction(function)
        self.at_once = function if self.plain else at_once
        """Returns the result, or else the slices to come."""
        self.needs_view = needs_view
        self.needs_caller = needs_caller
        self.needs_channel = needs_channel
        self.takes_parameters = takes_parameters
        self.parameters = parameters
        self.deadline = deadline
        self.timeout_error = timeout_error
        self.summary = first_line(inspect.getdoc(function))
        self.result = result
        self.errors = errors
        """All errors that are documented, of the registry's own too."""
        self.contracts = contracts
        """None if its parameters name none."""
        self.succeeded = Meter()
        self.failed = Meter()
        self.failures: dict[int, int] = {}
        """How many calls failed with each code."""
        self.steady = steady
        """Whether one view determines its result."""
        self.at_engine = at_engine
        """Whether the engine may answer it by itself."""
        self.goes_together = steady or at_engine
        self.takes_text = needs_view and parameters.decode is bytes
        """Whether it is given its parameters as they were sent."""
        self.is_bare = self.plain and needs_view and not takes_parameters
        """Whether it is called with a view and nothing else, as the most frequent methods are."""

    def observe(self, listener: "OnSuccess") -> None:
        """Have `listener` called after each call that succeeds; for methods that are not called often."""
        function = self.function
        given = slice(1 if self.needs_view or self.needs_caller or self.needs_channel else 0, None)

        @functools.wraps(function)
        def plainly(*arguments: Any) -> Any:
            result = function(*arguments)
            listener(self.name, arguments[given], result)
            return result

        @functools.wraps(function)
        def in_steps(*arguments: Any) -> Any:
            result = yield from function(*arguments)
            listener(self.name, arguments[given], result)
            return result

        self.function = plainly if self.plain else in_steps
        self.at_once = self.function if self.plain else None


OnFailure = Callable[[str, bytes, RpcError], object]
"""Is told the method, the parameters as sent, and why the call failed."""
OnSuccess = Callable[[str, Sequence[Any], Any], object]
"""Is told the method, its decoded parameters and its result."""


class Registry:
    """Methods by name."""

    def __init__(self, unavailable: Mapping[str, Any] | None = None) -> None:
        """`unavailable` maps a prefix, such as `alt_`, to the data of the error that its methods get."""
        self.methods: dict[str, Method] = {}
        self.on_failure: OnFailure | None = None
        self.unknown_calls = 0
        """How many calls were for methods that nobody registered."""
        self.forwarded = Counter[str]()
        """How many calls were handed on to another node, by how that ended."""
        self.components: dict[str, Schema] = {}
        """Schemas that those of the methods refer to by name."""
        self._unavailable = dict(unavailable or {})

    def method(
        self,
        name: str,
        *,
        view: bool = True,
        caller: bool = False,
        channel: bool = False,
        by_name: bool = False,
        in_thread: bool = False,
        deadline: float | None = None,
        timeout_error: RpcError | None = None,
        at_once: Callable[..., Any] | None = None,
        decoder: ParameterDecoder | None = None,
        steady: bool = False,
        at_engine: bool = False,
        result: Schema = ANYTHING,
        errors: Sequence[RpcError] = (),
        contracts: Contracts | None = None,
        replacing: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return the decorator that registers `handler(view, params)` as `name`.

        Without `view` the handler is called without one; with `caller` it gets the caller instead; with
        `channel` the connection, to send more than the reply on it: where there is none the call is refused,
        and the handler returns at once, so that what it begins can follow the reply. The parameters are the
        Struct annotated on the last argument, by position if it is array-like; without such an argument the
        method takes none (`by_name`: an empty object will do as well). A generator handler yields between
        slices, and any other may return a generator for what it cannot answer at once; `in_thread` runs a
        plain one in the worker pool. After `deadline` seconds it is `timeout_error`. Most calls of a
        generator handler end in their first slice: `at_once(view, params)` returns their result, and a
        generator for the others. With `decoder` the parameters are what it makes of them. A `steady` method
        has no parameters and the same result for the same view, whoever asks and however often. One that is
        `at_engine` the engine answers by itself where it finds a result in the view's `moment`, and `handler`
        where it does not; whoever asks, it is the same.

        The rest is for documents and for keys: the schema of the `result`, the `errors` besides those of
        every method, and the `contracts` that the parameters name, decoded from whatever form they are in. A
        name has one method, unless a later one says that it is `replacing` the first.

        Raises:
            TypeError: The handler does not fit what is said of it.
            ValueError: The name is taken, or there is nothing to be replaced.
        """

        def register(handler: Handler) -> Handler:
            if channel and (in_thread or inspect.isgeneratorfunction(handler)):
                raise TypeError(f"{handler.__qualname__}: with a channel it must return at once")
            if decoder is None:
                struct = _parameters_of(handler, first=1 if view or caller or channel else 0)
            else:
                struct = decoder.struct
            if steady and (caller or channel or struct or in_thread or inspect.isgeneratorfunction(handler)):
                raise TypeError(f"{handler.__qualname__}: the result depends on more than the view")
            if (name in self.methods) is not replacing:
                raise ValueError(f"{name} is not there" if replacing else f"{name} is registered twice")
            parameters = decoder or decoder_for(struct, by_name=by_name)
            late = timeout_error or request_timed_out()
            self.methods[name] = Method(
                name,
                _threaded(handler) if in_thread else handler,
                needs_view=view and not (caller or channel),
                needs_caller=caller,
                needs_channel=channel,
                takes_parameters=struct is not None,
                parameters=parameters,
                deadline=deadline,
                timeout_error=late,
                result=result,
                errors=(*errors, *(() if deadline is None else _too_late(late)), *_ALWAYS),
                contracts=_reading_text(contracts, parameters),
                at_once=at_once,
                steady=steady,
                at_engine=at_engine,
            )
            return handler

        return register

    def define(self, components: Mapping[str, Schema]) -> None:
        """Add schemas that methods refer to by these names.

        Raises:
            ValueError: A name has another schema already.
        """
        for name, schema in components.items():
            if self.components.setdefault(name, schema) != schema:
                raise ValueError(f"{name} is defined twice")

    def missing(self, name: str) -> RpcError:
        """Return the error for the unknown method `name`."""
        for prefix, data in self._unavailable.items():
            if name.startswith(prefix):
                return method_not_found(name, data)
        return method_not_found(name)


def first_line(text: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _too_late(timeout_error: RpcError) -> Sequence[RpcError]:
    """Return what a method with a deadline may be refused with, itself or while it waits for a thread."""
    return (timeout_error,) if timeout_error.code == LIMIT_EXCEEDED else (timeout_error, server_busy())


def _reading_text(contracts: Contracts | None, parameters: ParameterDecoder) -> Contracts | None:
    """Return `contracts` for what the decoder makes of parameters, which may be their text."""
    if contracts is None or parameters.decode is not bytes:
        return contracts
    return lambda text: contracts(parameters.read(text))


def _threaded(handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    def run(*arguments: Any) -> Any:
        def call(_cancel: CancelToken) -> Any:
            return handler(*arguments)

        return (yield InThread(call))

    return run


def _parameters_of(handler: Callable[..., Any], *, first: int) -> type[msgspec.Struct] | None:
    arguments = list(inspect.signature(handler).parameters.values())[first:]
    if not arguments:
        return None
    annotation = arguments[0].annotation
    if isinstance(annotation, str):
        annotation = eval(annotation, handler.__globals__)
    if not (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        raise TypeError(f"{handler.__qualname__}: its parameters are not annotated with a Struct")
    return annotation
