"""Answering of requests: finds the method, decodes the arguments, makes the reply or the error.

A quick method answers immediately; a generator handler that yields becomes a task. Nothing here waits, and no
exception leaves: any bug of a handler is logged here, and becomes -32603 for its request alone.
"""

import itertools
import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import perf_counter
from types import GeneratorType
from typing import Any, NamedTuple

from wsnode.jsonrpc.codec import error_reply, result_reply
from wsnode.jsonrpc.context import CallContext, OpenView
from wsnode.jsonrpc.errors import (
    RpcError,
    internal_error,
    invalid_params,
    invalid_request,
    response_too_large,
)
from wsnode.jsonrpc.fast_path import FastPathRegistry, VersionedCache
from wsnode.jsonrpc.generators import aside, begun, replying, timed
from wsnode.jsonrpc.method import BUCKET_SECONDS, FIRST_BUCKET_SECONDS, DurationMeter, Method
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import QUICK_BYTES, count_values, is_long
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import CallTask, CancelToken, Reply, Replying, Request, Step, Steps, size_of

logger = logging.getLogger("wsnode.jsonrpc")


class RequestHandler:
    """Handler of the JSON-RPC requests of one network: it answers quick calls itself, returns a task for a
    slow one, and enforces the bounds of `SessionBounds`.
    """

    def __init__(
        self,
        registry: Registry,
        open_view: OpenView,
        *,
        bounds: SessionBounds | None = None,
        clock: Callable[[], float] = time.monotonic,
        versions: Callable[[], int] = lambda: 0,
        versioned_cache: VersionedCache | None = None,
    ) -> None:
        """Make a handler for the methods of `registry`; `versions` returns the number of store versions in
        use.
        """
        self.registry = registry
        self.open_view = open_view
        self.bounds = bounds or SessionBounds()
        self.clock = clock
        self._versions = versions
        self.fast_paths = FastPathRegistry(registry, versioned_cache, self.bounds.slow_seconds)
        self._bugs = itertools.count(1)

    def apply(self, bounds: SessionBounds) -> None:
        """Replace the bounds for calls that begin from now on."""
        self.bounds = bounds
        self.fast_paths.slow_seconds = bounds.slow_seconds

    @property
    def is_crowded(self) -> bool:
        """Return True if calls in flight read as many versions of a store as the bounds allow."""
        return self._versions() >= self.bounds.versions

    def report_bug(self, method: str) -> RpcError:
        """Log the current exception under a new number; return the error with that number for the caller."""
        request = f"{next(self._bugs):08x}"
        logger.exception("request %s: %s failed", request, method)
        return internal_error(request)

    def handle_request(self, request: Request, context: CallContext) -> bytes | CallTask | None:
        """Return the reply to a request as JSON text, None for a notification, or the task of a slow call."""
        began = context.mark or perf_counter()
        name, params, identity = request
        method = self.registry.methods.get(name)
        if method is None:
            return self._refuse(name, identity, context)
        try:
            if context.gate is not None:
                context.gate.admit(method.name)
            if method.in_slices and not (context.eager and context.refusal is None):
                return self._begin_slices(_Call(method, params, identity, context, began))
            answer = method.answer
            result = answer(context, params)
            # The generator type has no subclasses, so this test is as good as `isinstance`, and cheaper.
            if type(result) is GeneratorType:
                _require_room(context)
                call = _Call(method, params, identity, context, began)
                if method.kind.holds and context.later is None and not context.is_shared:
                    # Subscriptions that the call begins are held until its own reply, not until the turn's,
                    # so the call gets a context of its own.
                    result.close()
                    return self._begin_apart(call)
                return self._task(call, result)
            reply = result_reply(identity, result)
            meter = method.succeeded
            if len(reply) > context.reply_bytes:
                reply = self._fail(method, params, identity, response_too_large())
                meter = method.failed
            elif method.on_fast_path and identity and context.gate is None and isinstance(result, bytes):
                if method.cacheable:
                    self.fast_paths.keep(context, method, result)
                self.fast_paths.keep_view(context)
                context.may_take_fast_path = True
        except Exception as error:
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        context.mark = now = perf_counter()
        seconds = now - began
        # Meter.observe without the call, and without a search for most calls.
        meter.counts[0 if seconds <= FIRST_BUCKET_SECONDS else bisect_left(BUCKET_SECONDS, seconds)] += 1
        meter.seconds += seconds
        if seconds > self.bounds.slow_seconds:
            method.report_slow(seconds, params)
        return reply if identity else None

    def handle_any(self, request: Request, context: CallContext) -> bytes | CallTask | None:
        """Return the JSON text of the reply, None for a notification, or a task of a slow call. Long
        parameters make a call slow: a thread decodes them.
        """
        params = request[1]
        if len(params) > QUICK_BYTES and is_long(params):
            return CallTask(self._answer_long(request, context))
        return self.handle_request(request, context)

    def refuse_unusable(self, identity: bytes, reply: bytes, context: CallContext) -> bytes:
        """Return `reply` to a text that is no request, charged as one call; beyond the rate, the rate's
        error.
        """
        try:
            if context.gate is not None:
                context.gate.charge()
        except RpcError as refusal:
            return error_reply(identity, refusal)
        return reply

    def _answer_long(self, request: Request, context: CallContext) -> Replying:
        began = perf_counter()
        name, params, identity = request
        method = self.registry.methods.get(name)
        if method is None:
            return self._refuse(name, identity, context)
        context.mark = 0.0
        try:
            if context.gate is not None:
                context.gate.admit(method.name)
            parameters = yield from self._reading(method, params, context)
            if method.on_call is not None:
                method.on_call(method.name)
            result = method.kind.answer_read(context, parameters)
            if isinstance(result, GeneratorType):
                return (yield from self._slices(_Call(method, params, identity, context, began), result))
            reply, meter = self._bounded(method, params, identity, result_reply(identity, result), context)
        except Exception as error:
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        meter.observe(perf_counter() - began)
        return reply if identity else None

    def _reading(self, method: Method, params: bytes, context: CallContext) -> Generator[Step, Any, Any]:
        _require_room(context)
        most = max(self.bounds.parameter_values, method.max_values)
        return aside(partial(_read_long, _reader(), method, params, most))

    def _bounded(
        self, method: Method, params: bytes, identity: bytes, reply: Reply, context: CallContext
    ) -> tuple[Reply, DurationMeter]:
        """Return the reply, an error if it is oversized, and the meter that counts the call."""
        if size_of(reply) <= context.reply_bytes:
            return reply, method.succeeded
        return self._fail(method, params, identity, response_too_large()), method.failed

    def _fail(self, method: Method, params: bytes, identity: bytes, error: Exception) -> bytes:
        if not isinstance(error, RpcError):
            known = self.registry.known_failure
            error = (known and known(error)) or self.report_bug(method.name)
        method.failures[error.code] = method.failures.get(error.code, 0) + 1
        if (listener := self.registry.on_failure) is not None:
            listener(method.name, params, error)
        return error_reply(identity, error)

    def _refuse(self, name: str, identity: bytes, context: CallContext) -> bytes | None:
        self.registry.unknown_calls += 1
        try:
            if context.gate is not None:
                context.gate.admit(name)
            error = self.registry.missing(name) if name else invalid_request()
        except RpcError as refusal:
            error = refusal
        return error_reply(identity, error) if identity else None

    def _begin_slices(self, call: "_Call") -> CallTask:
        _require_room(call.context)
        method = call.method
        if method.on_call is not None:
            method.on_call(method.name)
        return self._task(call, method.kind.answer(call.context, call.params))

    def _begin_apart(self, call: "_Call") -> CallTask:
        own = call.context.apart()
        return self._task(call, _closing(own, begun(partial(call.method.kind.answer, own, call.params))))

    def _task(self, call: "_Call", slices: Steps) -> CallTask:
        bounds, deadline = self.bounds, call.method.deadline
        seconds = bounds.batch_seconds if deadline is None else deadline + bounds.call_wait_seconds
        return CallTask(self._slices(call, slices), self.clock() + seconds)

    def _slices(self, call: "_Call", slices: Steps) -> Replying:
        method, params, identity, context, began = call
        try:
            # A generator runs only from the call's first turn on, so the time since `began` was spent
            # waiting.
            waited = perf_counter() - began
            steps = replying(identity, slices)
            reply = yield from timed(method, steps, self.clock, self.bounds.call_wait_seconds, waited)
            reply, meter = self._bounded(method, params, identity, reply, context)
        except Exception as error:
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        finally:
            slices.close()
        seconds = perf_counter() - began
        meter.observe(seconds)
        if seconds > self.bounds.slow_seconds:
            method.report_slow(seconds, params)
        return reply if identity else None


