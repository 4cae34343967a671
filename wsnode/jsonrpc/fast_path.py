"""Calls that the engine answers without a handler: results that are still true, and what it finds itself.

The engine reads requests of the plainest form alone, and stops at the first of any other kind.
tests/server/websocket/test_fast_path.py and tests/ethereum/rpc/common/test_native_methods.py hold this way
against one answer a call.
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
    """The engine's answers to calls of one network."""

    def __init__(self, registry: Registry, cache: VersionedCache | None, slow_seconds: float) -> None:
        """`cache` has results of all sessions that share theirs, if a store says how long they are true.

        Calls that take longer than `slow_seconds` are logged.
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
        """Return these methods for the engine."""
        methods = self._registry.methods
        return NativeMethods([(name, methods[name].engine_limits) for name in sorted(self.names)])

    def cache_of(self, context: CallContext) -> VersionedCache | None:
        """Return the results that a context shares, if it does."""
        return self._cache if context.shares_results else None

    def try_answer(
        self, data: bytes, session: Session, largest: int, room: int
    ) -> tuple[bytes, int, int] | None:
        """Answer the frames that `data` begins with and that ask for what the engine has.

        That are results which are still true and, where calls of the last turn asked for such, what it finds
        in the state and among the transactions. Returns the replies as frames, the size of the frames in
        `data`, and the number of calls; None if the first is left to others. None of the replies is longer
        than `largest` bytes, nor are all of them longer than `room`.
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
        """Return the text of the engine's replies to the calls from `start` on, and their number.

        It is text frames for messages, and for a batch's requests replies with commas between.
        None of the replies is longer than `largest`, nor are all of them longer than `room`.

        Clients send small calls in bursts, and all calls of a turn see one moment. Those are answered whose
        result this turn has given before and the moment determines, and those that the engine finds in the
        state or among the transactions.
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
        """Return whether the engine might answer the first call; it has then what lasts of other turns."""
        cache = self.cache_of(context)
        if cache is None or context.gate is not None or (view := context.try_open()) is None:
            return False
        context.mark = perf_counter()
        context.results = cache.of(view.version)
        return True

    def keep(self, context: CallContext, method: Method, result: bytes) -> None:
        """Keep a result for the calls of this turn, and for all that follow while views have its version."""
        context.results[method.name] = result
        if (cache := self.cache_of(context)) is not None:
            cache.keep(method.name, result, context.view.version if method.kind.leading else None)

    def observe(self, counts: Mapping[str, int], count: int, seconds: float, *, longest: float) -> None:
        """Count `count` calls that the engine has answered, those of each method.

        They took `seconds`, and the longest burst of them `longest`.
        """
        methods = self._registry.methods
        for name, calls in counts.items():
            method = methods[name]
            method.succeeded.observe(calls * seconds / count, calls)
            if longest > self.slow_seconds:
                method.report_slow(longest, b"of %d calls" % count)
