"""Batches: many requests in one message, with all replies in one message."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeAlias

from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.context import BatchContext
from wsnode.jsonrpc.errors import (
    RpcError,
    TimeLimitError,
    invalid_request,
    request_timed_out,
    response_too_large,
)
from wsnode.jsonrpc.generators import aside, joined
from wsnode.jsonrpc.request_handler import RequestHandler
from wsnode.jsonrpc.requests import (
    QUICK_BYTES,
    InvalidRequestError,
    decode_item,
    identity_of,
    is_long,
)
from wsnode.jsonrpc.work import (
    Await,
    CallTask,
    CancelToken,
    Gather,
    Reply,
    ReplyChunks,
    Replying,
    Request,
    Step,
    pieces_of,
    size_of,
)

SLICE_BYTES = 1024 * 1024
"""Bytes of replies after which a slice ends: room for more replies is checked between slices only."""
ITEM_BYTES = 256
"""Estimated bytes of a request cut out of a batch, without its parameters and its id."""

Item: TypeAlias = Request | bytes | InvalidRequestError
"""Item of a batch: a decoded request, its JSON text, or the error that a thread found when decoding it."""


class _Parked(NamedTuple):
    """Call of a batch waiting, together with others of the batch, for one step that serves all of them."""

    task: CallTask
    place: int
    """Index of its reply in the batch's replies."""
    item: Item


