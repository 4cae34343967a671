"""From a request to its reply: method, arguments, errors.

A quick method answers at once; a generator handler that yields goes on later. Nothing here waits, and no
exception leaves: this is the one boundary where a handler's bug is logged and becomes -32603 for that request
alone.
"""

import logging
from bisect import bisect_left
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import perf_counter
from types import GeneratorType
from typing import Any, ClassVar

from wsnode._native.wire import answer_calls, count_values
from wsnode.jsonrpc.bounds import Gate
from wsnode.jsonrpc.codec import error_reply, result_reply
from wsnode.jsonrpc.dispatcher import Dispatcher, LastingResults
from wsnode.jsonrpc.errors import (
    BehindError,
    RpcError,
    invalid_params,
    invalid_request,
    response_too_large,
)
from wsnode.jsonrpc.method import BOUNDS, FIRST_BOUND, Method
from wsnode.jsonrpc.slices import Again, aside, begun, failing, replying, supplied, timed
from wsnode.jsonrpc.work import (
    AsyncCall,
    CancelToken,
    Channel,
    Replying,
    Request,
    Step,
    Steps,
    View,
    size_of,
)

LOGGED_PARAMS_BYTES = 200

slow_logger = logging.getLogger("wsnode.slow")


class Calls:
    """Makes the calls of a caller. Those between two `end_turn` share one view, so they see one head."""

    __slots__ = (
        "_dispatcher",
        "_methods",
        "_slow_seconds",
        "caller",
        "channel",
        "eager",
        "floor",
        "gate",
        "head",
        "held",
        "lasting",
        "later",
        "mark",
        "may_go_together",
        "patience",
        "refusal",
        "reply_bytes",
        "results",
        "scope",
        "view",
        "went_together",
    )

    may_move: ClassVar = True
    """Whether a call that cannot have what it lacks may go on at a later head."""
    waits: ClassVar = True
    """Whether a call is to wait if it names what has yet to come."""

    def __init__(self, dispatcher: Dispatcher, caller: Any, gate: Gate | None = None) -> None:
        """Begin for a `caller`, whose calls must pass `gate`."""
        self._dispatcher = dispatcher
        self._methods = dispatcher.registry.methods
        self.lasting: LastingResults | None = None
        """Results of all conversations that share theirs, if this one does."""
        self.gate = gate
        self.reply_bytes = dispatcher.bounds.reply_bytes
        self._slow_seconds = dispatcher.bounds.slow_seconds
        self.scope: View | None = None
        self.view: Any = None
        self.caller = caller
        self.eager = True
        """Whether a call in slices runs its first one at once."""
        self.refusal: RpcError | None = None
        """The error of slow calls while the connection has no room for more."""
        self.channel: Channel | None = None
        """The channel for methods that send notifications."""
        self.held: list[Any] = []
        """Subscriptions that calls began, held until their replies are posted; batches in flight hold their
        own."""
        self.head: Any = None
        """The head that the last view of these calls was of."""
        self.floor: Any = None
        """What must have come before further calls are made, as the client has demanded."""
        self.later: Calls | None = None
        """What makes a call that waits for what it names, until that is begun."""
        self.mark = 0.0
        """The end of the previous call in this turn: one reading of the clock for each call is enough."""
        self.patience = dispatcher.bounds.batch_seconds
        """The time limit of the last slow call in seconds, waiting included."""
        self.results: dict[str, bytes] = {}
        """Results of this turn that further calls of their methods would have again."""
        self.may_go_together = False
        """Whether the engine might answer the call that follows: it could have answered the last one."""
        self.went_together = False
        """Whether that was so at the end of the turn before."""

    def go_together(
        self, calls: Sequence[Request | bytes], start: int, largest: int, room: int, *, are_messages: bool
    ) -> tuple[bytes, int]:
        """Return the text of the engine's replies to the calls from `start` on, and their number.

        It is text frames for messages, and for a batch's requests replies with commas between.
        None of the replies is longer than `largest`, nor are all of them longer than `room`.

        Clients send small calls in bursts, and all calls of a turn see one moment of the chain. The engine
        reads requests of the plainest form alone. It answers those whose result this turn has given before
        and the moment determines, and those that it finds in the state or among the transactions; the first
        of any other kind ends the run. tests/server/websocket/test_together.py and
        tests/ethereum/rpc/form/test_engine_answers.py hold this way against one answer a call.
        """
        methods, moment = self._dispatcher.engine_methods, getattr(self.view, "moment", None)
        largest = min(largest, self.reply_bytes)
        text, counts = answer_calls(
            calls, start, self.results, methods, moment, largest, room, are_messages=are_messages
        )
        count = sum(counts.values())
        self.may_go_together = start + count == len(calls)
        if count:
            now = perf_counter()
            seconds = now - (self.mark or now)
            self.observe(counts, count, seconds, longest=seconds)
            self.mark = now
        return text, count

    def observe(self, counts: Mapping[str, int], count: int, seconds: float, *, longest: float) -> None:
        """Count `count` calls that the engine has answered, those of each method.

        They took `seconds`, and the longest burst of them `longest`.
        """
        for name, calls in counts.items():
            method = self._methods[name]
            method.succeeded.observe(calls * seconds / count, calls)
            if longest > self._slow_seconds:
                self._report_slow(method, longest, b"of %d calls" % count)

    def _open_for_engine(self) -> Any:
        """Return the view of the turn, opened if it is not; None if there is none for the engine to read."""
        try:
            return self.view or self.open()
        except Exception:
            # The call that needs a view says why there is none.
            return None

    def _keep(self, method: Method, result: bytes) -> None:
        """Keep a result for the calls of this turn, and for all that follow while the chain is the same."""
        self.results[method.name] = result
        if self.lasting is not None:
            version = self.view.version if method.kind.leading else None
            self.lasting.keep(method.name, result, version)

    def demand(self, floor: Any) -> None:
        """Have further calls wait until `floor` has come."""
        self.floor = floor

    def end_turn(self) -> None:
        """Close the view that this turn's calls shared."""
        self.mark = 0.0
        self.went_together = self.may_go_together
        self._forget_results()
        if (scope := self.scope) is not None:
            self.scope = self.view = None
            scope.__exit__(None, None, None)

    def call(self, request: Request) -> bytes | Replying | None:
        """Return the reply to a request, None to a notification, or the unfinished call of a slow method."""
        began = self.mark or perf_counter()
        name, params, identity = request
        method = self._methods.get(name)
        if method is None:
            return self._refuse(name, identity)
        try:
            if self.gate is not None:
                self.gate.admit(method.name)
            if method.in_slices and not (self.eager and self.refusal is None):
                return self._begin_slices(method, params, identity, began)
            answer = method.answer
            result = answer(self, params)
            # Nothing inherits from generators: this is the cheaper test.
            if type(result) is GeneratorType:
                return self._go_on(method, result, params, identity, began)
            reply = result_reply(identity, result)
            meter = method.succeeded
            if len(reply) > self.reply_bytes:
                reply = self._fail(method, params, identity, response_too_large())
                meter = method.failed
            elif method.goes_together and identity and self.gate is None and isinstance(result, bytes):
                if method.steady:
                    self._keep(method, result)
                self.may_go_together = True
        except Exception as error:
            if self._may_be_supplied(error):
                return self._go_on(method, failing(error), params, identity, began)
            if isinstance(error, BehindError) and self.may_move and self.refusal is None:
                return self._wait_first(method, params, identity, began, error.awaited)
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        self.mark = now = perf_counter()
        seconds = now - began
        # Meter.observe without the call, and without a search for most calls.
        meter.counts[0 if seconds <= FIRST_BOUND else bisect_left(BOUNDS, seconds)] += 1
        meter.seconds += seconds
        if seconds > self._slow_seconds:
            self._report_slow(method, seconds, params)
        return reply if identity else None

    def call_long(self, request: Request) -> Replying:
        """Return, in the end, the reply to a request whose parameters a thread reads."""
        began = perf_counter()
        name, params, identity = request
        method = self._methods.get(name)
        if method is None:
            return self._refuse(name, identity)
        self.mark = 0.0
        try:
            if self.gate is not None:
                self.gate.admit(method.name)
            parameters = yield from self._reading(method, params)
            result = method.kind.answer_read(self, parameters)
            if isinstance(result, GeneratorType):
                return (yield from self._slices(method, result, params, identity, began))
            reply = result_reply(identity, result)
            meter = method.succeeded
            if len(reply) > self.reply_bytes:
                reply = self._fail(method, params, identity, response_too_large())
                meter = method.failed
        except Exception as error:
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        meter.observe(perf_counter() - began)
        return reply if identity else None

    def _reading(self, method: Method, params: bytes) -> Generator[Step, Any, Any]:
        if self.refusal is not None:
            raise self.refusal
        most = self._dispatcher.bounds.parameter_values
        return aside(partial(_read_long, _reader(), method, params, most))

    def _fail(self, method: Method, params: bytes, identity: bytes, error: Exception) -> bytes:
        if not isinstance(error, RpcError):
            error = self._dispatcher.report_bug(method.name)
        method.failures[error.code] = method.failures.get(error.code, 0) + 1
        if (listener := self._dispatcher.registry.on_failure) is not None:
            listener(method.name, params, error)
        return error_reply(identity, error)

    def _report_slow(self, method: Method, seconds: float, params: bytes) -> None:
        shown = params[:LOGGED_PARAMS_BYTES].decode(errors="replace")
        details = {"method": method.name, "seconds": round(seconds, 3), "params": shown}
        slow_logger.warning("%s took %.3f s", method.name, seconds, extra={"details": details})

    def open(self) -> Any:
        """Return a view, opened for the calls of this turn."""
        scope = self._dispatcher.open_view(self.caller)
        self.view = scope.__enter__()
        self.scope = scope
        self.head = getattr(self.view, "head", None)
        return self.view

    def _refuse(self, name: str, identity: bytes) -> bytes | None:
        self._dispatcher.registry.unknown_calls += 1
        try:
            if self.gate is not None:
                self.gate.admit(name)
            error = self._dispatcher.registry.missing(name) if name else invalid_request()
        except RpcError as refusal:
            error = refusal
        return error_reply(identity, error) if identity else None

    def _forget_results(self) -> None:
        self.may_go_together = False
        if self.results:
            self.results.clear()

    def _go_on(self, method: Method, slices: Steps, params: bytes, identity: bytes, began: float) -> Replying:
        self._require_place(method)
        return self._slices(method, self._supplied(method, slices, params), params, identity, began)

    def _begin_slices(self, method: Method, params: bytes, identity: bytes, began: float) -> Replying:
        self._require_place(method)
        slices = self._supplied(method, method.kind.answer(self, params), params)
        return self._slices(method, slices, params, identity, began)

    def _wait_first(
        self, method: Method, params: bytes, identity: bytes, began: float, awaited: Any
    ) -> Replying:
        """Return the call that waits for what it names, and reads what there is by then.

        It holds no view meanwhile, nor does this turn, whose view it would take along.
        """
        self._require_place(method)
        self.end_turn()
        self.later = later = Later(self._dispatcher, self.caller, self.gate)
        later.channel = self.channel
        return self._slices(method, later.steps(method, params, awaited), params, identity, began)

    def _may_be_supplied(self, error: Exception) -> bool:
        """Return whether what a call lacks may be fetched, now that there is room for one more slow call."""
        supplies = self._dispatcher.registry.supplies
        return supplies is not None and self.refusal is None and supplies.is_lack(error)

    def _supplied(self, method: Method, slices: Steps, params: bytes) -> Steps:
        """Return the steps of a call, which fetches what it lacks if anything does that here."""
        supplies = self._dispatcher.registry.supplies
        if supplies is None:
            return slices
        again = Again(self, partial(method.kind.answer, self, params), may_move=self.may_move)
        return supplied(slices, again, supplies.begin(method.name, params, self.view))

    def _require_place(self, method: Method) -> None:
        """Check that another slow call may begin."""
        if self.refusal is not None:
            raise self.refusal
        self.patience = method.deadline or self._dispatcher.bounds.batch_seconds

    def _slices(
        self, method: Method, slices: Steps, params: bytes, identity: bytes, began: float
    ) -> Replying:
        try:
            reply = yield from timed(method, replying(identity, slices), self._dispatcher.clock)
            meter = method.succeeded
            if size_of(reply) > self.reply_bytes:
                reply = self._fail(method, params, identity, response_too_large())
                meter = method.failed
        except Exception as error:
            reply = self._fail(method, params, identity, error)
            meter = method.failed
        finally:
            slices.close()
        seconds = perf_counter() - began
        meter.observe(seconds)
        if seconds > self._slow_seconds:
            self._report_slow(method, seconds, params)
        return reply if identity else None


