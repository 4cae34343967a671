"""Registry of one network's methods, each with its parameters, result and errors."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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
from wsnode.jsonrpc.method import (
    CallerAndParamsHandler,
    ConnectionHandler,
    Contracts,
    HandlerKind,
    Method,
    NativeFirstHandler,
    NoContextHandler,
    OnCall,
    OnSuccess,
    RawParamsHandler,
    ViewAndParamsHandler,
    ViewHandler,
)
from wsnode.jsonrpc.parameters import ParameterDecoder, decoder_for
from wsnode.jsonrpc.schema import ANYTHING, Schema
from wsnode.jsonrpc.work import Await, Request

Handler = TypeVar("Handler", bound=Callable[..., Any])

_ALWAYS: Final = (
    invalid_params("invalid argument, or one missing or too many"),
    RpcError(INTERNAL_ERROR, "internal error"),
)
"""Errors of every method."""

BeforeBatch: TypeAlias = Callable[[Iterable[Request], Any], Await | None]
"""Function of a batch's requests and caller; returns the step to await before the view is opened, or None."""
OnFailure = Callable[[str, bytes, RpcError], object]
"""Callback with the method's name, the parameters as JSON text, and the error."""

KnownFailure = Callable[[Exception], RpcError | None]
"""Function from a handler's exception to an error, or None if the exception is a bug."""


class Registry:
    """Methods of one network by name."""

    def __init__(self, unavailable: Mapping[str, Any] | None = None) -> None:
        """Make a registry without methods.

        `unavailable` maps prefixes, such as `alt_`, to the `data` of the error for unknown methods with the
        prefix.
        """
        self.methods: dict[str, Method] = {}
        self.on_failure: OnFailure | None = None
        self.known_failure: KnownFailure | None = None
        self.unknown_calls = 0
        """Number of calls to unknown methods."""
        self.forwarded = Counter[str]()
        """Number of forwarded calls, by outcome."""
        self.before_batch: BeforeBatch | None = None
        self.components: dict[str, Schema] = {}
        """Schemas to which schemas of methods refer, by name."""
        self._unavailable = dict(unavailable or {})

    def method(
        self,
        name: str,
        *,
        view: bool = True,
        caller: bool = False,
        channel: bool = False,
        by_name: bool = False,
        deadline: float | None = None,
        timeout_error: RpcError | None = None,
        at_once: Callable[..., Any] | None = None,
        decoder: ParameterDecoder | None = None,
        cacheable: bool = False,
        native: bool = False,
        engine_limits: Sequence[int] = (),
        result: Schema = ANYTHING,
        errors: Sequence[RpcError] = (),
        contracts: Contracts | None = None,
        max_values: int = 0,
        replacing: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Return a decorator that registers `handler(view, params)` as `name`.

        The handler's parameters are the Struct annotated on its last argument, by position if it is
        array-like. Without such an argument the method takes none. A generator handler yields between slices;
        any other handler may return a generator for calls with no immediate answer.

        Args:
            view: The handler gets a view first. caller: It gets the caller instead of a view. channel: It
            gets the connection instead, to send notifications on it, and returns immediately, so that they
            follow the reply. Without a connection the call is refused.
            by_name: A method without parameters takes an empty object too.
            deadline: Seconds after which the call ends in `timeout_error`.
            at_once: `at_once(view, params)` returns the result where a generator handler would end in its
                first slice, and a generator for the others.
            decoder: Decodes the parameters, in place of the Struct's decoder.
            cacheable: The method takes no parameters and has one result for a view, for all callers.
            native: The engine answers where it finds a result in the view's `native_view`, the handler
                elsewhere; the crate's `wire/native_methods` has a row for each such method.
            engine_limits: Limits of the engine's answers, as `NativeMethods` specifies. Calls with limits are
                answered by the engine in bursts alone, and by `at_once` otherwise.
            result: Schema of the result.
            errors: Errors of this method besides those of every method.
            contracts: Returns the contracts named by decoded parameters, for keys with only some contracts.
            max_values: JSON values that the parameters may have, where the session's bound is lower.
            replacing: The name belongs to an earlier method, to be replaced by this one.

        Raises:
            TypeError: The handler cannot be called as its arguments here say.
            ValueError: The name is taken, or names no method to replace.
        """

        def register(handler: Handler) -> Handler:
            in_slices = inspect.isgeneratorfunction(handler)
            if channel and in_slices:
                raise TypeError(f"{handler.__qualname__}: with a channel it must return at once")
            skipped = 1 if view or caller or channel else 0
            parameters = decoder or decoder_for(_parameters_of(handler, first=skipped), by_name=by_name)
            if cacheable and (caller or channel or parameters.struct or in_slices):
                raise TypeError(f"{handler.__qualname__}: a cacheable result depends on the view alone")
            if (name in self.methods) is not replacing:
                raise ValueError(f"{name} is not there" if replacing else f"{name} is registered twice")
            kind: Callable[..., HandlerKind] = _kind_of(parameters, view=view, caller=caller, channel=channel)
            if native and not engine_limits:
                kind = partial(NativeFirstHandler, name=name)
            late = timeout_error or request_timed_out()
            self.methods[name] = Method(
                name,
                kind(handler, parameters, _reading_text(contracts, parameters)),
                in_slices=in_slices,
                at_once=at_once,
                deadline=deadline,
                timeout_error=late,
                summary=first_line(inspect.getdoc(handler)),
                result=result,
                errors=(*errors, *(() if deadline is None else _too_late(late)), *_ALWAYS),
                cacheable=cacheable,
                native=native,
                engine_limits=engine_limits,
                max_values=max_values,
            )
            return handler

        return register

    def observe(self, name: str, listener: OnSuccess) -> None:
        """Have `listener` called after each successful call of the method `name`."""
        self.methods[name] = self.methods[name].observed(listener)

    def announce(self, listener: OnCall) -> None:
        """Have `listener` called before each call of any method; the engine then answers no call."""
        self.methods = {name: method.announced(listener) for name, method in self.methods.items()}

    def define(self, components: Mapping[str, Schema]) -> None:
        """Add schemas to which methods refer by name.

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
    """Return the first paragraph of a docstring as one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _too_late(timeout_error: RpcError) -> Sequence[RpcError]:
    return (timeout_error,) if timeout_error.code == LIMIT_EXCEEDED else (timeout_error, server_busy())


def _reading_text(contracts: Contracts | None, parameters: ParameterDecoder) -> Contracts | None:
    """Return `contracts`, None for a method without it; for a handler of JSON text it decodes the text
    first.
    """
    if contracts is None or parameters.decode is not bytes:
        return contracts
    return lambda text: contracts(parameters.read(text))


def _kind_of(parameters: ParameterDecoder, *, view: bool, caller: bool, channel: bool) -> type[HandlerKind]:
    if channel or caller:
        return ConnectionHandler if channel else CallerAndParamsHandler
    if not view:
        return NoContextHandler
    if parameters.struct is None:
        return ViewHandler
    return RawParamsHandler if parameters.decode is bytes else ViewAndParamsHandler


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
