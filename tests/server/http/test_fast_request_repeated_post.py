"""A head that is sent again says what it said before: requests are read as by the reader of whole heads."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.server.conftest import Gate, OpenSite, View
from tests.server.http.test_connection import ONE, post
from tests.server.test_server_fuzz import mutate
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.server.access.router import Caller, Route
from wsnode.server.http.fast_request import HEAD_BYTES as KEPT_BYTES
from wsnode.server.http.fast_request import RepeatedPost, quick_post
from wsnode.server.http.headers import Headers
from wsnode.server.http.responses import Response, serialize

LINES = ("Accept: */*", "User-Agent: bot/1.0 (x; y)")
BODY_BYTES, HEAD_BYTES = 1000, 1000
LENGTH = {"content-length": ""}


BODIES = (ONE, b"[%b,%b]" % (ONE, ONE), b"{", b"", ONE + b" " * 2000, ONE)
FIRST_TEXT = post(ONE, *LINES)


class Heads:
    """A chain whose head is written as the moment that a view was opened at."""

    def __init__(self) -> None:
        self.written_heads = 0

    def written(self, head: Any) -> str:
        self.written_heads += 1
        return f"{head}:0x"


def kept(
    request: bytes, barrier: Any, shared: Mapping[str, str], *, is_lasting: bool = True
) -> RepeatedPost | None:
    quick = quick_post(request, BODY_BYTES, len(request))
    assert quick is not None
    head, headers = request[: quick.size - len(quick.body)], Headers(list(quick.headers.items()))
    dispatcher = Dispatcher(Registry(), lambda _caller: View(Gate()))
    route = Route(dispatcher, Caller(network="one"), barrier, is_lasting)
    return RepeatedPost.of(head, headers, route, shared, None)


def repeated(request: bytes, barrier: Any = None, **shared: str) -> RepeatedPost:
    found = kept(request, barrier, shared)
    assert found is not None
    return found


def test_a_head_is_kept_up_to_its_bound_if_it_decides_the_route() -> None:
    padding = KEPT_BYTES - len(post(b"0")) + 1 - len("X: \r\n")
    assert kept(post(b"0", "X: " + "a" * padding), None, {}) is not None
    assert kept(post(b"0", "X: " + "a" * (padding + 1)), None, {}) is None
    assert kept(post(b"0"), None, {}, is_lasting=False) is None


@settings(max_examples=examples(500))
@given(seed=st.integers(0, 2**32), body=st.binary(max_size=1200), behind=st.binary(max_size=20))
def test_a_repeated_head_is_read_as_any_other(seed: int, body: bytes, behind: bytes) -> None:
    known, chance = repeated(FIRST_TEXT), random.Random(seed)
    data = post(body, *LINES)
    data = (mutate(data, chance) if chance.random() < 0.5 else data) + behind
    found = known.body_range(data, BODY_BYTES, HEAD_BYTES)
    quick = quick_post(data, BODY_BYTES, HEAD_BYTES)
    if found is not None:
        assert quick is not None
        assert (quick.body, quick.size) == (data[found[0] : found[1]], found[1])
        first = quick_post(FIRST_TEXT, BODY_BYTES, HEAD_BYTES)
        assert first is not None
        assert quick.headers | LENGTH == first.headers | LENGTH
    elif data.startswith(post(body, *LINES)):
        assert quick is None or not body


@pytest.mark.parametrize("length", ["", "0", "-1", "+3", "3 ", "0x3", "\u0663", "1" * 10, "3\n"])
def test_no_other_length_is_read(length: str) -> None:
    known, request = repeated(post(ONE)), post(b"abc")
    other = request.replace(b"Content-Length: 3\r", f"Content-Length: {length}\r".encode())
    assert request != other
    assert known.body_range(request, BODY_BYTES, HEAD_BYTES) is not None
    assert known.body_range(other, BODY_BYTES, HEAD_BYTES) is None


def test_a_request_is_read_once_it_is_whole_and_within_its_bounds() -> None:
    known, request = repeated(post(ONE)), post(ONE)
    begin, end = len(request) - len(ONE), len(request)
    assert all(known.body_range(request[:size], BODY_BYTES, HEAD_BYTES) is None for size in range(end))
    assert known.body_range(request + b"POST", len(ONE), begin) == (begin, end)
    assert known.body_range(request, len(ONE) - 1, begin) is None
    assert known.body_range(request, len(ONE), begin - 1) is None


def test_a_response_is_that_of_any_other_request_and_its_head_is_written_once_a_moment() -> None:
    heads = Heads()
    known, first, second = repeated(post(ONE), heads, Vary="Origin"), object(), object()
    for size, moment in enumerate((first, first, second, None, None, second), 1):
        reply = b"0" * size
        response = Response(200, reply, headers={"Vary": "Origin", "wsnode-block": f"{moment}:0x"})
        assert known.response(reply, moment) == b"".join(serialize(response))
    assert heads.written_heads == 5


@pytest.mark.parametrize(
    "lines",
    [(), LINES, ("Accept-Encoding: gzip",), ("Origin: http://a.example",)],
    ids=["bare", "agent", "gzip", "page"],
)
async def test_requests_behind_the_first_are_answered_as_it_was(
    open_site: OpenSite, lines: tuple[str, ...]
) -> None:
    async with open_site() as site:
        alone = [await site.http(post(body, *lines)) for body in BODIES]
        together = await site.http(b"".join(post(body, *lines) for body in BODIES))
        assert together == b"".join(alone)
        assert site.server.shared.counters.http_requests == 2 * len(BODIES)
