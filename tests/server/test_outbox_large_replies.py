"""A reply that stays in pieces is the same to its client as one that does not, in every encoding."""

import gzip
import json
import re
import tracemalloc
from collections import Counter

import pytest
import trio
import trio.testing
import zstandard

from tests.server.conftest import OpenSite
from tests.server.http.test_connection import client, post
from wsnode.jsonrpc.generators import LARGE_BYTES
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import ReplyChunks
from wsnode.server.limits import Limits
from wsnode.server.transport.transport import StreamTransport
from wsnode.server.websocket.outbox import LargeReply

SIZES = (LARGE_BYTES + 1, 10, LARGE_BYTES // 2, 2 * LARGE_BYTES)


def call(number: int, size: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"late_zeros","params":[%d]}' % (number, size)


ONE = call(1, LARGE_BYTES)
BATCH = b"[%b]" % b",".join(map(call, range(len(SIZES)), SIZES))
REPLIES = {
    ONE: {"jsonrpc": "2.0", "id": 1, "result": "0" * LARGE_BYTES},
    BATCH: [{"jsonrpc": "2.0", "id": each, "result": "0" * size} for each, size in enumerate(SIZES)],
}


@pytest.mark.parametrize("fragment_bytes", [1000, 256 << 10, 8 << 20])
@pytest.mark.parametrize("inline_bytes", [None, 1 << 16, 8 << 20], ids=["plain", "in a thread", "at once"])
async def test_over_websocket(open_site: OpenSite, *, inline_bytes: int | None, fragment_bytes: int) -> None:
    limits = Limits(fragment_bytes=fragment_bytes, deflate_inline_bytes=inline_bytes or 1 << 16)
    async with open_site(limits) as site:
        peer = await site.peer(deflate=inline_bytes is not None)
        for text, expected in REPLIES.items():
            await peer.send(text)
            assert await peer.reply() == expected
        await peer.call("number", id="behind")
        assert (await peer.reply())["id"] == "behind"


async def test_over_http(open_site: OpenSite) -> None:
    async with open_site() as site:
        http = client(site)
        for text, expected in REPLIES.items():
            assert (await http.ask(text)).json == expected
            squeezed = await http.ask(text, Accept_Encoding="gzip")
            assert json.loads(gzip.decompress(squeezed.body)) == expected
            squeezed = await http.ask(text, Accept_Encoding="zstd")
            assert json.loads(zstandard.decompress(squeezed.body)) == expected


async def test_a_large_reply_beyond_the_limit_is_refused_and_those_of_a_batch_one_by_one(
    open_site: OpenSite,
) -> None:
    limits = Limits(reply_bytes=LARGE_BYTES, batch_reply_bytes=LARGE_BYTES * 2)
    async with open_site(limits) as site:
        peer = await site.peer()
        await peer.send(call(1, LARGE_BYTES))
        assert (await peer.reply())["error"]["code"] == -32003
        await peer.send(b"[%b]" % b",".join(call(each, LARGE_BYTES - 100) for each in range(4)))
        codes = [each.get("error", {}).get("code") for each in await peer.reply()]
        assert codes == [None, None, -32003, -32003]


@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_others_have_their_turns_between_parcels(open_site: OpenSite, framing: str) -> None:
    passes, at = 0, list[int]()

    class Quick(StreamTransport):
        def send_nowait(self, data: bytes | memoryview) -> int:
            at.append(passes)
            return len(data)

    async with open_site(Limits(slice_seconds=0.0)) as site:
        ours, theirs = trio.testing.memory_stream_pair()
        transport = Quick(theirs)
        site.nursery.start_soon(site.server.serve_transport, transport, ClientId())
        head, body = post(BATCH).split(b"\r\n\r\n")
        if framing == "chunks":
            # Not read by the quick way.
            head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", head, flags=re.IGNORECASE)
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        await ours.send_all(head + b"\r\n\r\n" + body)
        while len(at) < len(SIZES):
            await trio.lowlevel.checkpoint()
            passes += 1
        # Tasks run in any order within a pass of the scheduler.
        assert max(Counter(at).values()) <= 2 < len(at)


def test_a_large_reply_takes_little_for_each_of_its_pieces() -> None:
    pieces = ReplyChunks(b"%1000d" % number for number in range(5000))
    tracemalloc.start()
    try:
        reply = LargeReply(pieces, 1 << 16, compressed=False)
        taken, _ = tracemalloc.get_traced_memory()
        while not reply.next_frame()[1]:
            pass
    finally:
        tracemalloc.stop()
    assert taken < 20 * len(pieces)