class Batch:
    """Calls of one batch. Each is handled like a message of its own, except that all share one view."""

    __slots__ = (
        "_context",
        "_due",
        "_end",
        "_error",
        "_handler",
        "_parked",
        "_replies",
        "_room",
        "_size",
        "_slice_end",
    )

    def __init__(self, handler: RequestHandler, context: BatchContext) -> None:
        self._handler = handler
        self._context = context

    def run(self, items: Sequence[Request | bytes]) -> Replying:
        """Return the reply to a batch, None if it held only notifications."""
        if (prepare := self._handler.registry.before_batch) is not None:
            step = prepare(_readable(items), self._context.caller)
            if step is not None:
                # If the step fails, each call that needs its result returns the error.
                with suppress(RpcError, TimeLimitError):
                    yield step
        self._start()
        try:
            yield from self._answer_all(items)
            yield from self._unpark()
        finally:
            for call in self._parked:
                call.task.close()
            self._context.end_turn()
        replies = [reply for reply in self._replies if reply]
        # This `Batch` may exist longer than its call, so it must not keep the replies.
        self._replies.clear()
        return _listed(replies) if replies else None

    def _start(self) -> None:
        bounds, now = self._handler.bounds, self._handler.clock()
        self._replies: list[Reply] = []
        self._parked: list[_Parked] = []
        self._size = 0
        self._error: RpcError | None = None
        self._slice_end, self._end = now + bounds.slice_seconds, now + bounds.batch_seconds
        self._due = min(self._slice_end, self._end)
        """Time on the handler's clock at which the slice or the whole batch ends, whichever is first."""
        self._room = SLICE_BYTES
        """Bytes of all replies at which the slice ends."""

    def _answer_all(self, items: Sequence[Request | bytes]) -> Generator[Step, Any, None]:
        handler, context = self._handler, self._context
        clock, handle, fast_paths = handler.clock, handler.handle_request, handler.fast_paths
        most = handler.bounds.batch_reply_bytes
        place, count = 0, len(items)
        together = count > 1 and fast_paths.begin_batch(context)
        while place < count:
            if clock() > self._due or self._size > self._room:
                yield from self._pause()
            if together and self._error is None:
                name = items[place][0]
                if name in fast_paths.names or name in context.results:
                    together = (added := self._add_fast_replies(items, place)) > 0
                    place += added
                    if place == count:
                        break
            item: Item = items[place]
            place += 1
            pending_subscriptions = len(context.pending_subscriptions)
            # The usual item is handled without further function calls: each would take a fifth of the time of
            # a small call.
            if type(item) is tuple and self._error is None and len(item[1]) <= QUICK_BYTES:
                answer = handle(item, context)
                together = together or context.may_take_fast_path
            else:
                item = yield from self._read(item)
                answer = self._answer_item(item)
            if isinstance(answer, CallTask):
                reply = yield from self._finish(answer, item)
            else:
                reply = answer
            if reply:
                size = len(reply) if isinstance(reply, bytes) else size_of(reply)
                if self._size + size > most and self._error is None:
                    reply = self._refuse_rest(item, pending_subscriptions)
                    size = len(reply)
                self._replies.append(reply)
                self._size += size

    def _pause(self) -> Generator[Step, Any, None]:
        """End a slice whose time or bytes are used; at the end of the batch's time, refuse the remaining
        items.
        """
        clock = self._handler.clock
        if (now := clock()) > self._slice_end or self._size > self._room:
            try:
                yield self._size
            except TimeLimitError:
                self._error = self._error or request_timed_out()
            except RpcError as refusal:
                self._error = self._error or refusal
            self._context.mark = 0.0
            now = clock()
            self._slice_end = now + self._handler.bounds.slice_seconds
            self._room = self._size + SLICE_BYTES
        if now > self._end:
            self._error = self._error or request_timed_out()
            self._end = inf
        self._due = min(self._slice_end, self._end)

    def _read(self, item: Item) -> Generator[Step, Any, Item]:
        if isinstance(item, bytes) and is_long(item):
            try:
                item = yield from aside(partial(_decode_long, item))
            except RpcError as refusal:
                self._error = self._error or refusal
        return item

    def _answer_item(self, item: Item) -> bytes | CallTask | None:
        if self._error is not None:
            return _refuse_item(item, self._error)
        try:
            return self._handler.handle_any(_request_of(item), self._context)
        except InvalidRequestError as unusable:
            return self._handler.refuse_unusable(unusable.identity, unusable.reply, self._context)

    def _finish(self, task: CallTask, item: Item) -> Generator[Step, Any, Reply | None]:
        """Return the reply of a slow call; None if the call is parked, with an empty reply in its place."""
        yield from self._resume(task)
        may_change = task.step is not None and not self._reads_view(item)
        if _is_parked(task):
            self._parked.append(_Parked(task, len(self._replies), item))
            self._replies.append(b"")
            return None
        if task.step is not None:
            # The rest of this call may change what the parked calls read, so they are completed first.
            yield from self._unpark()
        reply = _refuse_item(item, self._error) if self._error else (yield from self._complete(task))
        task.close()
        if may_change:
            # Later calls must see what this call has sent, mined or patched, so they get a new view.
            self._context.end_turn()
        return reply

    def _resume(self, task: CallTask, outcome: Any = None) -> Generator[Step, Any, None]:
        """Resume a call with the result or the error of its step, until it is parked or has ended."""
        while not (task.fail(outcome) if isinstance(outcome, Exception) else task.resume(outcome)):
            # The results of this call count in addition to the replies that the batch already holds.
            if (step := task.step) is None:
                outcome = yield from _attempt(self._size + task.made)
                continue
            step.made = self._size + task.made
            if isinstance(step, Await):
                return
            outcome = yield from _attempt(step)

    def _complete(self, task: CallTask) -> Generator[Step, Any, Reply | None]:
        """Run a call to its end, waiting for each of its steps, and return its reply, None for a
        notification.
        """
        while task.step is not None:
            yield from self._resume(task, (yield from _attempt(task.step)))
        return task.take_reply()

    def _reads_view(self, item: Item) -> bool:
        if isinstance(item, InvalidRequestError):
            return True
        method = self._handler.registry.methods.get(_request_of(item)[0])
        return method is None or method.kind.reads_view

    def _refuse_rest(self, item: Item, pending_subscriptions: int) -> bytes:
        """Return the error reply to the item whose result exceeds the batch's bound; later items get the same
        error.

        `pending_subscriptions` is the number of subscriptions before the item's call; those after it are
        ended.
        """
        self._error = response_too_large()
        self._discard(pending_subscriptions)
        return _refuse_item(item, self._error) or b""

    def _add_fast_replies(self, items: Sequence[Request | bytes], place: int) -> int:
        """Append the engine's replies to items from `place` on; return the number of items answered."""
        handler, context = self._handler, self._context
        room = min(handler.bounds.batch_reply_bytes, self._room) - self._size
        text, count = handler.fast_paths.answer_calls(
            items, place, context, context.reply_bytes, room, are_messages=False
        )
        if count:
            self._replies.append(text)
            # The commas within `text` are not counted, as those between the other replies are not.
            self._size += len(text) - (count - 1)
        return count

    def _unpark(self) -> Generator[Step, Any, None]:
        handler = self._handler
        while parked := self._parked:
            yield from self._resume_together([call.task for call in parked])
            if handler.clock() > self._end:
                self._error = self._error or request_timed_out()
            for call in [call for call in parked if self._error or not _is_parked(call.task)]:
                parked.remove(call)
                reply = None if self._error else (yield from self._complete(call.task))
                call.task.close()
                size = self._size + size_of(reply or b"")
                if self._error is None and size > handler.bounds.batch_reply_bytes:
                    self._error = response_too_large()
                reply = _refuse_item(call.item, self._error) if self._error else reply
                self._replies[call.place] = reply or b""
                self._size += size_of(reply or b"")

    def _resume_together(self, tasks: Sequence[CallTask]) -> Generator[Step, Any, None]:
        """Await the steps of parked calls concurrently, and resume each call with its result or its error."""
        steps = [task.step for task in tasks if isinstance(task.step, Await)]
        together = Gather([step.function for step in steps])
        bounds = [step.seconds for step in steps]
        together.seconds = None if None in bounds else max(each for each in bounds if each is not None)
        together.made = self._size
        outcomes = yield from _attempt(together)
        if isinstance(outcomes, Exception):
            outcomes = [outcomes] * len(tasks)
        for task, outcome in zip(tasks, outcomes, strict=True):
            yield from self._resume(task, outcome)

    def _discard(self, count: int) -> None:
        """End the subscriptions after the first `count`: no reply has their ids."""
        context = self._context
        begun = context.pending_subscriptions[count:]
        del context.pending_subscriptions[count:]
        if begun and context.channel is not None:
            context.channel.discard(begun)


