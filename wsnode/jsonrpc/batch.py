"""Batches: many requests in one message, answered in one."""

from collections.abc import Sequence

from wsnode.jsonrpc.calls import Calls
from wsnode.jsonrpc.codec import error_reply
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, request_timed_out, response_too_large
from wsnode.jsonrpc.messages import Replying, Request
from wsnode.jsonrpc.requests import UnusableRequestError, decode_item, identity_of


class Batch(Calls):
    """The calls of one batch, which share one view however long they take."""

    __slots__ = ()

    def run(self, items: Sequence[Request | bytes]) -> Replying:
        """Return, in the end, the reply to a batch, or nothing if it held notifications only."""
        bounds, clock = self._dispatcher.bounds, self._dispatcher.clock
        replies: list[bytes] = []
        size, error = 0, None
        began = slice_began = clock()
        try:
            place = 0
            while place < len(items):
                item = items[place]
                place += 1
                if (now := clock()) - slice_began > bounds.slice_seconds:
                    try:
                        yield None
                    except TimeLimitError:
                        error = error or request_timed_out()
                    except RpcError as refusal:
                        error = error or refusal
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
                if self.may_go_together and not error:
                    room = bounds.batch_reply_bytes - size
                    text, count = self.go_together(items, place, self.reply_bytes, room, are_messages=False)
                    if count:
                        replies.append(text)
                        # Its commas are not counted, as those between the others are not.
                        size += len(text) - (count - 1)
                        place += count
        finally:
            self.end_turn()
        return b"[%b]" % b",".join(replies) if replies else None

    def _take_back(self, count: int) -> None:
        """End what was begun behind the first `count` calls, of which nobody will learn."""
        begun = self.held[count:]
        del self.held[count:]
        if begun and self.channel is not None:
            self.channel.take_back(begun)

    def _answer_item(self, item: Request | bytes) -> bytes | Replying | None:
        try:
            return self.call(item if isinstance(item, tuple) else decode_item(item))
        except UnusableRequestError as unusable:
            return unusable.reply


def _refuse_item(item: Request | bytes, error: RpcError) -> bytes | None:
    identity = identity_of(item)
    return error_reply(identity, error) if identity else None
