"""Calls answered from results that last, as all calls are: with the same replies, while they are true."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from tests.jsonrpc.texts import requests
from tests.memory_transport import Conversation
from tests.server.conftest import Peer
from tests.server.websocket.test_frames import masked
from wsnode._native.wire import VersionedCache
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.session_limits import AdmissionGate, SessionBounds
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.websocket.frames import text_frame
from wsnode.store.environment import Environment
from wsnode.store.table import Table

TABLE = Table("table")
KEY = b"value"
ROOM = 10_000
BURST = ("other", "cacheable", "constant", "cacheable", "other", "other", "cacheable", "constant")


class View:
    """A moment of a store that holds one number."""

    def __init__(self, store: Environment) -> None:
        self._reader = store.read()
        self.version = self._reader.version
        self.value = self._reader.get(TABLE, KEY)

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_details: object) -> None:
        self._reader.close()


class Node:
    """A store, and sessions on it."""

    def __init__(self, store: Environment, bounds: SessionBounds | None = None) -> None:
        self.store = store
        self.registry = Registry()
        self.registry.method("cacheable", cacheable=True)(lambda view: view.value)
        self.registry.method("constant", view=False, cacheable=True)(lambda: b'"c"')
        self.registry.method("other")(lambda view: view.value)
        self._dispatcher = Dispatcher(
            self.registry,
            lambda _caller: View(self.store),
            bounds=bounds or SessionBounds(),
            versioned_cache=VersionedCache(self),
        )
        self.set(b"1")

    def set(self, value: bytes) -> None:
        self.store.write(lambda writer: writer.put(TABLE, KEY, value))

    def session(self, gate: AdmissionGate | None = None, *, shares_results: bool = True) -> Conversation:
        return Conversation(self._dispatcher, None, gate, shares_results=shares_results)

    def calls(self) -> int:
        return sum(sum(method.succeeded.counts) for method in self.registry.methods.values())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    store = Environment(tmp_path_factory.mktemp("store"), [TABLE], writer=True)
    yield Node(store)
    store.close()


def request(method: str, identity: Any = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method}).encode()


def frames(*messages: bytes) -> bytes:
    return b"".join(masked(0x81, message) for message in messages)


async def connected(node: Node, nursery: trio.Nursery) -> Peer:
    """Return a client of a server on it."""
    network = Network(
        "test", node.registry, lambda _caller: View(node.store), versioned_cache=VersionedCache(node)
    )
    server = Server([network], Limits())
    nursery.start_soon(server.hand_out)
    client, end = trio.testing.memory_stream_pair()
    nursery.start_soon(server.serve_stream, end)
    peer = Peer(client)
    await peer.open()
    return peer


def asked(node: Node, *methods: str) -> Conversation:
    """Return a session that has asked for these in a turn that has ended."""
    session = node.session()
    for method in methods:
        session.receive(request(method))
    session.end_turn()
    return session


@given(
    st.lists(requests(["cacheable", "cacheable", "constant", "other", "unknown"]), max_size=6),
    st.integers(0, 5),
)
def test_the_replies_are_those_of_each_call_alone(node: Node, messages: list[bytes], cut: int) -> None:
    session = asked(node, "cacheable", "constant")
    messages = [request("constant", "a"), *messages]
    data, before = frames(*messages), node.calls()
    answered = session.answer_frames(data[: len(data) - cut], ROOM, ROOM)
    assert (answered is None) == (len(messages) == 1 and cut > 0)
    if answered is not None:
        replies, size, count = answered
        assert size == len(frames(*messages[:count]))
        assert node.calls() == before + count
        alone = [node.session().receive(message) for message in messages[:count]]
        assert replies == b"".join(text_frame(reply) for reply in alone if isinstance(reply, bytes))


def test_a_result_is_given_until_the_store_changes(node: Node) -> None:
    session = asked(node, "cacheable", "constant")
    data = frames(request("constant"), request("cacheable"), request("other"))
    for value in (b"7", b"8"):
        answered = session.answer_frames(data, ROOM, ROOM)
        assert answered is not None
        assert answered[2] == 2
        node.set(value)
        changed = session.answer_frames(data, ROOM, ROOM)
        assert changed is not None
        # What no version determines is as true as before.
        assert changed[2] == 1
        assert session.receive(request("cacheable")) == b'{"jsonrpc":"2.0","id":1,"result":%b}' % value
        session.end_turn()


def test_a_result_of_an_older_view_is_not_given_afterwards(node: Node) -> None:
    session = node.session()
    session.receive(request("other"))
    node.set(b"9")
    # The turn still sees the moment of its first call.
    assert session.receive(request("cacheable")) != b'{"jsonrpc":"2.0","id":1,"result":9}'
    session.end_turn()
    assert session.answer_frames(frames(request("cacheable")), ROOM, ROOM) is None


def test_a_view_that_does_not_open_is_reported_by_the_call_that_needs_it(tmp_path: Path) -> None:
    store = Environment(tmp_path / "store", [TABLE], writer=True)
    session = asked(Node(store), "constant", "cacheable")
    store.close()
    assert session.answer_frames(frames(request("constant")), ROOM, ROOM) is None
    reply = session.receive(request("cacheable"))
    assert isinstance(reply, bytes)
    assert b"-32603" in reply


async def test_bursts_are_answered_in_order_from_one_turn_to_the_next(node: Node) -> None:
    async with trio.open_nursery() as nursery:
        peer = await connected(node, nursery)
        for value in (b"20", b"21", b"22"):
            node.set(value)
            for _ in range(2):
                await peer.send_raw(frames(*(request(name, at) for at, name in enumerate(BURST))))
                answers = [await peer.reply() for _ in BURST]
                assert [each["id"] for each in answers] == list(range(len(BURST)))
                expected = {"constant": "c", "cacheable": int(value), "other": int(value)}
                assert [each["result"] for each in answers] == [expected[name] for name in BURST]
        nursery.cancel_scope.cancel()


def test_replies_stay_within_their_room(node: Node) -> None:
    session, call = asked(node, "constant"), frames(request("constant"))
    reply = b'{"jsonrpc":"2.0","id":1,"result":"c"}'
    assert session.answer_frames(call, len(reply) - 1, ROOM) is None
    two = session.answer_frames(3 * call, ROOM, 2 * len(reply))
    assert two == (2 * text_frame(reply), 2 * len(call), 2)
    many = session.answer_frames(100 * call, ROOM, 10 * ROOM)
    assert many is not None
    assert many[2] == 64


def test_no_reply_is_longer_than_one_may_be(tmp_path: Path) -> None:
    bounds = SessionBounds(reply_bytes=len(b'{"jsonrpc":"2.0","id":1,"result":"c"}'))
    with closing(Environment(tmp_path, [TABLE], writer=True)) as store:
        session = asked(Node(store, bounds), "constant")
        assert session.answer_frames(frames(request("constant")), ROOM, ROOM) is not None
        assert session.answer_frames(frames(request("constant", "longer")), ROOM, ROOM) is None


def test_a_session_that_does_not_share_neither_gives_nor_keeps(tmp_path: Path) -> None:
    with closing(Environment(tmp_path, [TABLE], writer=True)) as store:
        node = Node(store)
        alone = node.session(shares_results=False)
        alone.receive(request("constant"))
        alone.end_turn()
        assert node.session().answer_frames(frames(request("constant")), ROOM, ROOM) is None
        asked(node, "constant")
        assert alone.answer_frames(frames(request("constant")), ROOM, ROOM) is None


class Counting:
    """Admits every call, and counts them."""

    def __init__(self) -> None:
        self.admitted = 0

    def admit(self, name: str) -> None:
        self.admitted += 1

    def charge(self) -> None:
        raise AssertionError

    def check_contracts(self, contracts: Any) -> None:
        raise AssertionError


def test_behind_a_gate_each_call_is_admitted_by_itself(node: Node) -> None:
    asked(node, "constant")
    session = node.session(Counting())
    assert session.answer_frames(frames(request("constant")), ROOM, ROOM) is None


def test_nothing_of_another_store_is_given(tmp_path: Path) -> None:
    with (
        closing(Environment(tmp_path / "one", [TABLE], writer=True)) as one,
        closing(Environment(tmp_path / "two", [TABLE], writer=True)) as two,
    ):
        node = Node(one)
        session = asked(node, "constant", "cacheable")
        two.write(lambda writer: writer.put(TABLE, KEY, b"5"))
        assert one.read().version == two.read().version
        node.store = two
        answered = session.answer_frames(frames(request("constant"), request("cacheable")), ROOM, ROOM)
        assert answered is not None
        assert answered[2] == 1
        session.receive(request("cacheable"))
        session.end_turn()
        again = session.answer_frames(frames(request("cacheable")), ROOM, ROOM)
        assert again is not None
        assert again[0] == text_frame(b'{"jsonrpc":"2.0","id":1,"result":5}')


def test_of_a_closed_store_nothing_is_given(tmp_path: Path) -> None:
    store = Environment(tmp_path / "store", [TABLE], writer=True)
    session = asked(Node(store), "constant")
    store.close()
    assert session.answer_frames(frames(request("constant")), ROOM, ROOM) is None
