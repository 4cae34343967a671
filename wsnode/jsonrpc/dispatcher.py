"""Answering of messages: from the text of a message to its reply.

A quick method answers immediately. A slow call, a batch, and a message that takes long to decode become a
`CallTask`; the server resumes it between other work.
"""

from functools import partial
from typing import Any

from wsnode.jsonrpc.batch import ITEM_BYTES, Batch, empty_batch
from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.context import BatchContext, CallContext, MessageContext, Session
from wsnode.jsonrpc.errors import RpcError, TimeLimitError, limit_exceeded, request_timed_out
from wsnode.jsonrpc.generators import aside
from wsnode.jsonrpc.request_handler import RequestHandler
from wsnode.jsonrpc.requests import (
    LONG_BYTES,
    QUICK_BYTES,
    QUICK_VALUES,
    InvalidRequestError,
    decode_message,
    find_identity,
    is_long,
    read_request,
)
from wsnode.jsonrpc.session_limits import AdmissionGate, ClosedGate
from wsnode.jsonrpc.work import Answer, Await, CallBarrier, CallTask, CancelToken, Replying, Request


class Dispatcher(RequestHandler):
    """Dispatcher of one network: answers the messages of its sessions."""

    def session(
        self, caller: Any, gate: AdmissionGate | None = None, *, shares_results: bool = False
    ) -> Session:
        """Return the session of a `caller`, whose calls must pass `gate`.

        With `shares_results` and no gate, its results are kept for all such sessions, and given to it.
        """
        session = Session(self.open_view, caller, gate, self.bounds.reply_bytes)
        session.shares_results = shares_results and gate is None
        return session

    def handle(self, message: bytes, session: Session) -> Answer:
        """Return the reply to a request or a batch, or the task of a slow one; an eager session runs its
        first slice.
        """
        if session.barrier is not None and session.is_held():
            return self._handle_after(message, session, session.barrier)
        if len(message) > LONG_BYTES:
            return self._handle_long(message, session)
        if (request := read_request(message, QUICK_VALUES)) is None:
            # The items of a batch are checked one by one, so `is_long` applies to single requests only.
            is_one_long = not message.startswith(b"[") and is_long(message)
            unusual = self._handle_long if is_one_long else self._handle_unusual
            return unusual(message, session)
        answer = self.handle_request(request, session)
        return self._begin(answer, session, len(message)) if isinstance(answer, CallTask) else answer

    def _begin(
        self, task: CallTask, session: Session, weight: int, maker: CallContext | None = None
    ) -> Answer:
        """Return the reply to a call if it ends in its first slice, else its task.

        `weight` is the size of its request in bytes. `maker` is the context of a call with a view of its own.
        """
        task.weight = weight
        task.maker = maker = maker or session.later or session
        if maker is not session:
            task.pending_subscriptions, session.later = maker.pending_subscriptions, None
        session.mark = 0.0
        if session.eager and task.resume():
            return _take_reply(task, session, maker)
        if self.is_crowded and task.fail(
            limit_exceeded("too many versions of the chain are read at once, try again")
        ):
            return _take_reply(task, session, maker)
        if maker is session:
            # From here on the view is this call's own, which may read it while the next turn reads another.
            task.view = session.take_view()
        return task

    def _begin_message(self, steps: Replying, session: Session, weight: int, maker: CallContext) -> Answer:
        task = CallTask(steps, self.clock() + self.bounds.batch_seconds)
        return self._begin(task, session, weight, maker)

    def _handle_unusual(self, message: bytes, session: Session) -> Answer:
        try:
            decoded = decode_message(message, self.bounds.batch_items)
        except InvalidRequestError as unusable:
            return self.refuse_unusable(unusable.identity, unusable.reply, session)
        if isinstance(decoded, list):
            return self._handle_batch(decoded, session)
        answer = self.handle_request(decoded, session)
        return self._begin(answer, session, len(message)) if isinstance(answer, CallTask) else answer

    def _handle_batch(self, items: list[Request] | list[bytes], session: Session) -> Answer:
        if not items:
            return self.refuse_unusable(NULL, empty_batch(), session)
        context = BatchContext(session)
        steps = Batch(self, context).run(items)
        return self._begin_message(steps, session, len(items) * ITEM_BYTES, context)

    def _handle_after(self, message: bytes, session: Session, barrier: CallBarrier) -> Answer:
        """Return a task that answers a message once `barrier` is over; the error reply if no slow call may
        begin.
        """
        if session.refusal is not None:
            return error_reply(find_identity(message) or NULL, session.refusal)
        session.end_turn()
        context = MessageContext(session)
        steps = self._answer_after(message, context, barrier)
        return self._begin_message(steps, session, len(message), context)

    def _handle_long(self, message: bytes, session: Session) -> Answer:
        if session.refusal is not None:
            return error_reply(find_identity(message) or NULL, session.refusal)
        context = MessageContext(session)
        return self._begin_message(
            self._answer_long_message(message, context), session, len(message), context
        )

    def _answer_after(self, message: bytes, context: MessageContext, barrier: CallBarrier) -> Replying:
        """Wait for `barrier`, then return the reply to a message; if the wait fails, all calls in it get its
        error.
        """
        try:
            yield Await(partial(barrier.wait, getattr(context.caller, "client", None)))
        except TimeLimitError:
            context.gate = ClosedGate(context.gate, request_timed_out())
        except RpcError as error:
            context.gate = ClosedGate(context.gate, error)
        if len(message) > QUICK_BYTES and is_long(message):
            return (yield from self._answer_long_message(message, context))
        try:
            decoded = decode_message(message, self.bounds.batch_items)
        except InvalidRequestError as unusable:
            return self.refuse_unusable(unusable.identity, unusable.reply, context)
        return (yield from self._answer_decoded(decoded, context))

    def _answer_long_message(self, message: bytes, context: MessageContext) -> Replying:
        try:
            decoded = yield from aside(partial(_decode_message, message, self.bounds.batch_items))
        except InvalidRequestError as unusable:
            return self.refuse_unusable(unusable.identity, unusable.reply, context)
        except RpcError as refusal:
            return error_reply(find_identity(message) or NULL, refusal)
        # The decoded requests are copies of the message's parts, so the message is released.
        del message
        return (yield from self._answer_decoded(decoded, context))

    def _answer_decoded(
        self, decoded: Request | list[Request] | list[bytes], context: MessageContext
    ) -> Replying:
        if isinstance(decoded, list):
            return (yield from self._answer_batch(decoded, context))
        try:
            answer = self.handle_any(decoded, context)
            return (yield from answer.steps) if isinstance(answer, CallTask) else answer
        finally:
            context.end_turn()

    def _answer_batch(self, items: list[Request] | list[bytes], context: MessageContext) -> Replying:
        if not items:
            return self.refuse_unusable(NULL, empty_batch(), context)
        own = BatchContext(context)
        own.pending_subscriptions = context.pending_subscriptions
        try:
            return (yield from Batch(self, own).run(items))
        finally:
            context.moment = own.moment


def _take_reply(task: CallTask, session: Session, maker: CallContext) -> Answer:
    """Return the reply of a call that ended in its first slice; its subscriptions become the turn's."""
    if maker is not session:
        session.pending_subscriptions += maker.pending_subscriptions
        session.moment = maker.moment
    return task.reply


def _decode_message(
    message: bytes, batch_items: int, _cancel: CancelToken
) -> Request | list[Request] | list[bytes]:
    return decode_message(message, batch_items)
