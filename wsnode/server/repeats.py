"""Answers calls that ask once more for what was just answered.

Clients send the small calls in bursts of the same few, and all calls of a turn see the same moment of the
chain. A request of the plainest form (the engine reads no other) for a method whose result that moment
determines gets the result that the turn has given before. tests/server/test_repeats.py holds this against one
answer a call.
"""

from wsnode._native import repeat_replies
from wsnode.jsonrpc.dispatcher import Session


def answer_repeats(
    session: Session, messages: list[bytes], start: int, largest: int, room: int
) -> tuple[bytes, int]:
    """Answer the messages from `start` on that repeat calls of this turn; return frames, and how many.

    None of the replies is longer than `largest`, and no more are begun once they are longer than `room`.
    """
    session.may_repeat = False
    largest = min(largest, session.reply_bytes)
    frames, counts = repeat_replies(messages, start, session.repeatable, largest, room)
    if frames:
        session.observe_repeats(counts)
    return frames, sum(counts)
