"""Answers calls that ask once more for what was just answered.

Clients send the small calls in bursts of the same one, and all calls of a turn see the same moment of the
chain. A request of the plainest form (the engine reads no other) for a method whose result that moment
determines gets the result of the call before it. tests/server/test_repeats.py holds this against one answer a
call.
"""

from wsnode._native import repeat_replies
from wsnode.jsonrpc.dispatcher import Session


def answer_repeats(
    session: Session, messages: list[bytes], start: int, largest: int, room: int
) -> tuple[bytes, int]:
    """Answer the messages from `start` on that repeat the call before them; return frames, and how many.

    None of the replies is longer than `largest`, and no more are begun once they are longer than `room`.
    """
    if (repeatable := session.take_repeatable()) is None:
        return b"", 0
    method, result = repeatable
    largest = min(largest, session.reply_bytes)
    frames, count = repeat_replies(messages, start, method.name, result, largest, room)
    if count:
        session.observe(method, count)
    return frames, count
