"""From the text of a message to its reply.

A quick method answers at once. A slow call becomes a `SlowCall`, which the server resumes between other work.
"""

from time import perf_counter
from typing import Any

from wsnode.jsonrpc.batches.batch import ITEM_BYTES, Batch, empty_batch
from wsnode.jsonrpc.bounds import Gate
from wsnode.jsonrpc.calls import Calls
from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.dispatcher import Dispatcher, LastingResults
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.requests import (
    LONG_BYTES,
    QUICK_VALUES,
    UnusableRequestError,
    decode_message,
    find_identity,
    is_long,
    read_request,
)
from wsnode.jsonrpc.work import Answer, Replying, Request, SlowCall


class Session(Calls):
    """One connection's conversation."""

    __slots__ = ()

    def __init__(
        self, dispatcher: Dispatcher, caller: Any, gate: Gate | None = None, *, shares_results: bool = False
    ) -> None:
        """Begin for a `caller`, whose calls must pass `gate`.

        If it `shares_results`, the engine answers frames by those of all such conversations, while they are
        true.
        """
        super().__init__(dispatcher, caller, gate)
        self.lasting = dispatcher.lasting if shares_results and gate is None else None

    def receive(self, text: bytes) -> Answer:
        """Return the answer to the message `text`: a request or a batch."""
        if self.floor is not None and not self._has_reached_floor():
            return self._receive_after(text, self.floor)
        if len(text) > LONG_BYTES:
            return self._receive_long(text)
        if (request := read_request(text, QUICK_VALUES)) is None:
            # The items of a batch are looked at one by one.
            is_one_long = not text.startswith(b"[") and is_long(text)
            return self._receive_long(text) if is_one_long else self._receive_unusual(text)
        reply = self.call(request)
        return reply if reply is None or isinstance(reply, bytes) else self._begin(reply, len(text))

    def answer_frames(self, data: bytes, largest: int, room: int) -> tuple[bytes, int, int] | None:
        """Answer the frames that `data` begins with and that ask for what the engine has.

        That are results which are still true and, where calls of the last turn asked for such, what it finds
        in the state and among the transactions. Returns the replies as frames, the size of the frames in
        `data`, and the number of calls; None if the first is left to others. None of the replies is longer
        than `largest` bytes, nor are all of them longer than `room`.
        """
        # Below a floor, what is true at the present head is older than what the client has seen.
        if (lasting := self.lasting) is None or self.floor is not None:
            return None
        largest, began = min(largest, self.reply_bytes), perf_counter()
        view = self._open_for_engine() if self.went_together else None
        if view is None:
            answered = lasting.answer(data, largest, room)
        else:
            answered = self._answer_by_view(lasting, data, largest, room)
        if answered is None:
            return None
        frames, size, count, counts = answered
        seconds = perf_counter() - began
        self.observe(counts, count, seconds, longest=seconds)
        return frames, size, count

    def _answer_by_view(
        self, lasting: LastingResults, data: bytes, largest: int, room: int
    ) -> tuple[bytes, int, int, dict[str, int]] | None:
        """Return what `lasting` and the view of this turn, which ends, have for the frames."""
        dispatcher, view = self._dispatcher, self.view
        moment = getattr(view, "moment", None)
        answered = lasting.answer(data, largest, room, dispatcher.engine_methods, view.version, moment)
        self.may_go_together = answered is not None and not dispatcher.engine_names.isdisjoint(answered[3])
        self.end_turn()
        return answered

    def take_held(self) -> list[Any]:
        """Return the subscriptions that wait for the replies given so far."""
        held, self.held = self.held, []
        return held

    def _begin(self, steps: Replying, weight: int) -> Answer:
        dispatcher = self._dispatcher
        call = SlowCall(steps, dispatcher.clock() + self.patience, weight)
        call.maker = maker = self.later or self
        if maker is not self:
            call.held, self.later = maker.held, None
        self.mark = 0.0
        if self.eager and call.resume():
            return call.reply
        if dispatcher.is_crowded and call.fail(limit_exceeded("too many versions of the chain are read")):
            return call.reply
        # From here on the view is this call's own, which may read it while the next turn reads another.
        call.view, self.scope, self.view = self.scope, None, None
        self._forget_results()
        return call

    def _receive_unusual(self, text: bytes) -> Answer:
        try:
            message = decode_message(text, self._dispatcher.bounds.batch_items)
        except UnusableRequestError as unusable:
            return unusable.reply
        if isinstance(message, list):
            return self._receive_batch(message)
        reply = self.call(message)
        return reply if reply is None or isinstance(reply, bytes) else self._begin(reply, len(text))

    def _receive_batch(self, items: list[Request] | list[bytes]) -> Answer:
        if not items:
            return empty_batch()
        batch = self._batch()
        return self._begin_batch(batch, batch.run(items), len(items) * ITEM_BYTES)

    def _has_reached_floor(self) -> bool:
        arrivals = self._dispatcher.registry.arrivals
        if arrivals is not None and not arrivals.has_come(self.floor):
            return False
        self.floor = None
        return True

    def _receive_after(self, text: bytes, floor: Any) -> Answer:
        """Return how to answer a message that waits for what the client has demanded."""
        if self.refusal is not None:
            return error_reply(find_identity(text) or NULL, self.refusal)
        self.end_turn()
        batch = self._batch()
        return self._begin_batch(batch, batch.run_after(text, floor), len(text))

    def _receive_long(self, text: bytes) -> Answer:
        """Return how to answer a message that takes long to read."""
        if self.refusal is not None:
            return error_reply(find_identity(text) or NULL, self.refusal)
        batch = self._batch()
        return self._begin_batch(batch, batch.run_text(text), len(text))

    def _batch(self) -> Batch:
        batch = Batch(self._dispatcher, self.caller, self.gate)
        batch.refusal, batch.channel, batch.lasting = self.refusal, self.channel, self.lasting
        return batch

    def _begin_batch(self, batch: Batch, steps: Replying, weight: int) -> Answer:
        self.patience = self._dispatcher.bounds.batch_seconds
        arrivals = self._dispatcher.registry.arrivals
        if arrivals is not None and arrivals.is_behind:
            # It may wait for blocks first, and would take the view of this turn along.
            self.end_turn()
        answer = self._begin(steps, weight)
        if isinstance(answer, SlowCall):
            answer.held, answer.maker = batch.held, batch
        else:
            self.held += batch.held
            self.head = batch.head
        return answer
