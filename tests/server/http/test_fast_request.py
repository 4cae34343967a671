"""The quick reader of plain requests against h11: what it takes, it reads alike."""

import random

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.server.http.test_connection import ONE, post
from tests.server.test_server_fuzz import REQUESTS, mutate
from wsnode.server.http.fast_request import quick_post

names = st.sampled_from(
    ["Accept", "Host", "Content-Length", "Connection", "X-A", "Transfer-Encoding", "Expect", "x y"]
)
values = st.sampled_from(
    ["a", "3", "keep-alive", "close", "chunked", " padded ", "", "a\tb", "é", "\x00", "100-continue"]
)
lines = st.lists(st.builds("{}:{}".format, names, values), max_size=3)


def check(data: bytes) -> bool:
    """Compare the two readers on `data`; True if the quick one took it."""
    if (quick := quick_post(data, 1000, 1000)) is None:
        return False
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(data)
    request = parser.next_event()
    assert isinstance(request, h11.Request)
    assert (request.method, request.target.decode()) == (b"POST", quick.target)
    headers = {name.decode(): value.decode() for name, value in request.headers}
    headers.pop("connection", None)
    assert headers == quick.headers
    body = b""
    while isinstance(event := parser.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert body == quick.body
    assert parser.their_state is h11.DONE
    assert parser.trailing_data[0] == data[quick.size :]
    return True


@settings(max_examples=examples(500))
@given(seed=st.integers(0, 2**32), behind=st.binary(max_size=20))
def test_mutated_requests_are_read_alike_or_left(seed: int, behind: bytes) -> None:
    chance = random.Random(seed)
    check(mutate(chance.choice(REQUESTS), chance) + behind)


@settings(max_examples=examples(500))
@given(extra=lines, body=st.binary(max_size=20), behind=st.binary(max_size=20))
def test_odd_headers_are_read_alike_or_left(extra: list[str], body: bytes, behind: bytes) -> None:
    request = post(body, *[line for line in extra if line.isascii() or line.isprintable()])
    check(request + behind)


def test_plain_requests_are_taken() -> None:
    assert check(post(ONE))
    assert check(post(ONE, "Connection: keep-alive", "Accept: */*", "User-Agent: bot/1.0 (x; y)") + b"POST")
    assert check(post(b""))


@pytest.mark.parametrize(
    "line",
    ["Transfer-Encoding: chunked", "Expect: 100-continue", "Connection: close", "Host: again", "Upgrade: h2c",
     "Content-Length: 54", "X : y", "X:\ty\x00", " folded"],
)  # fmt: skip
def test_what_is_less_plain_is_left(line: str) -> None:
    request = post(ONE, "X: y").replace(b"X: y", line.encode())
    assert quick_post(request, 1000, 1000) is None


def test_what_is_not_whole_or_too_large_is_left() -> None:
    request = post(ONE)
    assert all(quick_post(request[:size], 1000, 1000) is None for size in range(len(request)))
    assert quick_post(request, len(ONE) - 1, 1000) is None
    head = len(request) - len(ONE)
    assert quick_post(request, 1000, head) is not None
    assert quick_post(request, 1000, head - 1) is None
