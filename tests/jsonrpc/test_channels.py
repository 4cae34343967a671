"""Methods that send more than their reply: what they begin is held until the reply is posted."""

import json
from collections.abc import Generator, Sequence
from typing import Any

import msgspec
import pytest

from tests.clocks import stopped
from tests.memory_transport import run, whole
from wsnode.jsonrpc.bounds import Bounds
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.session import Session
from wsnode.jsonrpc.work import SlowCall, Step


class Name(msgspec.Struct, array_like=True, frozen=True):
    name: str


class Line:
    """A channel whose methods begin names."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    def take_held(self) -> list[str]:
        held, self.begun = self.begun, []
        return held

    def take_back(self, held: Sequence[str]) -> None:
        self.ended += held


class Closed:
    def __enter__(self) -> None:
        raise AssertionError("no method here needs a view")

    def __exit__(self, *_details: object) -> None: ...


def session(line: Line | None, bounds: Bounds | None = None) -> Session:
    methods = Registry()

    @methods.method("begin", channel=True)
    def begin(channel: Line, params: Name) -> str:
        channel.begun.append(params.name)
        if params.name == "broken":
            raise server_error("it broke")
        return params.name

    @methods.method("slices", view=False)
    def slices() -> Generator[Step, Any, int]:
        yield None
        return 1

    dispatcher = Dispatcher(methods, lambda _caller: Closed(), bounds=bounds, clock=stopped)
    opened = Session(dispatcher, "caller")
    opened.channel = line
    return opened


def call(method: str, *params: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def test_what_a_call_begins_is_held_for_its_reply() -> None:
    opened = session(Line())
    for name in ("one", "two", "broken"):
        opened.receive(call("begin", name).encode())
    assert opened.take_held() == ["one", "two", "broken"]
    assert opened.take_held() == []


def test_what_a_quick_batch_begins_is_held_with_the_calls_of_its_turn() -> None:
    opened = session(Line())
    opened.receive(call("begin", "one").encode())
    answer = opened.receive(f"[{call('begin', 'two')},{call('begin', 'three')}]".encode())
    assert isinstance(answer, bytes)
    assert opened.take_held() == ["one", "two", "three"]


def test_what_a_slow_batch_begins_is_held_apart() -> None:
    opened = session(Line())
    items = [call("begin", "one"), call("slices"), call("begin", "two")]
    answer = opened.receive(f"[{','.join(items)}]".encode())
    opened.receive(call("begin", "between").encode())
    assert isinstance(answer, SlowCall)
    assert opened.take_held() == ["between"]
    assert answer.held == ["one"]
    assert len(json.loads(run(answer) or b"")) == 3
    assert answer.held == ["one", "two"]
    assert opened.take_held() == []


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "in slices"])
def test_what_a_call_began_ends_when_the_batch_has_no_room_for_its_reply(slow: bool) -> None:
    line = Line()
    opened = session(line, Bounds(batch_reply_bytes=150))
    items = [call("slices")] * slow + [call("begin", name) for name in ("one", "x" * 90, "y")]
    answer = opened.receive(f"[{','.join(items)}]".encode())
    assert isinstance(answer, SlowCall) is slow
    reply = run(answer) if isinstance(answer, SlowCall) else answer
    codes = [each.get("error", {}).get("code") for each in json.loads(whole(reply))]
    assert codes[-3:] == [None, -32003, -32003]
    held = answer.held if isinstance(answer, SlowCall) else opened.take_held()
    assert (held, line.ended) == (["one"], ["x" * 90])


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
