"""Calls answered together against one answer a call: the same replies, counted alike."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.jsonrpc.texts import requests
from tests.memory_transport import Conversation
from tests.server.conftest import OpenSite
from wsnode.jsonrpc.codec import UNREADABLE, result_reply
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError, limit_exceeded
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import decode_request
from wsnode.jsonrpc.session_limits import AdmissionGate, SessionBounds
from wsnode.jsonrpc.work import CallTask, RenderedJson, Step
from wsnode.server.websocket.frames import text_frame

pytestmark = pytest.mark.slow

ROOM = 10_000


class Counted:
    """A view that says how often it was opened."""

    def __init__(self) -> None:
        self.opened = 0

    def __enter__(self) -> int:
        self.opened += 1
        return self.opened

    def __exit__(self, *_details: object) -> None:
        pass


class Closed:
    """Refuses every call."""

    def __init__(self) -> None:
        self.refused = 0

    def admit(self, name: str) -> None:
        self.refused += 1
        raise limit_exceeded(name)

    def charge(self) -> None:
        raise AssertionError

    def check_contracts(self, contracts: Any) -> None:
        raise AssertionError


def registry() -> Registry:
    methods = Registry()
    methods.method("cacheable", cacheable=True)(lambda view: b'"%d"' % view)
    methods.method("other", view=False)(lambda: b"2")
    methods.method("second", view=False, cacheable=True)(lambda: b"3")

    @methods.method("slices")
    def slices(_view: int) -> Generator[Step, Any, bytes]:
        yield None
        return b"4"

    methods.method("value", view=False, cacheable=True)(lambda: {"a": 1})
    methods.method("rendered", view=False, cacheable=True)(lambda: RenderedJson(b"[1]"))

    @methods.method("failing", view=False, cacheable=True)
    def failing() -> bytes:
        raise RpcError(-32000, "failing")

    return methods


def session(gate: AdmissionGate | None = None, **bounds: int) -> tuple[Conversation, Registry]:
    methods = registry()
    view = Counted()
    return Conversation(
        Dispatcher(methods, lambda _caller: view, bounds=SessionBounds(**bounds)), None, gate
    ), methods


def request(method: str, identity: Any = 1, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, **members}).encode()


@given(st.lists(requests(["cacheable", "cacheable", "second", "other", "unknown"]), max_size=6))
@example([request("cacheable", "a"), request("cacheable", 12), request("cacheable", 0, params=[])])
def test_what_is_answered_together_is_answered_as_alone(messages: list[bytes]) -> None:
    together, methods = session()
    alone, others = session()
    messages = [request("second"), request("cacheable"), *messages]
    frames, count = b"", 2
    for message in messages[:count]:
        reply = together.receive(message)
        assert isinstance(reply, bytes)
        frames += text_frame(reply)
    repeated, repeats = together.answer_on_fast_path(messages, count, ROOM, ROOM)
    frames += repeated
    count += repeats
    expected = [alone.receive(message) for message in messages[:count]]
    assert frames == b"".join(text_frame(reply) for reply in expected if isinstance(reply, bytes))
    for method, other in zip(methods.methods.values(), others.methods.values(), strict=True):
        assert sum(method.succeeded.counts) == sum(other.succeeded.counts)
        assert (method.failures, sum(method.failed.counts)) == ({}, 0)


@given(requests(["cacheable", "cacheable", "second", "other", "unknown"]))
def test_only_the_plainest_requests_are_answered_together(message: bytes) -> None:
    together, _ = session()
    together.receive(request("cacheable"))
    frames, count = together.answer_on_fast_path([message], 0, ROOM, ROOM)
    if count:
        method, params, identity = decode_request(message)
        assert (method, params in (b"", b"[]", b"[ ]")) == ("cacheable", True)
        assert frames == text_frame(result_reply(identity, b'"1"'))
    else:
        assert frames == b""
        try:
            method, params, identity = decode_request(message)
        except UNREADABLE:
            return
        is_plain = method == "cacheable" and params in (b"", b"[]") and identity.isdigit()
        assert not (is_plain and set(json.loads(message)) <= {"jsonrpc", "method", "params", "id"})


def replies(count: int, size: int, *, largest: int = ROOM, room: int = ROOM) -> int:
    together, _ = session()
    first = request("cacheable")
    together.receive(first)
    return together.answer_on_fast_path([request("cacheable", "x" * size)] * count, 0, largest, room)[1]


def test_repeats_end_at_a_long_reply_and_where_there_is_no_room() -> None:
    # A reply is 29 bytes, the id's two quotation marks, its text, and the result of three.
    size = len(result_reply(b'"xx"', b'"1"'))
    assert replies(3, 2, largest=size) == 3
    assert replies(3, 2, largest=size - 1) == 0
    assert replies(9, 2, room=2 * size) == 2
    assert replies(9, 2, room=2 * size - 1) == 1
    assert replies(9, 2, room=0) == 0


def test_a_reply_beyond_the_limit_is_refused_by_itself() -> None:
    together, _ = session(reply_bytes=60)
    together.receive(request("cacheable"))
    assert together.answer_on_fast_path([request("cacheable", "x" * 40)], 0, ROOM, ROOM) == (b"", 0)


def test_replies_of_every_length_have_the_right_head() -> None:
    for size in (80, 81, 100, 65_480, 65_520, 70_000):
        together, _ = session()
        together.receive(request("cacheable"))
        frames, _ = together.answer_on_fast_path([request("cacheable", "x" * size)], 0, 100_000, 100_000)
        assert frames == text_frame(result_reply(b'"%b"' % (b"x" * size), b'"1"'))


@pytest.mark.parametrize("method", ["other", "value", "failing", "unknown"])
def test_nothing_is_repeated_after_what_is_not_steady_text(method: str) -> None:
    together, _ = session()
    together.receive(request(method))
    assert together.answer_on_fast_path([request(method)], 0, ROOM, ROOM) == (b"", 0)


def test_rendered_results_are_repeated() -> None:
    together, _ = session()
    together.receive(request("rendered"))
    assert together.answer_on_fast_path([request("rendered", 5)], 0, ROOM, ROOM)[1] == 1


def test_no_result_outlives_its_view() -> None:
    together, _ = session()
    together.receive(request("cacheable"))
    assert isinstance(together.receive(request("slices")), CallTask)
    assert not together.may_take_fast_path
    assert together.answer_on_fast_path([request("cacheable")], 0, ROOM, ROOM) == (b"", 0)
    assert together.receive(request("cacheable")) == result_reply(b"1", b'"2"')


def test_no_result_outlives_its_turn() -> None:
    together, _ = session()
    together.receive(request("cacheable"))
    together.end_turn()
    assert together.answer_on_fast_path([request("cacheable")], 0, ROOM, ROOM) == (b"", 0)


def test_a_notification_leaves_nothing_to_repeat_and_repeats_nothing() -> None:
    together, _ = session()
    notification = b'{"jsonrpc":"2.0","method":"steady","params":[]}'
    together.receive(request("cacheable"))
    assert together.answer_on_fast_path([notification], 0, ROOM, ROOM) == (b"", 0)
    together.end_turn()
    assert together.receive(notification) is None
    assert together.answer_on_fast_path([request("cacheable")], 0, ROOM, ROOM) == (b"", 0)


def test_calls_that_have_to_be_admitted_are_answered_one_by_one() -> None:
    gate = Closed()
    together, _ = session(gate)
    for number in range(3):
        together.receive(request("cacheable", number))
        assert together.answer_on_fast_path([request("cacheable")], 0, ROOM, ROOM) == (b"", 0)
    assert gate.refused == 3


@pytest.mark.parametrize("options", [{"caller": True, "view": False}, {"channel": True}])
def test_a_method_that_depends_on_more_than_its_view_is_not_steady(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="depends on the view alone"):
        Registry().method("m", cacheable=True, **options)(lambda _first: b"1")


def test_several_methods_may_take_turns_and_are_counted_each() -> None:
    together, methods = session()
    for name in ("cacheable", "second", "cacheable"):
        together.receive(request(name))
    names = ["second", "cacheable", "cacheable", "second", "second", "other", "cacheable"]
    assert together.answer_on_fast_path([request(name) for name in names], 0, ROOM, ROOM)[1] == 5
    counts = {name: sum(method.succeeded.counts) for name, method in methods.methods.items()}
    assert (counts["cacheable"], counts["second"], counts["other"]) == (4, 4, 0)


async def test_a_burst_is_answered_in_order_whatever_repeats(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        calls = ["number"] * 5 + ["zeros"] + ["number"] * 3 + ["absent"] + ["number"] * 40
        for identity, method in enumerate(calls):
            peer.protocol.send_text(
                json.dumps(
                    {"jsonrpc": "2.0", "id": identity, "method": method, "params": [2] * (method == "zeros")}
                ).encode()
            )
        await peer.flush()
        answers = [await peer.reply() for _ in calls]
    expected = {"number": "0x1", "zeros": "00"}
    assert [(each["id"], each.get("result")) for each in answers] == [
        (identity, expected.get(method)) for identity, method in enumerate(calls)
    ]
