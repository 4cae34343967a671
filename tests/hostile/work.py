"""The amount of Python that runs on the event loop at a time."""

from collections.abc import Callable
from typing import Any, TypeVar

from tests.hostile.line_count import LineCount, counting_lines
from tests.memory_transport import Conversation, result_of, whole
from wsnode.jsonrpc.work import CallTask

T = TypeVar("T")


class Turns:
    """Calls things, and counts the lines of Python that each turn of the loop took for them."""

    def __init__(self) -> None:
        self.most = 0
        """Lines of the longest turn."""
        self.bytes_in_threads = 0
        """Of the long texts that were read in threads."""
        self.functions: set[str] = set()
        """Names of all functions of Python that the turns took part in."""

    def counted(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, which is one turn."""
        count = LineCount()
        try:
            with counting_lines() as count:
                return function(*arguments)
        finally:
            self.functions |= count.functions
            self.most = max(self.most, count.lines)

    def answer(self, session: Conversation, text: bytes) -> bytes | None:
        """Return the reply to a message; what it has threads do is not counted."""
        answer = self.counted(session.receive, text)
        session.end_turn()
        if not isinstance(answer, CallTask):
            return None if answer is None else whole(answer)
        while not self._advance(answer):
            pass
        return None if answer.reply is None else whole(answer.reply)

    def _advance(self, pending: CallTask) -> bool:
        step = pending.step
        if step is None:
            return self.counted(pending.resume)
        try:
            value = result_of(step)
        except Exception as error:
            return self.counted(pending.fail, error)
        return self.counted(pending.resume, value)
