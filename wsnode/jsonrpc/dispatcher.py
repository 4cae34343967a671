"""From the text of a message to its answer: which method, which arguments, which errors.

A quick method answers at once. A generator handler that yields becomes a `Pending`, which the server
resumes between other work. Nothing here waits, and no exception leaves: this is the one boundary where a
handler's bug is logged and becomes -32603 for that request alone.
"""

import itertools
import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Sequence
from time import perf_counter
from types import GeneratorType
from typing import Any, Protocol

import msgspec

from wsnode.jsonrpc.codec import (
    NULL,
    UNREADABLE,
    UnusableRequestError,
    decode_item,
    decode_request,
    decode_unusual,
    error_reply,
    result_reply,
)
from wsnode.jsonrpc.errors import (
    RpcError,
    TimeLimitError,
    internal_error,
    invalid_request,
    notifications_not_supported,
    request_timed_out,
    response_too_large,
)
from wsnode.jsonrpc.messages import Answer, Channel, Pending, Replying, Request, Step, Steps, View
from wsnode.jsonrpc.meter import BOUNDS, FIRST_BOUND
from wsnode.jsonrpc.registry import Method, Registry

_COMPOUND = (b"[", b"{")
_NO_ARGUMENTS = (b"[]", b"")

LOGGED_PARAMS_BYTES = 200

logger = logging.getLogger("wsnode.jsonrpc")
slow_logger = logging.getLogger("wsnode.slow")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may ask for."""

    batch_items: int = 1000
    batch_reply_bytes: int = 25_000_000
    batch_seconds: float = 60.0
    reply_bytes: int = 64 * 1024 * 1024
    slice_seconds: float = 0.002
    slow_seconds: float = 1.0


class Gate(Protocol):
    """Refuses what a caller may not ask for."""

    def admit(self, name: str) -> None:
        """Take note of a call of the method `name`, known or not.

        Raises:
            RpcError: It is refused.
        """
        ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Look at the contracts that a call names, or at nothing if it means any.

        Raises:
            RpcError: One is refused.
        """
        ...