class Later(Calls):
    """One call that waits for what it names."""

    __slots__ = ()

    waits = False

    def steps(self, method: Method, params: bytes, awaited: Any) -> Steps:
        """Return the steps of the call, the first of which is to wait.

        Raises:
            RpcError: It waits in vain.
        """
        arrivals = self._dispatcher.registry.arrivals
        assert arrivals is not None, "something found that there is more elsewhere"
        try:
            yield AsyncCall(partial(arrivals.wait, (awaited,), getattr(self.caller, "party", None)))
            self.open()
            answer = partial(method.kind.answer, self, params)
            return (yield from self._supplied(method, begun(answer), params))
        finally:
            self.end_turn()


@cache
def _reader() -> ThreadPoolExecutor:
    """Return the thread that makes objects of long texts, one after another.

    It keeps the interpreter's lock for up to 10 ms at a time, for which the loop waits: not for several of
    them, nor, as for threads that step back, until there is a core for it. The loop begins it, since a thread
    has the priority of the one that begins it.
    """
    reader = ThreadPoolExecutor(1, "wsnode reader")
    reader.submit(int)
    return reader


def _read_long(
    reader: ThreadPoolExecutor, method: Method, params: bytes, most: int, _cancel: CancelToken
) -> Any:
    """Return the parameters of a call, made of no more than `most` values."""
    if count_values(params) > most:
        raise invalid_params(f"the parameters have too many values, want at most {most}")
    return reader.submit(method.parameters.read, params).result()
