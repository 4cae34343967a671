"""What the engine reads of requests against what the decoder of all JSON reads."""

import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.jsonrpc.texts import requests
from wsnode._native.wire import find_fault, read_batch, read_request
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.requests import (
    LONG_BYTES,
    InvalidRequestError,
    decode_item,
    decode_message,
    decode_request,
)
from wsnode.jsonrpc.work import Request

METHODS = ["eth_chainId", "m", ""]


def decoded(text: bytes) -> Request | None:
    try:
        return decode_request(text)
    except UNREADABLE:
        return None


@given(requests(METHODS))
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[{"a" : [1,"b"]}, null ]}')
def test_what_the_engine_reads_is_what_the_text_says(text: bytes) -> None:
    request = read_request(text)
    assert request is None or request == decoded(text)


@given(st.integers(0) | st.text(st.characters(min_codepoint=32, max_codepoint=126)), st.lists(st.booleans()))
def test_the_engine_reads_what_is_usual(identity: int | str, params: list[bool]) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": identity, "method": "m", "params": params}).encode()
    escaped = b"\\" in text
    assert (read_request(text) is None) == escaped


@given(requests(METHODS), st.integers(0, 6))
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[{"a":[1]},null]}', 5)
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":[{"a":[1]},null]}', 6)
@example(b'{"jsonrpc":"2.0","id":1,"method":"m"}', 0)
def test_the_engine_reads_no_more_values_than_it_may(text: bytes, most: int) -> None:
    request = read_request(text)
    count = values_of(json.loads(request[1])) if request is not None and request[1] else 0
    assert read_request(text, most) == (request if count <= most else None)


def values_of(value: object) -> int:
    """Return how many values there are in one, itself and the names of members included."""
    if isinstance(value, dict):
        return 1 + sum(1 + values_of(each) for each in value.values())
    return 1 + sum(map(values_of, value)) if isinstance(value, list) else 1


@given(st.lists(requests(METHODS), max_size=4), st.sampled_from([b",", b" , "]), st.integers(0, 5))
def test_a_batch_is_what_its_items_are(items: list[bytes], comma: bytes, most: int) -> None:
    assume(all(item.strip() for item in items))
    text = b" [" + comma.join(items) + b"]\n"
    batch = read_batch(text, most)
    if batch is None:
        assert len(items) > most or any(read_request(item) is None for item in items)
    else:
        assert batch == [decoded(item) for item in items]


@given(st.lists(requests(METHODS), max_size=4))
def test_a_batch_is_the_same_whoever_reads_it(items: list[bytes]) -> None:
    text = b"[" + b",".join(items) + b"]"
    try:
        found, expected = decode_message(text, 10), decode_message(b" " + text, 10)
    except InvalidRequestError:
        assert read_batch(text, 10) is None
        return
    assert isinstance(found, list)
    assert isinstance(expected, list)
    read = [decode_item(item) if isinstance(item, bytes) else item for item in found if readable(item)]
    assert read == [decode_item(item) for item in expected if isinstance(item, bytes) and readable(item)]


def readable(item: Request | bytes) -> bool:
    try:
        return isinstance(item, tuple) or decode_item(item) is not None
    except InvalidRequestError:
        return False


@pytest.mark.parametrize("identity", [b"[]", b"{}", b'{"a":1}'])
def test_no_id_is_an_object_or_an_array(identity: bytes) -> None:
    text = b'{"jsonrpc":"2.0","method":"m","id":%b}' % identity
    assert read_request(text) is None
    with pytest.raises(InvalidRequestError) as refused:
        decode_message(text, 1)
    assert refused.value.identity == b"null"


SPACE = b" " * LONG_BYTES
"""Makes a text so long that the engine reads it, and changes nothing else."""


def batch_of(items: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(items)


def outcome(text: bytes) -> object:
    """What a message is, or the id and the code that it is refused with."""
    try:
        return decode_message(text, 3)
    except InvalidRequestError as refused:
        error = json.loads(refused.reply)
        return refused.identity, (error[0] if isinstance(error, list) else error)["error"]["code"]


@given(
    requests(METHODS) | st.lists(requests(METHODS), max_size=4).map(lambda items: b"[%b]" % b",".join(items))
)
@example(b'{"jsonrpc":"2.0","id":"\\ud800","method":"m","params":["\\ud800",1],"more":["\\udc00"]}')
@example(b'{"jsonrpc":"2.0","id":[1],"method":"\\ud800","params":[]}')
@example(b'{"\\u0069d":7,"jsonrpc":"2.0","method":"m","p\\u0061rams":[2],"params":[1],"p\\u0061rams":[3]}')
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":"\xff"}')
@example(b'"{}"')
@example(b"[" * 5_000 + b"]" * 5_000)
def test_a_long_message_is_what_a_short_one_is(text: bytes) -> None:
    assert outcome(text + SPACE) == outcome(text)


def test_a_long_message_that_is_no_json_says_where() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        decode_message(b'{"jsonrpc":"2.0",' + SPACE + b"1}", 1)
    assert b"column %d" % (len(SPACE) + 18) in refused.value.reply


@given(requests(METHODS))
@example(b'"\\ud800"')
def test_the_engine_finds_no_fault_in_json_and_one_in_all_else(text: bytes) -> None:
    try:
        json.loads(text.decode(), parse_constant=lambda _name: 1 / 0)
        is_json = True
    except (ValueError, ZeroDivisionError):
        is_json = False
    assert (find_fault(text) is None) == is_json
