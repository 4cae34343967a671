"""Batches: many requests in one message, answered in one."""

from wsnode.jsonrpc.calls import COMPOUND, Calls
from wsnode.jsonrpc.codec import NULL, UnusableRequestError, decode_item, error_reply
from wsnode.jsonrpc.errors import RpcError, request_timed_out, response_too_large
from wsnode.jsonrpc.messages import Replying


class Batch(Calls):
    """The calls of one batch, which share one view however long they take."""

    __slots__ = ()

    def run(self, items: list[bytes]) -> Replying:
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
            return self.call(decode_item(item))
        except UnusableRequestError as unusable:
            return unusable.reply


def identity_of(item: bytes) -> bytes:
    """Return the id to answer `item` under; none if it is a notification."""
    try:
        identity = bytes(decode_item(item).id)
    except UnusableRequestError as unusable:
        return unusable.identity
    return NULL if identity[:1] in COMPOUND else identity


def _refuse_item(item: bytes, error: RpcError) -> bytes | None:
    identity = identity_of(item)
    return error_reply(identity, error) if identity else None
