"""The dispatcher as a transport: requests and replies without a socket."""

from collections.abc import Callable
from typing import Any

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.messages import CancelToken, InThread, Pending


def memory_transport(dispatcher: Dispatcher, caller: Any) -> Callable[[str], str | None]:
    """Return a function that answers one request text at a time, work for threads done on the spot."""

    def send(text: str) -> str | None:
        session = dispatcher.session(caller)
        try:
            answer = session.receive(text.encode())
            reply = run(answer) if isinstance(answer, Pending) else answer
        finally:
            session.end_turn()
        return None if reply is None else reply.decode()

    return send


def run(pending: Pending) -> bytes | None:
    """Return the reply of a call in slices."""
    ended = False
    while not ended:
        step = pending.step
        ended = pending.resume(step.function(CancelToken()) if isinstance(step, InThread) else None)
    return pending.reply
