"""Fast path: calls that the engine answers without a handler, by valid results or from the state itself.

The engine reads requests of the plainest form alone, and stops at the first of any other kind.
tests/server/websocket/test_connection_fast_path.py and
tests/ethereum/rpc/common/test_raw_params_native_methods.py compare the answers with those of the handlers.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from time import perf_counter

from wsnode._native.wire import NativeMethods, VersionedCache, answer_calls
from wsnode.jsonrpc.context import CallContext, Session
from wsnode.jsonrpc.method import Method
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Request

__all__ = ["FastPath", "VersionedCache"]


class FastPath:
    """Fast path to the engine for calls of one network."""

    def __init__(self, registry: Registry, cache: VersionedCache | None, slow_seconds: float) -> None:
        """Make the fast path to the methods of `registry`; a call longer than `slow_seconds` is logged.

        `cache` holds results of all sessions with `shares_results`; None if no store bounds their validity.
        """
        self._registry = registry
        self._cache = cache
        self.slow_seconds = slow_seconds

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the methods that the engine may answer without a handler."""
        return frozenset(method.name for method in self._registry.methods.values() if method.native)

    @cached_property
    def _methods(self) -> NativeMethods:
        """Return these methods, with their limits, in the form that the engine takes."""
        methods = self._registry.methods
        return NativeMethods([(name, methods[name].engine_limits) for name in sorted(self.names)])

    def cache_of(self, context: CallContext) -> VersionedCache | None:
        """Return the results that a context shares with others; None if it shares none."""
        return self._cache if context.shares_results else None

    def try_answer(
        self, data: bytes, session: Session, largest: int, room: int
    ) -> tuple[bytes, int, int] | None:
        """Answer the frames at the beginning of `data` as far as the engine can.

        It repeats results that are still valid. If the last turn ended with a call that the engine could
        answer, it also reads the state and the transactions. Returns the replies as frames, the number of
        bytes of `data` that were answered, and the number of calls; None if the first frame needs a handler.
        No reply exceeds `largest` bytes, nor do all of them exceed `room`.
        """
        # What is held would be answered by what is there now.
        if (cache := self.cache_of(session)) is None or session.barrier is not None:
            return None
        largest, began = min(largest, session.reply_bytes), perf_counter()
        view = session.try_open() if session.fast_path_hit else None
        if view is None:
            answered = cache.answer(data, largest, room)
        else:
            native_view = getattr(view, "native_view", None)
            answered = cache.answer(data, largest, room, self._methods, view.version, native_view)
            session.may_take_fast_path = answered is not None and not self.names.isdisjoint(answered[3])
            session.end_turn()
        if answered is None:
            return None
        frames, size, count, counts = answered
        seconds = perf_counter() - began
        self.observe(counts, count, seconds, longest=seconds)
        return frames, size, count

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
        by commas. No reply exceeds `largest` bytes, nor do all of them exceed `room`.

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
        """Return True if the engine might answer the first call; then the context has the valid results of
        other turns.
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
