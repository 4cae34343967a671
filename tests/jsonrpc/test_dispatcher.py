"""JSON-RPC 2.0 message by message, on a registry of a few methods."""

import gc
import json
import logging
import threading
from collections.abc import Generator, Iterable
from typing import Any
from weakref import WeakSet

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_transport import Conversation, run, whole
from wsnode.jsonrpc.batch import SLICE_BYTES
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import NotStartedError, RpcError, TimeLimitError, limit_exceeded, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import LONG_BYTES
from wsnode.jsonrpc.schema import STRING
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import CallTask, CancelToken, RenderedJson, ReplyChunks, RunInThread, Step


class Quantity(int):
    """A number that comes as a hex string."""


def decode_quantity(value: Any) -> Quantity:
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError("hex string without 0x prefix")
    return Quantity(value, 16)


register_type(Quantity, decode_quantity, STRING)


class Account(msgspec.Struct, array_like=True, frozen=True):
    number: Quantity
    block: str = "latest"


class Class(msgspec.Struct, frozen=True):
    block_id: str
    contract_address: str = "0x0"


class View:
    """Counts how often it is opened and closed."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    def __enter__(self) -> int:
        self.opened += 1
        return self.opened

    def __exit__(self, *_details: object) -> None:
        self.closed += 1


class Node:
    """A dispatcher with its view and its clock in reach."""

    def __init__(self, bounds: SessionBounds | None = None) -> None:
        self.view = View()
        self.now = 0.0
        self.refused = ""
        self.dispatcher = Dispatcher(
            registry(), lambda _caller: self.view, bounds=bounds, clock=lambda: self.now
        )

    def session(self) -> Conversation:
        return Conversation(self.dispatcher, "caller", self if self.refused else None)

    def admit(self, name: str) -> None:
        if name == self.refused:
            raise RpcError(-32005, "limit")

    def charge(self) -> None: ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        if 7 in (contracts or ()):
            raise RpcError(-32600, "not this contract")

    def answer(self, text: str | bytes) -> Any:
        """The reply to `text`, decoded; work for threads is done on the spot."""
        session = self.session()
        answer = session.receive(text.encode() if isinstance(text, str) else text)
        session.end_turn()
        if isinstance(answer, CallTask):
            answer = run(answer)
        assert self.view.opened == self.view.closed
        return None if answer is None else json.loads(whole(answer))

    def call(self, method: str, params: Any = None, **members: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **members}
        return self.answer(json.dumps(request))

    def error(self, method: str, params: Any = None) -> tuple[int, str]:
        error = self.call(method, params)["error"]
        return error["code"], error["message"]


def registry() -> Registry:
    methods = Registry({"alt_": {"network": "test", "family": "alt"}})

    @methods.method("number")
    def number(view: int) -> RenderedJson:
        return RenderedJson(b'"0x%x"' % view)

    @methods.method("account")
    def account(_view: int, params: Account) -> list[Any]:
        return [int(params.number), params.block]

    @methods.method("class", view=False)
    def class_at(params: Class) -> list[str]:
        return [params.block_id, params.contract_address]

    @methods.method("nothing", view=False, by_name=True)
    def nothing() -> None:
        return None

    @methods.method("zeros", view=False)
    def zeros(params: Account) -> bytes:
        return b'"%b"' % (b"0" * params.number)

    @methods.method("pieces", view=False)
    def pieces(params: Account) -> ReplyChunks:
        return ReplyChunks([b"[", b",".join([b"0"] * params.number), b"]"])

    @methods.method("bug", view=False)
    def bug() -> None:
        raise KeyError("absent")

    @methods.method("refuse", view=False)
    def refuse() -> None:
        raise server_error("header not found", {"block": 1})

    @methods.method("perhaps")
    def perhaps(view: int, params: Account) -> list[int] | Generator[Step, Any, list[int]]:
        return slices(view, params) if params.number else [view]

    @methods.method(
        "slices",
        deadline=10,
        timeout_error=RpcError(-32005, "query timeout exceeded"),
        contracts=lambda params: [params.number],
    )
    def slices(view: int, params: Account) -> Generator[Step, Any, list[int]]:
        for _ in range(params.number):
            yield None
        return [view]

    @methods.method("threaded")
    def threaded(view: int) -> Generator[Step, Any, Any]:
        return (
            yield RunInThread(
                lambda _cancel: f"{view} {threading.current_thread() is threading.main_thread()}"
            )
        )

    @methods.method("work", deadline=10)
    def work(_view: int) -> Generator[Step, Any, Any]:
        try:
            return (yield RunInThread(lambda _cancel: "done"))
        except ValueError as error:
            return str(error)

    @methods.method("late_bug", view=False)
    def late_bug() -> Generator[Step, Any, None]:
        yield None
        raise KeyError("late")

    return methods


@pytest.fixture
def node() -> Node:
    return Node()


REQUEST = '{"jsonrpc":"2.0","id":%s,"method":"number","params":[]}'

IDS = [
    "1",
    "0",
    "-1",
    "-0.0e5",
    "1e999",
    "9" * 400,
    '"abc"',
    '""',
    '"\\u0041\\n"',
    '"é😀"',
    "null",
    "true",
    "false",
]
IDS += ['"\\ud800"', '"\\udc00 \\ufffd\\\\ud800"', '"' + "x" * 100_000 + '"', " 7 "]


@pytest.mark.parametrize("count", [0, 3])
def test_pieces_of_a_result_are_put_together_in_the_reply(node: Node, count: int) -> None:
    assert node.call("pieces", [hex(count)]) == {"jsonrpc": "2.0", "id": 1, "result": [0] * count}


@pytest.mark.parametrize("identity", IDS, ids=lambda identity: identity[:20])
def test_an_id_comes_back_byte_for_byte(node: Node, identity: str) -> None:
    for text in (REQUEST % identity, f"[{REQUEST % identity}]"):
        answer = node.session().receive(text.encode())
        reply = run(answer) if isinstance(answer, CallTask) else answer
        assert reply is not None
        assert b'"id":%b,"result":"0x' % identity.strip().encode() in reply


scalars = st.one_of(
    st.text().map(json.dumps),
    st.text().map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.lists(
        st.sampled_from(["\\ud800", "\\udfff", "\\ud83d\\ude00", "\\\\", "u", "\\uFFFD", '\\"']), max_size=8
    ).map(lambda parts: '"' + "".join(parts) + '"'),
).filter(lambda text: not any(0xD800 <= ord(character) <= 0xDFFF for character in text))


@pytest.mark.slow
@given(identities=st.lists(scalars, min_size=1, max_size=5), space=st.sampled_from(["", " ", "\n\t "]))
def test_any_ids_come_back_byte_for_byte_in_order(identities: list[str], space: str) -> None:
    members = (
        '{s}{{{s}"id"{s}:{s}{i}{s},{s}"x":"\\ud800\\"id\\":3",{s}"jsonrpc":"2.0","method":"number"{s}}}{s}'
    )
    batch = ",".join(members.format(s=space, i=identity) for identity in identities)
    answer = Node().session().receive(f"{space}[{batch}]{space}".encode())

    reply = run(answer) if isinstance(answer, CallTask) else answer
    expected = ",".join(f'{{"jsonrpc":"2.0","id":{identity},"result":"0x1"}}' for identity in identities)
    assert reply == f"[{expected}]".encode()


NOT_JSON: list[str | bytes] = [
    "",
    " ",
    "{",
    "nul",
    "{'a':1}",
    '{"a":01}',
    '{"a":"\x01"}',
    "{} {}",
    '["\\u12"]',
]
NOT_JSON += ["\ufeff{}", '[{"a":nan}]', "[" * 100_000, '{"a":' * 100_000, b"\xff", b'"\xff"']
NOT_JSON += [b'{"jsonrpc":"2.0","id":1,"method":"number","params":["\xff"]}']


@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: repr(text[:20]))
def test_what_is_not_json_is_a_parse_error(node: Node, text: str | bytes) -> None:
    reply = node.answer(text)
    assert reply["id"] is None
    assert reply["error"]["code"] == -32700
    assert reply["error"]["message"] == "parse error"


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("1", None), ('"x"', None), ("null", None), ("{}", None), ('{"id":7}', 7),
        ('{"jsonrpc":"1.0","id":"a","method":"number"}', "a"), ('{"jsonrpc":"2.0","id":5,"method":3}', 5),
        ('{"jsonrpc":"2.0","id":5,"method":""}', 5), ('{"jsonrpc":"2.0","id":[1],"method":"number"}', None),
        ('{"jsonrpc":"2.0","id":{},"method":"number"}', None), ('{"jsonrpc":"2.0","id":1,"result":2}', 1),
        ('{"id":2,"method":"number"}', 2), ('{"jsonrpc":"2.0","id":{"a":1}}', None),
    ],
)  # fmt: skip
def test_json_that_is_no_request_is_an_invalid_request(node: Node, text: str, identity: Any) -> None:
    reply = node.answer(text)
    assert reply["id"] == identity
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32600, "invalid request")


def test_a_notification_runs_and_is_not_answered(node: Node) -> None:
    for method in ("number", "absent", "bug", "refuse", "slices"):
        assert node.answer(json.dumps({"jsonrpc": "2.0", "method": method})) is None
    assert node.view.opened >= 1
    assert node.answer('[{"jsonrpc":"2.0","method":"number"}]') is None


def test_a_null_id_is_a_call(node: Node) -> None:
    assert node.answer(REQUEST % "null") == {"jsonrpc": "2.0", "id": None, "result": "0x1"}


def test_the_last_of_duplicate_members_counts(node: Node) -> None:
    reply = node.answer('{"jsonrpc":"2.0","method":"absent","method":"number","id":1,"id":2}')
    assert reply == {"jsonrpc": "2.0", "id": 2, "result": "0x1"}


def test_an_unknown_method_does_not_exist(node: Node) -> None:
    message = "the method eth_x does not exist/is not available"
    assert node.call("eth_x")["error"] == {"code": -32601, "message": message}
    assert node.call("alt_x")["error"]["data"] == {"network": "test", "family": "alt"}


@pytest.mark.parametrize(("name", "size"), [("a" * 2049, 2049), ("é" * 1100, 2200)])
def test_a_method_name_has_a_limit(node: Node, name: str, size: int) -> None:
    assert node.error(name) == (-32600, f"method name too long: {size} > 2048")
    assert node.error("a" * 2048)[0] == -32601


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "missing value for required argument 0"),
        (None, "missing value for required argument 0"),
        ([None], "missing value for required argument 0"),
        ({}, "non-array args"),
        ("x", "non-array args"),
        (["0x1", "a", 3], "too many arguments, want at most 2"),
        (["1"], "invalid argument 0: hex string without 0x prefix"),
        (["0x1", 5], "invalid argument 1: Expected `str`, got `int`"),
        ([1, 5, 6], "invalid argument 0: hex string without 0x prefix"),
        ([10**400], "invalid argument 0: hex string without 0x prefix"),
    ],
)
def test_positional_arguments_that_do_not_fit_are_named(node: Node, params: Any, message: str) -> None:
    assert node.error("account", params) == (-32602, message)


def test_optional_arguments_may_be_absent_or_null(node: Node) -> None:
    for params in (["0x5"], ["0x5", None]):
        assert node.call("account", params)["result"] == [5, "latest"]
    assert node.call("account", ["0x5", "safe"])["result"] == [5, "safe"]


def test_a_lone_surrogate_reads_as_the_replacement_character(node: Node) -> None:
    text = r'{"jsonrpc":"2.0","id":1,"method":"account","params":["0x1","a\ud800b"]}'
    assert node.answer(text)["result"] == [1, "a\N{REPLACEMENT CHARACTER}b"]
    assert node.answer(f"[{text}]")[0]["result"] == [1, "a\N{REPLACEMENT CHARACTER}b"]


def test_a_method_without_parameters_takes_empty_ones(node: Node) -> None:
    for params in ("", ',"params":[]', ',"params":null', ',"params":[ ]'):
        text = f'{{"jsonrpc":"2.0","id":1,"method":"number"{params}}}'
        assert node.answer(text)["result"].startswith("0x")
    assert node.error("number", [1]) == (-32602, "too many arguments, want at most 0")
    assert node.error("number", {}) == (-32602, "non-array args")
    assert node.call("nothing", {})["result"] is None
    assert node.error("nothing", {"a": 1}) == (-32602, "Invalid params")


def test_named_parameters_come_by_name_or_in_order(node: Node) -> None:
    assert node.call("class", {"block_id": "latest"})["result"] == ["latest", "0x0"]
    assert node.call("class", ["latest", "0x7"])["result"] == ["latest", "0x7"]
    for params in ({}, [], {"block_id": 5}, ["a", "b", "c"], "x", None):
        error = node.call("class", params)["error"]
        assert (error["code"], error["message"]) == (-32602, "Invalid params")
        assert error["data"]["reason"]


def test_a_bug_is_logged_under_a_number_and_hurts_one_call(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        replies = node.answer(f'[{REQUEST % 1},{{"jsonrpc":"2.0","id":2,"method":"bug"}},{REQUEST % 3}]')
    assert [reply.get("result") for reply in replies] == ["0x1", None, "0x1"]
    assert replies[1]["error"]["code"] == -32603
    assert replies[1]["error"]["data"]["request"] in caplog.text
    assert "KeyError" in caplog.text


def test_a_bug_in_a_later_slice_is_one_too(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    assert node.error("late_bug") == (-32603, "internal error")
    assert "late" in caplog.text


def test_a_refusal_carries_code_message_and_data(node: Node) -> None:
    assert node.call("refuse")["error"] == {
        "code": -32000,
        "message": "header not found",
        "data": {"block": 1},
    }


def test_an_empty_batch_is_refused(node: Node) -> None:
    assert node.answer("[]") == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "empty batch"},
    }


def test_a_batch_too_large_is_refused_under_its_first_id(node: Node) -> None:
    replies = node.answer("[" + ",".join(REQUEST % number for number in range(1001)) + "]")
    assert replies == [{"jsonrpc": "2.0", "id": 0, "error": {"code": -32600, "message": "batch too large"}}]
    assert len(node.answer("[" + ",".join(REQUEST % number for number in range(1000)) + "]")) == 1000


def test_a_batch_answers_each_item_in_order_from_one_view(node: Node) -> None:
    slices = '{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x3"]}'
    replies = node.answer(
        f'[{REQUEST % 1}, 5, {slices}, [], {REQUEST % 4}, {{"jsonrpc":"2.0","method":"number"}}]'
    )
    assert [reply["id"] for reply in replies] == [1, None, 2, None, 4]
    assert [reply.get("result") for reply in replies] == ["0x1", None, [1], None, "0x1"]
    assert node.view.opened == 1


def test_a_batch_reply_has_a_limit_for_the_call_that_crosses_it_and_later_ones() -> None:
    node = Node(SessionBounds(batch_reply_bytes=400))
    zeros = '{"jsonrpc":"2.0","id":%d,"method":"zeros","params":["0x80"]}'
    items = [zeros % 1, zeros % 2, zeros % 3, '{"jsonrpc":"2.0","method":"bug"}', REQUEST % 4, "5"]
    replies = node.answer(f"[{','.join(items)}]")
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, None, -32003, -32003, -32003]
    assert [reply["id"] for reply in replies] == [1, 2, 3, 4, None]


def test_a_reply_has_a_limit() -> None:
    assert Node(SessionBounds(reply_bytes=100)).error("zeros", ["0x80"]) == (-32003, "response too large")


def test_a_batch_out_of_time_refuses_what_is_left(node: Node) -> None:
    session = node.session()
    slices = '{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x1"]}'
    pending = session.receive(f"[{REQUEST % 1},{slices},{REQUEST % 3}]".encode())
    assert isinstance(pending, CallTask)
    node.now = 61.0
    reply = json.loads(run(pending) or b"")
    assert [each.get("error", {}).get("code") for each in reply] == [None, None, -32002]


@pytest.mark.parametrize(
    ("failure", "code"), [(NotStartedError(), -32005), (TimeLimitError(), -32002)], ids=["busy", "late"]
)
@pytest.mark.parametrize("zeros", [5_000, LONG_BYTES], ids=["many values", "many bytes"])
def test_a_long_request_that_no_thread_has_read_in_time_is_told_so(
    node: Node, failure: Exception, code: int, zeros: int
) -> None:
    text = f'{{"jsonrpc":"2.0","id":7,"method":"slices","params":[{"0," * zeros}0]}}'
    assert codes(failed(node, text, failure)) == [(7, code)]
    expected = [(1, None), (7, code), (3, None)] if zeros < LONG_BYTES else [(None, code)]
    assert codes(failed(node, f"[{REQUEST % 1},{text},{REQUEST % 3}]", failure)) == expected


def failed(node: Node, text: str, failure: Exception) -> Any:
    """Return the reply to a message whose first step fails."""
    pending = node.session().receive(text.encode())
    assert isinstance(pending, CallTask)
    while pending.step is None:
        assert not pending.resume()
    assert pending.fail(failure)
    return json.loads(whole(pending.reply))


def codes(answer: Any) -> list[tuple[Any, int | None]]:
    replies = answer if isinstance(answer, list) else [answer]
    return [(reply["id"], reply.get("error", {}).get("code")) for reply in replies]


def test_a_batch_lets_others_run_after_each_slice() -> None:
    node = Node()
    times = iter(range(1000))
    node.dispatcher.clock = lambda: next(times) * 0.0015
    pending = node.session().receive(f"[{','.join([REQUEST % 1] * 8)}]".encode())
    assert isinstance(pending, CallTask)
    count = 1
    while not pending.resume():
        count += 1
    assert count >= 3


def test_a_batch_lets_others_run_after_a_megabyte_however_fast_it_is_made(node: Node) -> None:
    size = SLICE_BYTES * 3 // 4
    zeros = f'{{"jsonrpc":"2.0","id":1,"method":"zeros","params":["{size:#x}"]}}'
    pending = node.session().receive(f"[{','.join([zeros] * 5)}]".encode())
    assert isinstance(pending, CallTask)
    made = [pending.made // size]
    while not pending.resume():
        made.append(pending.made // size)
    assert made == [2, 4]
    assert [len(each["result"]) for each in json.loads(whole(pending.reply))] == [size] * 5


def test_what_made_a_batch_does_not_keep_the_replies_that_it_was_made_of(node: Node) -> None:
    sliced = '{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x1"]}'
    pending = node.session().receive(f"[{REQUEST % 1},{sliced}]".encode())
    assert isinstance(pending, CallTask)
    assert run(pending)
    assert pending.maker is not None
    lists = [each for each in gc.get_referents(pending.maker) if isinstance(each, list)]
    assert not any(isinstance(each, bytes) for texts in lists for each in texts)


def test_calls_of_one_turn_share_a_view_and_a_pending_one_keeps_it(node: Node) -> None:
    session = node.session()
    assert session.receive((REQUEST % 1).encode()) == b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'
    pending = session.receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x1"]}')
    assert isinstance(pending, CallTask)
    assert session.receive((REQUEST % 3).encode()) == b'{"jsonrpc":"2.0","id":3,"result":"0x2"}'
    session.end_turn()
    assert (node.view.opened, node.view.closed) == (2, 1)
    assert run(pending) == b'{"jsonrpc":"2.0","id":2,"result":[1]}'
    assert node.view.closed == 2


def test_a_call_that_ends_in_its_first_slice_is_answered_at_once(node: Node) -> None:
    assert node.session().receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x0"]}') == (
        b'{"jsonrpc":"2.0","id":2,"result":[1]}'
    )


def test_a_session_that_is_not_eager_starts_nothing(node: Node) -> None:
    session = node.session()
    session.eager = False
    pending = session.receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x0"]}')
    assert isinstance(pending, CallTask)
    assert node.view.opened == 1
    pending.close()
    assert node.view.closed == 1


def test_a_session_with_a_refusal_takes_quick_calls_only(node: Node) -> None:
    session = node.session()
    session.refusal = RpcError(-32005, "too many calls in flight")
    slices = b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x0"]}'
    assert b"-32005" in bytes(session.receive(slices) or b"")  # type: ignore[arg-type]
    assert b"0x1" in bytes(session.receive((REQUEST % 1).encode()) or b"")  # type: ignore[arg-type]
    assert b'"result":"0x' in bytes(session.receive(b"[%b,%b]" % (slices, (REQUEST % 1).encode())) or b"")  # type: ignore[arg-type]


def test_a_method_may_go_on_in_slices_where_it_cannot_answer_at_once(node: Node) -> None:
    assert node.call("perhaps", ["0x0"])["result"] == [1]
    assert node.call("perhaps", ["0x3"])["result"] == [2]
    session = node.session()
    pending = session.receive(b'{"jsonrpc":"2.0","id":2,"method":"perhaps","params":["0x3"]}')
    assert isinstance(pending, CallTask)
    pending.close()
    session.refusal = RpcError(-32005, "too many calls in flight")
    request = b'{"jsonrpc":"2.0","id":2,"method":"perhaps","params":["%b"]}'
    assert b"-32005" in bytes(session.receive(request % b"0x1") or b"")  # type: ignore[arg-type]
    assert b'"result":' in bytes(session.receive(request % b"0x0") or b"")  # type: ignore[arg-type]


def test_what_a_call_waits_between_two_slices_is_no_part_of_its_time(node: Node) -> None:
    pending = node.session().receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x2"]}')
    assert isinstance(pending, CallTask)
    assert not pending.resume()
    node.now += 29.5
    assert pending.resume()
    assert b'"result"' in (pending.reply or b"")


def test_a_call_that_has_waited_too_long_is_told_so_at_its_next_slice(node: Node) -> None:
    pending = node.session().receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x5"]}')
    assert isinstance(pending, CallTask)
    for waited in (20.0, 10.5):
        assert not pending.resume()
        node.now += waited
    assert pending.resume()
    assert b'{"code":-32005,"message":"the server is busy: ' in (pending.reply or b"")
    assert node.view.opened == 1


def test_time_is_up_after_slices_that_ran_so_long() -> None:
    methods, now = Registry(), [0.0]

    @methods.method("slices", deadline=10, timeout_error=RpcError(-32005, "query timeout exceeded"))
    def slices(_view: int) -> Generator[Step, Any, None]:
        while True:
            now[0] += 4.0
            yield None

    session = Conversation(Dispatcher(methods, lambda _caller: View(), clock=lambda: now[0]), None)
    pending = session.receive(b'{"jsonrpc":"2.0","id":2,"method":"slices"}')
    assert isinstance(pending, CallTask)
    assert not pending.resume()
    assert pending.resume()
    assert b'{"code":-32005,"message":"query timeout exceeded"}' in (pending.reply or b"")


def test_errors_that_calls_share_keep_nothing_of_the_calls() -> None:
    shared, kept = RpcError(-32005, "query timeout exceeded"), WeakSet[View]()
    methods, now = Registry(), [0.0]

    @methods.method("slices", deadline=10, timeout_error=shared)
    def slices(_view: int) -> Generator[Step, Any, None]:
        kept.add(mine := View())
        yield None
        now[0] = 11.0
        yield None
        assert mine

    session = Conversation(Dispatcher(methods, lambda _caller: View(), clock=lambda: now[0]), None)
    refused = session.refusal = RpcError(-32005, "too many calls in flight")
    request = b'{"jsonrpc":"2.0","id":2,"method":"slices"}'
    assert b"too many" in bytes(session.receive(request) or b"")  # type: ignore[arg-type]
    session.refusal = None
    pending = session.receive(request)
    assert isinstance(pending, CallTask)
    assert pending.resume()
    assert b"query timeout" in (pending.reply or b"")
    assert (shared.__traceback__, refused.__traceback__) == (None, None)
    assert not kept


def test_a_call_that_has_not_begun_can_fail(node: Node) -> None:
    session = node.session()
    session.eager = False
    pending = session.receive(b'{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x5"]}')
    assert isinstance(pending, CallTask)
    assert pending.fail(limit_exceeded("too much"))
    assert b'{"code":-32005,"message":"too much"}' in (pending.reply or b"")


def test_a_batch_that_has_not_begun_can_fail(node: Node) -> None:
    session = node.session()
    session.eager = False
    pending = session.receive(b'[{"jsonrpc":"2.0","id":2,"method":"slices","params":["0x5"]}]')
    assert isinstance(pending, CallTask)
    while not pending.fail(TimeLimitError()):
        pass
    assert b'"id":2' in (pending.reply or b"")


def test_work_for_a_thread_knows_how_much_time_is_left(node: Node) -> None:
    pending = node.session().receive(b'{"jsonrpc":"2.0","id":2,"method":"work"}')
    assert isinstance(pending, CallTask)
    assert pending.step is not None
    assert pending.step.seconds == 10
    assert pending.fail(TimeLimitError())
    assert b'"code":-32002' in (pending.reply or b"")


def test_an_error_of_the_work_is_raised_in_the_handler(node: Node) -> None:
    pending = node.session().receive(b'{"jsonrpc":"2.0","id":2,"method":"work"}')
    assert isinstance(pending, CallTask)
    assert pending.fail(ValueError("no luck"))
    assert b'"result":"no luck"' in (pending.reply or b"")


def test_a_plain_handler_can_be_run_in_a_thread(node: Node) -> None:
    assert node.call("threaded")["result"] == "1 True"


def test_admission_is_asked_for_each_item() -> None:
    node = Node()
    node.refused = "number"
    replies = node.answer(f'[{REQUEST % 1},{{"jsonrpc":"2.0","id":2,"method":"nothing"}}]')
    assert [reply.get("error", {}).get("code") for reply in replies] == [-32005, None]


def test_admission_is_asked_for_unknown_methods_too() -> None:
    node = Node()
    node.refused = "eth_guess"
    assert node.call("eth_guess")["error"]["code"] == -32005
    assert node.call("eth_other")["error"]["code"] == -32601


def test_the_contracts_that_a_call_names_are_looked_at() -> None:
    node = Node()
    node.refused = "nothing at all"
    assert node.call("slices", ["0x7"])["error"]["message"] == "not this contract"
    assert "result" in node.call("slices", ["0x1"])


def test_a_view_that_cannot_be_opened_is_our_bug(caplog: pytest.LogCaptureFixture) -> None:
    def open_view(_caller: object) -> View:
        raise OSError("disk")

    reply = Conversation(Dispatcher(registry(), open_view), None).receive((REQUEST % 1).encode())
    assert isinstance(reply, bytes)
    assert b"-32603" in reply
    assert "disk" in caplog.text


def test_a_cancel_token_tells_those_linked_once_and_those_who_come_late() -> None:
    token, heard = CancelToken(), list[str]()
    token.link(lambda: heard.append("early"))
    token.set()
    token.set()
    token.link(lambda: heard.append("late"))
    assert heard == ["early", "late"]
    assert token.is_set