class Dispatcher:
    """The methods of one network and the way into its chain."""

    def __init__(
        self,
        registry: Registry,
        open_view: Callable[[Any], View],
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry = registry
        self.open_view = open_view
        self.bounds = bounds or Bounds()
        self.clock = clock
        self._bugs = itertools.count(1)

    def session(self, caller: Any, gate: Gate | None = None) -> "Session":
        """Return a session for `caller`, whose calls must pass `gate`."""
        return Session(self, caller, gate)

    def report_bug(self, method: str) -> RpcError:
        """Log the exception being handled under a number, and return what the caller learns."""
        request = f"{next(self._bugs):08x}"
        logger.exception("request %s: %s failed", request, method)
        return internal_error(request)


class Session:
    """One connection's conversation. Calls between two `end_turn` share one view, so they see one head."""

    __slots__ = (
        "_dispatcher",
        "_gate",
        "_methods",
        "_scope",
        "_slow_seconds",
        "_view",
        "caller",
        "channel",
        "eager",
        "held",
        "mark",
        "may_repeat",
        "refusal",
        "repeatable",
        "reply_bytes",
    )

    def __init__(self, dispatcher: Dispatcher, caller: Any, gate: Gate | None) -> None:
        self._dispatcher = dispatcher
        self._methods = dispatcher.registry.methods
        self._gate = gate
        self.reply_bytes = dispatcher.bounds.reply_bytes
        self._slow_seconds = dispatcher.bounds.slow_seconds
        self._scope: View | None = None
        self._view: Any = None
        self.caller = caller
        self.eager = True
        """Whether a call in slices runs its first one at once."""
        self.refusal: RpcError | None = None
        """What such calls are told instead, while the connection can take no more of them."""
        self.channel: Channel | None = None
        """What methods that send more than their reply are given."""
        self.held: list[Any] = []
        """What calls have begun, held until their replies are posted; batches in flight keep their own."""
        self.mark = 0.0
        """When the call before ended, in this turn: one look at the clock a call is enough."""
        self.repeatable: dict[str, bytes] = {}
        """Results of this turn that calls of the same methods would have again."""
        self.may_repeat = False
        """Whether one of them was the last one's."""

    def receive(self, text: bytes) -> Answer:
        """Return the answer to the message `text`: a request or a batch."""
        try:
            if not text.isascii():
                text.decode()
            request = decode_request(text)
        except UNREADABLE:
            return self._receive_unusual(text)
        reply = self._call(request)
        return reply if reply is None or isinstance(reply, bytes) else self._begin(reply)

    def take_held(self) -> list[Any]:
        """Return what is held for the replies given so far."""
        held, self.held = self.held, []
        return held

    def observe_repeats(self, counts: Sequence[int]) -> None:
        """Count calls of the repeatable methods, answered together since the one before them."""
        now = perf_counter()
        each = (now - (self.mark or now)) / sum(counts)
        self.mark = now
        for name, calls in zip(self.repeatable, counts, strict=True):
            if calls:
                self._methods[name].succeeded.observe(calls * each, calls)

    def end_turn(self) -> None:
        """Close the view that this turn's calls shared."""
        self.mark = 0.0
        self._forget_repeatable()
        if (scope := self._scope) is not None:
            self._scope = self._view = None
            scope.__exit__(None, None, None)

    def _call(self, request: Request) -> bytes | Replying | None:
        began = self.mark or perf_counter()
        identity = bytes(request.id)
        method = self._methods.get(request.method)
        if method is None or identity[:1] in _COMPOUND:
            return self._refuse(request.method, identity)
        try:
            if self._gate is not None:
                self._gate.admit(method.name)
            if not method.plain:
                if method.at_once is None or not self.eager or self.refusal is not None:
                    return self._begin_slices(method, request.params, identity, began)
                result = self._run(method, method.at_once, request.params)
                if isinstance(result, GeneratorType):
                    return self._slices(method, result, request.params, identity, began)
            elif method.is_bare and bytes(request.params) in _NO_ARGUMENTS:
                result = method.function(self._open() if self._scope is None else self._view)
            else:
                result = self._run(method, method.function, request.params)
                if isinstance(result, GeneratorType):
                    return self._go_on(method, result, request.params, identity, began)
            reply = result_reply(identity, result)
            meter = method.succeeded
            if len(reply) > self.reply_bytes:
                reply = self._fail(method, identity, response_too_large())
                meter = method.failed
            elif method.steady and identity and self._gate is None and isinstance(result, bytes):
                self.repeatable[method.name] = result
                self.may_repeat = True
        except Exception as error:
            reply = self._fail(method, identity, error)
            meter = method.failed
        self.mark = now = perf_counter()
        seconds = now - began
        # Meter.observe without the call, and without a search for most calls.
        meter.counts[0 if seconds <= FIRST_BOUND else bisect_left(BOUNDS, seconds)] += 1
        meter.seconds += seconds
        if seconds > self._slow_seconds:
            self._report_slow(method, seconds, request.params)
        return reply if identity else None

    def _fail(self, method: Method, identity: bytes, error: Exception) -> bytes:
        if not isinstance(error, RpcError):
            error = self._dispatcher.report_bug(method.name)
        method.errors[error.code] = method.errors.get(error.code, 0) + 1
        return error_reply(identity, error)

    def _report_slow(self, method: Method, seconds: float, raw: msgspec.Raw) -> None:
        params = bytes(raw)[:LOGGED_PARAMS_BYTES].decode(errors="replace")
        details = {"method": method.name, "seconds": round(seconds, 3), "params": params}
        slow_logger.warning("%s took %.3f s", method.name, seconds, extra={"details": details})

    def _run(self, method: Method, function: Callable[..., Any], raw: msgspec.Raw) -> Any:
        if method.takes_parameters:
            try:
                parameters = method.parameters.decode(raw)
            except UNREADABLE:
                parameters = method.parameters.explain(bytes(raw))
            if method.contracts is not None and self._gate is not None:
                self._gate.check_contracts(method.contracts(parameters))
            if not method.needs_view:
                return self._run_without_view(method, parameters)
            return function(self._open() if self._scope is None else self._view, parameters)
        if bytes(raw) not in _NO_ARGUMENTS:
            method.parameters.explain(bytes(raw))
        if not method.needs_view:
            return self._run_without_view(method)
        return function(self._open() if self._scope is None else self._view)

    def _run_without_view(self, method: Method, *parameters: Any) -> Any:
        if method.needs_channel:
            return self._run_with_channel(method, *parameters)
        if method.needs_caller:
            return method.function(self.caller, *parameters)
        return method.function(*parameters)

    def _run_with_channel(self, method: Method, *parameters: Any) -> Any:
        if self.channel is None:
            raise notifications_not_supported()
        try:
            return method.function(self.channel, *parameters)
        finally:
            self.held += self.channel.take_held()

    def _open(self) -> Any:
        scope = self._dispatcher.open_view(self.caller)
        self._view = scope.__enter__()
        self._scope = scope
        return self._view

    def _refuse(self, name: str, identity: bytes) -> bytes | None:
        if identity[:1] in _COMPOUND:
            return error_reply(NULL, invalid_request())
        self._dispatcher.registry.unknown_calls += 1
        try:
            if self._gate is not None:
                self._gate.admit(name)
            error = self._dispatcher.registry.missing(name) if name else invalid_request()
        except RpcError as refusal:
            error = refusal
        return error_reply(identity, error) if identity else None

    def _begin(self, steps: Replying) -> Answer:
        pending = Pending(steps)
        self.mark = 0.0
        if self.eager and pending.resume():
            return pending.reply
        # From here on the view is this call's own, which may read it while the next turn reads another.
        pending.view, self._scope, self._view = self._scope, None, None
        self._forget_repeatable()
        return pending

    def _forget_repeatable(self) -> None:
        if self.repeatable:
            self.repeatable.clear()
            self.may_repeat = False

    def _go_on(
        self, method: Method, slices: Steps, raw: msgspec.Raw, identity: bytes, began: float
    ) -> Replying:
        if self.refusal is not None:
            raise self.refusal
        return self._slices(method, slices, raw, identity, began)

    def _begin_slices(self, method: Method, raw: msgspec.Raw, identity: bytes, began: float) -> Replying:
        if self.refusal is not None:
            raise self.refusal
        return self._slices(method, self._run(method, method.function, raw), raw, identity, began)

    def _slices(
        self, method: Method, slices: Steps, raw: msgspec.Raw, identity: bytes, began: float
    ) -> Replying:
        try:
            reply = result_reply(identity, (yield from self._timed(method, slices)))
            meter = method.succeeded
            if len(reply) > self.reply_bytes:
                reply = self._fail(method, identity, response_too_large())
                meter = method.failed
        except Exception as error:
            reply = self._fail(method, identity, error)
            meter = method.failed
        finally:
            slices.close()
        seconds = perf_counter() - began
        meter.observe(seconds)
        if seconds > self._slow_seconds:
            self._report_slow(method, seconds, raw)
        return reply if identity else None

    def _timed(self, method: Method, slices: Steps) -> Generator[Step, Any, Any]:
        if method.deadline is None:
            return (yield from slices)
        clock = self._dispatcher.clock
        end = clock() + method.deadline
        resume, value = slices.send, None
        while True:
            try:
                step = resume(value)
            except StopIteration as stop:
                return stop.value
            if (left := end - clock()) <= 0:
                raise method.timeout_error
            if step is not None:
                step.seconds = left
            try:
                resume, value = slices.send, (yield step)
            except TimeLimitError:
                raise method.timeout_error from None
            except Exception as error:
                resume, value = slices.throw, error

    def _receive_unusual(self, text: bytes) -> Answer:
        try:
            request = decode_unusual(text)
        except UnusableRequestError as unusable:
            return unusable.reply
        if isinstance(request, Request):
            reply = self._call(request)
            return reply if reply is None or isinstance(reply, bytes) else self._begin(reply)
        if not request:
            return error_reply(NULL, invalid_request("empty batch"))
        if len(request) > self._dispatcher.bounds.batch_items:
            return b"[%b]" % error_reply(_identity_of(request[0]) or NULL, invalid_request("batch too large"))
        # Its own session: its calls share one view however long the batch takes.
        batch = Session(self._dispatcher, self.caller, self._gate)
        batch.refusal, batch.channel = self.refusal, self.channel
        answer = self._begin(batch.run_batch(request))
        if isinstance(answer, Pending):
            answer.held = batch.held
        else:
            self.held += batch.held
        return answer

    def run_batch(self, items: list[bytes]) -> Replying:
        """Return, in the end, the reply to a batch, or nothing if it held notifications only."""
        bounds, clock = self._dispatcher.bounds, self._dispatcher.clock
        replies: list[bytes] = []
        size, error = 0, None
        began = slice_began = clock()
        try:
            for item in items:
                if (now := clock()) - slice_began > bounds.slice_seconds:
                    yield None
                    self.mark = 0.0
                    slice_began = now = clock()
                if now - began > bounds.batch_seconds:
                    error = error or request_timed_out()
                held = len(self.held)
                answer = _refuse_item(item, error) if error else self._answer_item(item)
                reply = answer if answer is None or isinstance(answer, bytes) else (yield from answer)
                if reply and not error and size + len(reply) > bounds.batch_reply_bytes:
                    error = response_too_large()
                    reply = _refuse_item(item, error)
                    self._take_back(held)
                if reply:
                    replies.append(reply)
                    size += len(reply)
        finally:
            self.end_turn()
        return b"[%b]" % b",".join(replies) if replies else None

    def _take_back(self, count: int) -> None:
        """End what was begun behind the first `count` calls, of which nobody will learn."""
        begun = self.held[count:]
        del self.held[count:]
        if begun and self.channel is not None:
            self.channel.take_back(begun)

    def _answer_item(self, item: bytes) -> bytes | Replying | None:
        try:
            return self._call(decode_item(item))
        except UnusableRequestError as unusable:
            return unusable.reply


def _identity_of(item: bytes) -> bytes:
    """Return the id to answer `item` under; none if it is a notification."""
    try:
        identity = bytes(decode_item(item).id)
    except UnusableRequestError as unusable:
        return unusable.identity
    return NULL if identity[:1] in _COMPOUND else identity


def _refuse_item(item: bytes, error: RpcError) -> bytes | None:
    identity = _identity_of(item)
    return error_reply(identity, error) if identity else None
