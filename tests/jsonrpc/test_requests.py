"""What the engine reads of requests against what the decoder of all JSON reads."""

import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.jsonrpc.texts import requests
from wsnode._native.wire import read_batch, read_request
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.requests import UnusableRequestError, decode_item, decode_message, decode_request
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
    except UnusableRequestError:
        assert read_batch(text, 10) is None
        return
    assert isinstance(found, list)
    assert isinstance(expected, list)
    read = [decode_item(item) if isinstance(item, bytes) else item for item in found if readable(item)]
    assert read == [decode_item(item) for item in expected if isinstance(item, bytes) and readable(item)]


def readable(item: Request | bytes) -> bool:
    try:
        return isinstance(item, tuple) or decode_item(item) is not None
    except UnusableRequestError:
        return False


@pytest.mark.parametrize("identity", [b"[]", b"{}", b'{"a":1}'])
def test_no_id_is_an_object_or_an_array(identity: bytes) -> None:
    text = b'{"jsonrpc":"2.0","method":"m","id":%b}' % identity
    assert read_request(text) is None
    with pytest.raises(UnusableRequestError) as refused:
        decode_message(text, 1)
    assert refused.value.identity == b"null"
