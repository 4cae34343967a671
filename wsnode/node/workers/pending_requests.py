"""Requests to another process, by number; answers come later or not at all."""

from collections.abc import Callable
from typing import Generic, TypeVar

import trio

Answer = TypeVar("Answer")


class PendingRequests(Generic[Answer]):
    """Requests that wait for their answers."""

    def __init__(self) -> None:
        self._asked = 0
        self._waiting: dict[int, trio.MemorySendChannel[Answer]] = {}

    async def ask(self, post: Callable[[int], None], seconds: float) -> Answer | None:
        """Have `post` send a request with a number; return the answer to it, None after `seconds`."""
        self._asked += 1
        number = self._asked
        send, receive = trio.open_memory_channel[Answer](1)
        self._waiting[number] = send
        try:
            post(number)
            with trio.move_on_after(seconds):
                return await receive.receive()
            return None
        finally:
            self._waiting.pop(number, None)

    def answer(self, number: int, answer: Answer) -> None:
        """Record an answer; drop it if nothing waits for it any more."""
        if (waiting := self._waiting.pop(number, None)) is not None:
            waiting.send_nowait(answer)
