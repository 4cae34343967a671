"""Batches: many requests in one message, answered in one."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, TypeAlias

from wsnode.jsonrpc.batches.parked import Running, fetched
from wsnode.jsonrpc.bounds import Gate
from wsnode.jsonrpc.calls import Calls
from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.errors import (
    RpcError,
    TimeLimitError,
    invalid_request,
    request_timed_out,
    response_too_large,
)
from wsnode.jsonrpc.requests import (
    QUICK_BYTES,
    UnusableRequestError,
    decode_item,
    decode_message,
    find_identity,
    identity_of,
    is_long,
)
from wsnode.jsonrpc.slices import aside, joined
from wsnode.jsonrpc.work import (
    Arrivals,
    AsyncCall,
    CancelToken,
    Pieces,
    Reply,
    Replying,
    Request,
    Step,
    pieces_of,
    size_of,
)

SLICE_BYTES = 1024 * 1024
"""Bytes of replies that a slice makes before it ends: only between slices it is asked if there is room."""
ITEM_BYTES = 256
"""Bytes of a request that was cut out of a batch, without its parameters and its id."""

Item: TypeAlias = Request | bytes | UnusableRequestError
"""An item of a batch: a request, its text, or the error that a thread found in it."""


class Batch(Calls):
    """The calls of one batch, or the one of a long message, which share one view however long they take."""

    __slots__ = ("_due", "_end", "_error", "_parked", "_replies", "_room", "_size", "_slice_end")

    may_move = False

    def run_after(self, text: bytes, floor: Any) -> Replying:
        """Return, in the end, the reply to a message that waits for what its client has demanded."""
        arrivals = self._dispatcher.registry.arrivals
        assert arrivals is not None, "the floor is of its making"
        try:
            yield self._arrival(arrivals, (floor,))
        except TimeLimitError:
            self.gate = _Closed(self.gate, request_timed_out())
        except RpcError as error:
            self.gate = _Closed(self.gate, error)
        if len(text) > QUICK_BYTES and is_long(text):
            return (yield from self.run_text(text))
        try:
            return (yield from self._run_message(decode_message(text, self._dispatcher.bounds.batch_items)))
        except UnusableRequestError as unusable:
            return unusable.reply

    def run_text(self, text: bytes) -> Replying:
        """Return, in the end, the reply to a message that a thread has to read."""
        most = self._dispatcher.bounds.batch_items
        try:
            message = yield from aside(partial(_decode_message, text, most))
        except UnusableRequestError as unusable:
            return unusable.reply
        except RpcError as refusal:
            return error_reply(find_identity(text) or NULL, refusal)
        # The requests are copies of its parts.
        del text
        return (yield from self._run_message(message))

    def _run_message(self, message: Request | list[Request] | list[bytes]) -> Replying:
        if isinstance(message, list):
            return (yield from self.run(message)) if message else empty_batch()
        try:
            reply = self.call_of(message)
            return reply if reply is None or isinstance(reply, bytes) else (yield from reply)
        finally:
            self.end_turn()

    def run(self, items: Sequence[Request | bytes]) -> Replying:
        """Return the reply to a batch, None if it held notifications only."""
        if (arrivals := self._dispatcher.registry.arrivals) is not None and arrivals.is_behind:
            yield from self._wait_first_for_all(arrivals, items)
        self._start()
        try:
            yield from self._answer_all(items)
            yield from self._unpark()
        finally:
            for call in self._parked:
                call.close()
            self.end_turn()
        replies = [reply for reply in self._replies if reply]
        # What makes a call may outlive it.
        self._replies.clear()
        return _listed(replies) if replies else None

    def _start(self) -> None:
        bounds, now = self._dispatcher.bounds, self._dispatcher.clock()
        self._replies: list[Reply] = []
        self._parked: list[Running] = []
        self._size = 0
        self._error: RpcError | None = None
        self._slice_end, self._end = now + bounds.slice_seconds, now + bounds.batch_seconds
        self._due = min(self._slice_end, self._end)
        """When the slice ends, or the time of the batch."""
        self._room = SLICE_BYTES
        """The size up to which the slice goes on."""

    def _answer_all(self, items: Sequence[Request | bytes]) -> Generator[Step, Any, None]:
        clock, engine_names = self._dispatcher.clock, self._dispatcher.engine_names
        most = self._dispatcher.bounds.batch_reply_bytes
        place, count = 0, len(items)
        together = count > 1 and self._begin_together()
        while place < count:
            if clock() > self._due or self._size > self._room:
                yield from self._pause()
            if together and self._error is None:
                name = items[place][0]
                if name in engine_names or name in self.results:
                    together = (added := self._add_together(items, place)) > 0
                    place += added
                    if place == count:
                        break
            item: Item = items[place]
            place += 1
            held = len(self.held)
            # The usual item has no function of its own: each takes a fifth of what a small call does.
            if type(item) is tuple and self._error is None and len(item[1]) <= QUICK_BYTES:
                answer = self.call(item)
                together = together or self.may_go_together
            else:
                item = yield from self._read(item)
                answer = self._answer_item(item)
            if answer is None or isinstance(answer, bytes):
                reply: Reply | None = answer
            else:
                reply = yield from self._finish(answer, item)
            if reply:
                size = len(reply) if isinstance(reply, bytes) else size_of(reply)
                if self._size + size > most and self._error is None:
                    reply = self._refuse_rest(item, held)
                    size = len(reply)
                self._replies.append(reply)
                self._size += size

    def _pause(self) -> Generator[Step, Any, None]:
        """Let others run at the end of a slice; at the end of the batch's time, refuse what is left."""
        clock = self._dispatcher.clock
        if (now := clock()) > self._slice_end or self._size > self._room:
            try:
                yield self._size
            except TimeLimitError:
                self._error = self._error or request_timed_out()
            except RpcError as refusal:
                self._error = self._error or refusal
            self.mark = 0.0
            now = clock()
            self._slice_end = now + self._dispatcher.bounds.slice_seconds
            self._room = self._size + SLICE_BYTES
        if now > self._end:
            self._error = self._error or request_timed_out()
            self._end = inf
        self._due = min(self._slice_end, self._end)

    def _read(self, item: Item) -> Generator[Step, Any, Item]:
        """Return an item, read by a thread if it is long."""
        if isinstance(item, bytes) and is_long(item):
            try:
                item = yield from aside(partial(_decode_long, item))
            except RpcError as refusal:
                self._error = self._error or refusal
        return item

    def _answer_item(self, item: Item) -> bytes | Replying | None:
        if self._error is not None:
            return _refuse_item(item, self._error)
        try:
            return self.call_of(_request_of(item))
        except UnusableRequestError as unusable:
            return unusable.reply

    def _finish(self, steps: Replying, item: Item) -> Generator[Step, Any, Reply | None]:
        """Return the reply of a call in slices, None if there is none yet, because it waits beside others."""
        call = Running(steps, len(self._replies), item)
        yield from call.run(self._size)
        if call.is_fetching:
            self._parked.append(call)
            self._replies.append(b"")
            return None
        if call.waits_for is not None:
            # It may change what the parked ones read.
            yield from self._unpark()
        reply = _refuse_item(item, self._error) if self._error else (yield from call.finish(self._size))
        call.close()
        return reply

    def _refuse_rest(self, item: Item, held: int) -> bytes:
        """Return the reply to an item, and let that of all after it be, that they are too much.

        Before the item's call there were `held` subscriptions.
        """
        self._error = response_too_large()
        self._take_back(held)
        return _refuse_item(item, self._error) or b""

    def _begin_together(self) -> bool:
        """Return whether the engine might answer the first call; it has then what lasts of other turns."""
        if self.lasting is None or self.gate is not None or (view := self._open_for_engine()) is None:
            return False
        self.mark = perf_counter()
        self.results = self.lasting.of(view.version)
        return True

    def _add_together(self, items: Sequence[Request | bytes], place: int) -> int:
        """Take the replies that the engine has from `place` on, and return their number."""
        room = min(self._dispatcher.bounds.batch_reply_bytes, self._room) - self._size
        text, count = self.go_together(items, place, self.reply_bytes, room, are_messages=False)
        if count:
            self._replies.append(text)
            # Its commas are not counted, as those between the others are not.
            self._size += len(text) - (count - 1)
        return count

    def _unpark(self) -> Generator[Step, Any, None]:
        """Put the replies of parked calls to their places."""
        bounds, supplies = self._dispatcher.bounds, self._dispatcher.registry.supplies
        while parked := self._parked:
            assert supplies is not None, "something has fetched for them"
            yield from fetched(parked, supplies, self._size)
            if self._dispatcher.clock() > self._end:
                self._error = self._error or request_timed_out()
            for call in [call for call in parked if self._error or not call.is_fetching]:
                parked.remove(call)
                reply = None if self._error else (yield from call.finish(self._size))
                call.close()
                if self._error is None and self._size + size_of(reply or b"") > bounds.batch_reply_bytes:
                    self._error = response_too_large()
                reply = _refuse_item(call.request, self._error) if self._error else reply
                self._replies[call.place] = reply or b""
                self._size += size_of(reply or b"")

    def _wait_first_for_all(
        self, arrivals: Arrivals, items: Sequence[Request | bytes]
    ) -> Generator[Step, Any, None]:
        """Wait for what the calls name, before the view is opened that all of them share."""
        found = (self._awaited_by(item) for item in items)
        awaited = [each for each in found if each is not None]
        if awaited:
            # If it is in vain, each call that names something says so.
            with suppress(RpcError, TimeLimitError):
                yield self._arrival(arrivals, awaited)

    def _awaited_by(self, item: Request | bytes) -> Any:
        if isinstance(item, bytes) and is_long(item):
            return None
        try:
            name, params, _identity = _request_of(item)
        except UnusableRequestError:
            return None
        method = self._methods.get(name)
        return None if method is None else method.kind.awaited(params)

    def _arrival(self, arrivals: Arrivals, awaited: Sequence[Any]) -> AsyncCall:
        return AsyncCall(partial(arrivals.wait, awaited, getattr(self.caller, "party", None)))

    def _take_back(self, count: int) -> None:
        """End the subscriptions that calls after the first `count` began: their ids are in no reply."""
        begun = self.held[count:]
        del self.held[count:]
        if begun and self.channel is not None:
            self.channel.take_back(begun)

    def call_of(self, request: Request) -> bytes | Replying | None:
        """Return what `call` returns; where the parameters are long, a thread reads them."""
        params = request[1]
        return (
            self.call_long(request) if len(params) > QUICK_BYTES and is_long(params) else self.call(request)
        )


