"""Fast path: calls that the engine answers without a handler, by valid results or from the state itself.

The engine reads requests of the plainest form alone, and stops at the first of any other kind. Each session
has a `FastPath`, which `SocketQueue` asks where it reads a socket, and a connection for all other bytes.
tests/server/websocket/test_connection_fast_path.py and, in tests/ethereum/rpc/common,
test_parameters_text_native_methods.py compare the answers with those of the handlers.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

from wsnode._native.wire import FastPath, NativeMethods, VersionedCache, answer_calls
from wsnode.jsonrpc.context import CallContext, Session
from wsnode.jsonrpc.method import Method
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Request

__all__ = ["FastPath", "FastPathRegistry", "VersionedCache"]


class FastPathRegistry:
    """Registry of the methods that the Rust engine may answer without Python, with the engine's cache of
    their results and views.
    """

    def __init__(self, registry: Registry, cache: VersionedCache | None, slow_seconds: float) -> None:
        """Make the registry for the methods of `registry`; a call longer than `slow_seconds` is logged.

        `cache` holds results of all sessions with `shares_results`; None if no store bounds their validity.
        """
        self._registry = registry
        self._cache = cache
        self.slow_seconds = slow_seconds
        self._kept: tuple[Any, Any] = (None, None)
        """Version and moment of the last view that was kept."""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(method.name for method in self._registry.methods.values() if method.native)

    @cached_property
    def _methods(self) -> NativeMethods:
        methods = self._registry.methods
        return NativeMethods([(name, methods[name].engine_limits) for name in sorted(self.names)])

    def cache_of(self, context: CallContext) -> VersionedCache | None:
        """Return the cache that a context shares with others; None if it shares no results."""
        return self._cache if context.shares_results else None

    def open(self, session: Session, *, are_frames: bool) -> FastPath | None:
        """Return a fast path for the messages of a session, None if it shares no results.

        Messages and replies are WebSocket frames, or else texts, one at a time.
        """
        if (cache := self.cache_of(session)) is None:
            return None
        is_plain = not getattr(session.caller, "service_form", False)
        return FastPath(cache, self._methods, are_frames=are_frames, is_plain=is_plain)

    def answer_calls(
        self,
        calls: Sequence[Request | bytes],
        start: int,
        context: CallContext,
        largest: int,
        room: int,
        *,
        are_messages: bool,
    ) -> tuple[bytes, int]:
        """Return the text of the engine's replies to the calls from `start` on, and the number of calls
        answered.

        The text has text frames if the calls are messages; for requests of a batch it has replies separated
        by commas. No reply exceeds `largest` bytes, and all of them together do not exceed `room`.

        Clients send small calls in bursts, and all calls of a turn see one moment. So the engine repeats
        results of this turn that depend on the moment alone, and reads others from the state or the
        transactions; it stops at the first call for a handler.
        """
        native_view = getattr(context.view, "native_view", None)
        largest = min(largest, context.reply_bytes)
        text, counts = answer_calls(
            calls,
            start,
            context.results,
            self._methods,
            native_view,
            largest,
            room,
            are_messages=are_messages,
        )
        count = sum(counts.values())
        context.may_take_fast_path = start + count == len(calls)
        if count:
            now = perf_counter()
            seconds = now - (context.mark or now)
            self.observe(counts, count, seconds, longest=seconds)
            context.mark = now
        return text, count

    def begin_batch(self, context: CallContext) -> bool:
        """Return True if the engine might answer the batch's first call; the context then has the cached
        results.
        """
        cache = self.cache_of(context)
        if cache is None or context.gate is not None or (view := context.try_open()) is None:
            return False
        context.mark = perf_counter()
        context.results = cache.of(view.version)
        return True

    def keep(self, context: CallContext, method: Method, result: bytes) -> None:
        """Keep a result for calls of this turn, and for other sessions while views have the same version."""
        context.results[method.name] = result
        if (cache := self.cache_of(context)) is not None:
            cache.keep(method.name, result, context.view.version if method.kind.leading else None)

    def keep_view(self, context: CallContext) -> None:
        """Keep the context's view, if it has one, for the engine to read while the store has its version."""
        view = context.view
        if view is None or (cache := self.cache_of(context)) is None:
            return
        version, moment = view.version, context.moment
        if version != self._kept[0] or moment is not self._kept[1]:
            cache.keep_view(version, moment, getattr(view, "native_view", None))
            self._kept = version, moment

    def observe(self, counts: Mapping[str, int], count: int, seconds: float, *, longest: float) -> None:
        """Record `count` calls that the engine answered, with the number of each method's calls in `counts`.

        They took `seconds` in all, and the longest burst of them took `longest` seconds.
        """
        methods = self._registry.methods
        for name, calls in counts.items():
            method = methods[name]
            method.succeeded.observe(calls * seconds / count, calls)
            if longest > self.slow_seconds:
                method.report_slow(longest, b"of %d calls" % count)
