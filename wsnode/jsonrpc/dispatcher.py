"""From the text of a message to its answer.

A quick method answers at once. What is slow becomes a `Pending`, which the server resumes between other work.
"""

import itertools
import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from wsnode._native import EngineMethods
from wsnode.jsonrpc.batch import Batch
from wsnode.jsonrpc.bounds import Bounds, Gate
from wsnode.jsonrpc.calls import Calls
from wsnode.jsonrpc.codec import NULL, error_reply
from wsnode.jsonrpc.errors import RpcError, internal_error, invalid_request, limit_exceeded
from wsnode.jsonrpc.messages import Answer, Pending, Replying, Request, View
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import UnusableRequestError, decode_message, identity_of, read_request

logger = logging.getLogger("wsnode.jsonrpc")


class Dispatcher:
    """The methods of one network and the way into its chain."""

    def __init__(
        self,
        registry: Registry,
        open_view: Callable[[Any], View],
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
        versions: Callable[[], int] = lambda: 0,
    ) -> None:
        """`versions` says how many versions of the chain are being read."""
        self.registry = registry
        self.open_view = open_view
        self.bounds = bounds or Bounds()
        self.clock = clock
        self._versions = versions
        self._bugs = itertools.count(1)

    @cached_property
    def engine_methods(self) -> EngineMethods:
        """Return the methods that the engine may answer by itself."""
        return EngineMethods([method.name for method in self.registry.methods.values() if method.at_engine])

    @property
    def is_crowded(self) -> bool:
        """Tell whether calls read so many versions of the chain that none may hold one more for itself."""
        return self._versions() >= self.bounds.versions

    def session(self, caller: Any, gate: Gate | None = None) -> "Session":
        """Return a session for `caller`, whose calls must pass `gate`."""
        return Session(self, caller, gate)

    def report_bug(self, method: str) -> RpcError:
        """Log the exception being handled under a number, and return what the caller learns."""
        request = f"{next(self._bugs):08x}"
        logger.exception("request %s: %s failed", request, method)
        return internal_error(request)


class Session(Calls):
    """One connection's conversation."""

    __slots__ = ()

    def receive(self, text: bytes) -> Answer:
        """Return the answer to the message `text`: a request or a batch."""
        if (request := read_request(text)) is None:
            return self._receive_unusual(text)
        reply = self.call(request)
        return reply if reply is None or isinstance(reply, bytes) else self._begin(reply)

    def take_held(self) -> list[Any]:
        """Return what is held for the replies given so far."""
        held, self.held = self.held, []
        return held

    def _begin(self, steps: Replying) -> Answer:
        dispatcher = self._dispatcher
        pending = Pending(steps, dispatcher.clock() + self.patience)
        self.mark = 0.0
        if self.eager and pending.resume():
            return pending.reply
        if dispatcher.is_crowded and pending.fail(limit_exceeded("too many versions of the chain are read")):
            return pending.reply
        # From here on the view is this call's own, which may read it while the next turn reads another.
        pending.view, self._scope, self._view = self._scope, None, None
        self._forget_results()
        return pending

    def _receive_unusual(self, text: bytes) -> Answer:
        try:
            message = decode_message(text, self._dispatcher.bounds.batch_items)
        except UnusableRequestError as unusable:
            return unusable.reply
        if isinstance(message, list):
            return self._receive_batch(message)
        reply = self.call(message)
        return reply if reply is None or isinstance(reply, bytes) else self._begin(reply)

    def _receive_batch(self, items: list[Request] | list[bytes]) -> Answer:
        if not items:
            return error_reply(NULL, invalid_request("empty batch"))
        if len(items) > self._dispatcher.bounds.batch_items:
            return b"[%b]" % error_reply(identity_of(items[0]) or NULL, invalid_request("batch too large"))
        batch = Batch(self._dispatcher, self.caller, self._gate)
        batch.refusal, batch.channel = self.refusal, self.channel
        self.patience = self._dispatcher.bounds.batch_seconds
        answer = self._begin(batch.run(items))
        if isinstance(answer, Pending):
            answer.held = batch.held
        else:
            self.held += batch.held
        return answer
