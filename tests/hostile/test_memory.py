"""What a connection has the node keep is counted, and let go as soon as it is of no use."""

from collections.abc import Generator
from typing import Any, ClassVar

import msgspec
import trio

from tests.hostile.samples import MEBIBYTE
from tests.memory_transport import Conversation
from tests.server.conftest import Gate, View
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import CallTask, CancelToken, RunInThread, Step


class Word(msgspec.Struct, array_like=True, frozen=True):
    word: str


class Text(bytes):
    """A text that counts how many like it there are."""

    alive: ClassVar[int] = 0

    def __init__(self, _content: bytes) -> None:
        Text.alive += 1

    def __del__(self) -> None:
        Text.alive -= 1


def session() -> Conversation:
    methods = Registry()

    @methods.method("wait")
    def wait(view: View, params: Word) -> Generator[Step, Any, Any]:
        yield None
        return (yield RunInThread(view.gate.pass_through))

    return Conversation(Dispatcher(methods, lambda _caller: View(Gate()), clock=trio.current_time), None)


def until_it_waits(pending: CallTask) -> None:
    """Go on with a call, all but the work of its own."""
    while pending.step is None or (isinstance(pending.step, RunInThread) and pending.step.is_short):
        value = pending.step.function(CancelToken()) if isinstance(pending.step, RunInThread) else None
        assert not pending.resume(value)


async def test_a_long_message_is_let_go_once_it_is_read() -> None:
    params = b'["' + b"z" * MEBIBYTE + b'"]'
    for form in (b"%b", b"[%b]"):
        text = form % (b'{"jsonrpc":"2.0","id":1,"method":"wait","params":%b}' % params)
        pending = session().receive(Text(text))
        assert isinstance(pending, CallTask)
        # As much again is read of it.
        assert pending.weight >= MEBIBYTE
        assert Text.alive == 1
        until_it_waits(pending)
        assert Text.alive == 0
        pending.close()
