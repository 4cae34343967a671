"""What counts as a difference."""

import json
from typing import Any

import pytest

from wsnode.verify.comparison import difference, reply_difference, shape_difference

CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_call"}'


def failure(message: str, code: int = 3, **members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message} | members})


RESULT = '{"jsonrpc":"2.0","id":1,"result":"0x"}'


def test_the_order_of_members_and_the_kind_of_number_do_not_matter() -> None:
    assert difference({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}) is None


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        ({"a": 1}, {"a": 2}, "$.a: got 1, want 2"),
        ({}, {"a": 2}, "$.a: missing, got {}"),
        ({"a": 1}, {}, "$.a: unexpected, 1"),
        ([1, 2], [1], "$: 2 elements, want 1"),
        ([{"a": None}], [{"a": "x"}], '$[0].a: got null, want "x"'),
        (True, 1, "$: got true, want 1"),
    ],
)
def test_the_first_difference_is_told_with_its_place(got: Any, want: Any, said: str) -> None:
    assert str(difference(got, want)) == said


def test_messages_of_errors_count_only_on_demand() -> None:
    got, want = failure("execution reverted"), failure("reverted")
    assert reply_difference(CALL, got, want, messages=False) is None
    assert reply_difference(CALL, got, want) == '$.error.message: got "execution reverted", want "reverted"'


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (failure("reverted", 4), "$.error.code: got 4, want 3"),
        (failure("reverted", 3, data="0x"), '$.error.data: unexpected, "0x"'),
        (RESULT, "$.error: missing, got "),
        (failure("what", -32601), "the node has no method eth_call"),
        ("<html>", "the reply is no JSON: '<html>'"),
        (None, "no reply"),
    ],
)
def test_codes_and_data_count_always(got: str | None, said: str) -> None:
    assert (reply_difference(CALL, got, failure("reverted"), messages=False) or "").startswith(said)


def test_a_method_that_should_be_unknown_is() -> None:
    assert reply_difference(CALL, failure("a", -32601), failure("b", -32601), messages=False) is None


def test_of_a_shape_a_member_is_optional_that_objects_alike_lack() -> None:
    want = {
        "logs": {"off": False, "first": "0x0", "kept": {"blocks": "0x5"}},
        "state": {"off": False, "first": "0x0"},
    }
    state = {"off": False, "first": "0x1"}
    assert shape_difference({"logs": state, "state": state}, want) is None
    kept = {**state, "kept": {"blocks": "0x1"}}
    assert shape_difference({"logs": kept, "state": kept}, want) is None
    assert shape_difference({"logs": {"off": True}, "state": state}, want) == (
        '$.logs.first: missing, got {"off": true}'
    )
    assert shape_difference({"logs": state, "state": {"off": True}}, want) == (
        '$.state.first: missing, got {"off": true}'
    )


def test_of_a_shape_keys_and_types_count() -> None:
    want = {"list": [{"a": "x"}, {"a": "y", "b": 1}], "map": {"0x1": 2}, "maybe": None}
    assert shape_difference({"list": [{"a": "z"}], "map": {"0x5": 1}, "maybe": 3}, want) is None
    assert shape_difference({"list": [{"a": 1}], "map": {}, "maybe": 3}, want) == (
        "$.list[0].a: got a number, want a str"
    )
    assert shape_difference({"list": [], "map": {"1": 1}, "maybe": 3}, want) == "$.map: key '1'"
