"""Batches: many requests in one message, answered in one."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from functools import partial
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
from wsnode.jsonrpc.work import Arrivals, AsyncCall, CancelToken, Replying, Request, Step

ITEM_BYTES = 256
"""Bytes of a request that was cut out of a batch, without its parameters and its id."""

Item: TypeAlias = Request | bytes | UnusableRequestError
"""An item of a batch: a request, its text, or the error that a thread found in it."""


class Batch(Calls):
    """The calls of one batch, or the one of a long message, which share one view however long they take."""

    __slots__ = ()

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
        bounds, clock = self._dispatcher.bounds, self._dispatcher.clock
        replies: list[bytes] = []
        parked: list[Running] = []
        size, error = 0, None
        if (arrivals := self._dispatcher.registry.arrivals) is not None and arrivals.is_behind:
            yield from self._wait_first_for_all(arrivals, items)
        began = slice_began = clock()
        try:
            place = 0
            while place < len(items):
                item: Item = items[place]
                place += 1
                if (now := clock()) - slice_began > bounds.slice_seconds:
                    try:
                        yield size
                    except TimeLimitError:
                        error = error or request_timed_out()
                    except RpcError as refusal:
                        error = error or refusal
                    self.mark = 0.0
                    slice_began = now = clock()
                if now - began > bounds.batch_seconds:
                    error = error or request_timed_out()
                if isinstance(item, bytes) and is_long(item):
                    try:
                        item = yield from aside(partial(_decode_long, item))
                    except RpcError as refusal:
                        error = error or refusal
                held = len(self.held)
                answer = _refuse_item(item, error) if error else self._answer_item(item)
                if answer is None or isinstance(answer, bytes):
                    reply = answer
                else:
                    call = Running(answer, len(replies), item)
                    yield from call.run(size)
                    if call.is_fetching:
                        parked.append(call)
                        replies.append(b"")
                        continue
                    if call.waits_for is not None:
                        # It may change what the parked ones read.
                        size, error = yield from self._unpark(parked, replies, size, began)
                    reply = _refuse_item(item, error) if error else (yield from call.finish(size))
                    call.close()
                if reply and not error and size + len(reply) > bounds.batch_reply_bytes:
                    error = response_too_large()
                    reply = _refuse_item(item, error)
                    self._take_back(held)
                if reply:
                    replies.append(reply)
                    size += len(reply)
                if self.may_go_together and not error:
                    room = bounds.batch_reply_bytes - size
                    text, count = self.go_together(items, place, self.reply_bytes, room, are_messages=False)
                    if count:
                        replies.append(text)
                        # Its commas are not counted, as those between the others are not.
                        size += len(text) - (count - 1)
                        place += count
            yield from self._unpark(parked, replies, size, began)
        finally:
            for call in parked:
                call.close()
            self.end_turn()
        replies = [reply for reply in replies if reply]
        return (yield from _listed(replies)) if replies else None

    def _unpark(
        self, parked: list[Running], replies: list[bytes], size: int, began: float
    ) -> Generator[Step, Any, tuple[int, RpcError | None]]:
        """Put the replies of parked calls to their places; return the size of all, and the batch's error."""
        bounds, supplies = self._dispatcher.bounds, self._dispatcher.registry.supplies
        error: RpcError | None = None
        while parked:
            assert supplies is not None, "something has fetched for them"
            yield from fetched(parked, supplies, size)
            if self._dispatcher.clock() - began > bounds.batch_seconds:
                error = request_timed_out()
            for call in [call for call in parked if error or not call.is_fetching]:
                parked.remove(call)
                reply = (yield from call.finish(size)) if error is None else None
                call.close()
                if error is None and size + len(reply or b"") > bounds.batch_reply_bytes:
                    error = response_too_large()
                reply = _refuse_item(call.request, error) if error else reply
                replies[call.place] = reply or b""
                size += len(reply or b"")
        return size, error

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

    def _answer_item(self, item: Item) -> bytes | Replying | None:
        try:
            return self.call_of(_request_of(item))
        except UnusableRequestError as unusable:
            return unusable.reply

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


def _listed(replies: list[bytes]) -> Generator[Step, Any, bytes]:
    """Return the replies as a list."""
    pieces = [b"["]
    for reply in replies:
        pieces += (reply, b",")
    pieces[-1] = b"]"
    try:
        return (yield from joined(pieces))
    except (TimeLimitError, RpcError):
        # All calls have been answered.
        return b"".join(pieces)


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
