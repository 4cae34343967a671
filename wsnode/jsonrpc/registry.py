"""The methods of one network, each with all that is to be said of it: what it takes, returns and refuses."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

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
    Alone,
    Bare,
    Contracts,
    Kind,
    Method,
    OfCaller,
    OfChannel,
    OfText,
    OfView,
    OnSuccess,
)
from wsnode.jsonrpc.parameters import ParameterDecoder, decoder_for
from wsnode.jsonrpc.schema import ANYTHING, Schema
from wsnode.jsonrpc.work import CancelToken, InThread

Handler = TypeVar("Handler", bound=Callable[..., Any])

_ALWAYS: Final = (
    invalid_params("invalid argument, or one missing or too many"),
    RpcError(INTERNAL_ERROR, "internal error"),
)
"""What every method may be refused with."""

OnFailure = Callable[[str, bytes, RpcError], object]
"""Is told the method, the parameters as sent, and why the call failed."""


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
            kind = _kind_of(parameters, view=view, caller=caller, channel=channel)
            function = _threaded(handler) if in_thread else handler
            self.methods[name] = Method(
                name,
                kind(function, parameters, _reading_text(contracts, parameters)),
                in_slices=inspect.isgeneratorfunction(function),
                at_once=at_once,
                deadline=deadline,
                timeout_error=late,
                summary=first_line(inspect.getdoc(handler)),
                result=result,
                errors=(*errors, *(() if deadline is None else _too_late(late)), *_ALWAYS),
                steady=steady,
                at_engine=at_engine,
            )
            return handler

        return register

    def observe(self, name: str, listener: OnSuccess) -> None:
        """Have `listener` called after each call of a method that succeeds."""
        self.methods[name] = self.methods[name].observed(listener)

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


def _kind_of(parameters: ParameterDecoder, *, view: bool, caller: bool, channel: bool) -> type[Kind]:
    if channel or caller:
        return OfChannel if channel else OfCaller
    if not view:
        return Alone
    if parameters.struct is None:
        return Bare
    return OfText if parameters.decode is bytes else OfView


def _threaded(handler: Callable[..., Any]) -> Callable[..., Any]:
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
