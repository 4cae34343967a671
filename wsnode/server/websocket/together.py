"""Has the engine answer calls that follow one another and ask for what it can tell by itself.

Clients send small calls in bursts, and all calls of a turn see the same moment of the chain. A request of
the plainest form (the engine reads no other) is answered together with those behind it, if its result was
given in this turn before and is determined by that moment, or if the engine finds it in the state or among
the transactions. Whatever is unusual, right or wrong, is left to one answer a call. Tests hold the two ways
against each other: tests/server/websocket/test_together.py and
tests/ethereum/rpc/form/test_engine_answers.py.
"""

from wsnode.jsonrpc.session import Session


def answer_together(
    session: Session, messages: list[bytes], start: int, largest: int, room: int
) -> tuple[bytes, int]:
    """Answer the messages from `start` on as far as the engine can; return frames, and how many.

    None of the replies is longer than `largest`, nor are all of them longer than `room`.
    """
    return session.go_together(messages, start, largest, room, are_messages=True)