class _Call(NamedTuple):
    """Call that is not answered immediately: its method, its parameters and its id as JSON text, and its
    beginning in seconds of `time.perf_counter`.
    """

    method: Method
    params: bytes
    identity: bytes
    context: CallContext
    began: float


def _require_room(context: CallContext) -> None:
    if context.refusal is not None:
        raise context.refusal


def _closing(context: CallContext, steps: Steps) -> Steps:
    try:
        return (yield from steps)
    finally:
        context.end_turn()


@cache
def _reader() -> ThreadPoolExecutor:
    """Return a pool of one thread that decodes long texts, one after another.

    Decoding holds the interpreter's lock for up to 10 ms, during which the event loop waits. One thread
    bounds that wait to one text. The thread is started by the loop, because a thread inherits the priority of
    its starter, and a thread with the lower priority of worker threads could hold the lock while it waits for
    a core.
    """
    reader = ThreadPoolExecutor(1, "wsnode reader")
    reader.submit(int)
    return reader


def _read_long(
    reader: ThreadPoolExecutor, method: Method, params: bytes, most: int, _cancel: CancelToken
) -> Any:
    """Return the decoded parameters of a call.

    Raises:
        RpcError: -32602; the parameters have more than `most` JSON values, or do not fit.
    """
    if count_values(params) > most:
        raise invalid_params(f"the parameters have too many values, want at most {most}")
    return reader.submit(method.parameters.read, params).result()
