"""Methods that send more than their reply: what they begin is held until the reply is posted."""

import json
from collections.abc import Generator, Sequence
from typing import Any

import msgspec
import pytest

from tests.clocks import stopped
from tests.memory_transport import Conversation, run, whole
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import CallTask, Step


class Name(msgspec.Struct, array_like=True, frozen=True):
    name: str


class Line:
    """A channel whose methods begin names."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    def take_pending(self) -> list[str]:
        pending_subscriptions, self.begun = self.begun, []
        return pending_subscriptions

    def discard(self, pending_subscriptions: Sequence[str]) -> None:
        self.ended += pending_subscriptions


class Closed:
    def __enter__(self) -> None:
        raise AssertionError("no method here needs a view")

    def __exit__(self, *_details: object) -> None: ...


def session(line: Line | None, bounds: SessionBounds | None = None) -> Conversation:
    methods = Registry()

    @methods.method("begin", channel=True)
    def begin(channel: Line, params: Name) -> str:
        channel.begun.append(params.name)
        if params.name == "broken":
            raise server_error("it broke")
        return params.name

    @methods.method("find", channel=True)
    def find(channel: Line, params: Name) -> Generator[Step, Any, str]:
        def steps() -> Generator[Step, Any, str]:
            channel.begun.append(params.name)
            if params.name == "far":
                yield None
            return params.name

        return steps()

    @methods.method("slices", view=False)
    def slices() -> Generator[Step, Any, int]:
        yield None
        return 1

    dispatcher = Dispatcher(methods, lambda _caller: Closed(), bounds=bounds, clock=stopped)
    opened = Conversation(dispatcher, "caller")
    opened.channel = line
    return opened


def call(method: str, *params: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def test_what_a_call_begins_is_held_for_its_reply() -> None:
    opened = session(Line())
    for name in ("one", "two", "broken"):
        opened.receive(call("begin", name).encode())
    assert opened.take_pending() == ["one", "two", "broken"]
    assert opened.take_pending() == []


@pytest.mark.parametrize("name", ["near", "far"])
def test_what_a_call_in_slices_begins_is_held_for_its_reply(name: str) -> None:
    opened = session(Line())
    answer = opened.receive(call("find", name).encode())
    if isinstance(answer, CallTask):
        assert run(answer) is not None
        assert (answer.pending_subscriptions, opened.take_pending()) == ([name], [])
    else:
        assert opened.take_pending() == [name]


def test_what_a_quick_batch_begins_is_held_with_the_calls_of_its_turn() -> None:
    opened = session(Line())
    opened.receive(call("begin", "one").encode())
    answer = opened.receive(f"[{call('begin', 'two')},{call('begin', 'three')}]".encode())
    assert isinstance(answer, bytes)
    assert opened.take_pending() == ["one", "two", "three"]


def test_what_a_slow_batch_begins_is_held_apart() -> None:
    opened = session(Line())
    items = [call("begin", "one"), call("slices"), call("begin", "two")]
    answer = opened.receive(f"[{','.join(items)}]".encode())
    opened.receive(call("begin", "between").encode())
    assert isinstance(answer, CallTask)
    assert opened.take_pending() == ["between"]
    assert answer.pending_subscriptions == ["one"]
    assert len(json.loads(run(answer) or b"")) == 3
    assert answer.pending_subscriptions == ["one", "two"]
    assert opened.take_pending() == []


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "in slices"])
def test_what_a_call_began_ends_when_the_batch_has_no_room_for_its_reply(slow: bool) -> None:
    line = Line()
    opened = session(line, SessionBounds(batch_reply_bytes=150))
    items = [call("slices")] * slow + [call("begin", name) for name in ("one", "x" * 90, "y")]
    answer = opened.receive(f"[{','.join(items)}]".encode())
    assert isinstance(answer, CallTask) is slow
    reply = run(answer) if isinstance(answer, CallTask) else answer
    codes = [each.get("error", {}).get("code") for each in json.loads(whole(reply))]
    assert codes[-3:] == [None, -32003, -32003]
    pending_subscriptions = (
        answer.pending_subscriptions if isinstance(answer, CallTask) else opened.take_pending()
    )
    assert (pending_subscriptions, line.ended) == (["one"], ["x" * 90])


def test_without_a_channel_it_is_refused() -> None:
    answer = session(None).receive(call("begin", "one").encode())
    assert isinstance(answer, bytes)
    assert json.loads(answer)["error"] == {"code": -32601, "message": "notifications not supported"}


def test_a_method_with_a_channel_returns_at_once() -> None:
    methods = Registry()

    def late(_channel: Line) -> Generator[Step, Any, int]:
        yield None
        return 1

    with pytest.raises(TypeError, match="at once"):
        methods.method("late", channel=True)(late)