class _Closed:
    """Refuses all calls, after those that another gate refuses."""

    def __init__(self, inner: Gate | None, error: RpcError) -> None:
        self._inner = inner
        self._error = error

    def admit(self, name: str) -> None:
        """Refuse the call.

        Raises:
            RpcError: Always.
        """
        if self._inner is not None:
            self._inner.admit(name)
        raise self._error

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        """Have no call to check."""


def _listed(replies: list[Reply]) -> Reply:
    """Return the replies as a list."""
    pieces = Pieces((b"[",))
    for reply in replies:
        pieces += (*pieces_of(reply), b",")
    pieces[-1] = b"]"
    return joined(pieces)


def empty_batch() -> bytes:
    """Return the reply to a batch of nothing."""
    return error_reply(NULL, invalid_request("empty batch"))


def _decode_message(
    text: bytes, batch_items: int, _cancel: CancelToken
) -> Request | list[Request] | list[bytes]:
    return decode_message(text, batch_items)


def _decode_long(item: bytes, _cancel: CancelToken) -> Request | UnusableRequestError:
    try:
        return decode_item(item)
    except UnusableRequestError as unusable:
        return unusable


def _request_of(item: Item) -> Request:
    if isinstance(item, UnusableRequestError):
        raise item
    return item if isinstance(item, tuple) else decode_item(item)


def _refuse_item(item: Item, error: RpcError) -> bytes | None:
    identity = item.identity if isinstance(item, UnusableRequestError) else identity_of(item)
    return error_reply(identity, error) if identity else None