def _is_parked(task: CallTask) -> bool:
    return isinstance(task.step, Await) and task.step.is_shared


def _attempt(step: Step) -> Generator[Step, Any, Any]:
    try:
        return (yield step)
    except Exception as error:
        return error


def _readable(items: Sequence[Request | bytes]) -> Iterator[Request]:
    """Yield the requests among the items; texts that take long to decode are left out."""
    for item in items:
        if not (isinstance(item, bytes) and is_long(item)):
            with suppress(InvalidRequestError):
                yield _request_of(item)


def _listed(replies: list[Reply]) -> Reply:
    pieces = ReplyChunks((b"[",))
    for reply in replies:
        pieces += (*pieces_of(reply), b",")
    pieces[-1] = b"]"
    return joined(pieces)


def empty_batch() -> bytes:
    """Return the reply to a batch without items."""
    return error_reply(NULL, invalid_request("empty batch"))


def _decode_long(item: bytes, _cancel: CancelToken) -> Request | InvalidRequestError:
    try:
        return decode_item(item)
    except InvalidRequestError as unusable:
        return unusable


def _request_of(item: Item) -> Request:
    if isinstance(item, InvalidRequestError):
        raise item
    return item if isinstance(item, tuple) else decode_item(item)


def _refuse_item(item: Item, error: RpcError) -> bytes | None:
    identity = item.identity if isinstance(item, InvalidRequestError) else identity_of(item)
    return error_reply(identity, error) if identity else None
