"""What waits for a client to read is counted for as long as it is kept."""

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.server.conftest import OpenSite, until
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import ReplyChunks
from wsnode.server.scheduling.executor import SHORT_THREADS
from wsnode.server.scheduling.memory_quota import MemoryQuota
from wsnode.server.transport.transport import StreamTransport
from wsnode.server.websocket.frames import text_frame
from wsnode.server.websocket.outbox import LargeReply, Outbox

SIZE = 100_000
FRAGMENT = 1000


class Reader(StreamTransport):
    """A client that reads as much as it is allowed to."""

    def __init__(self) -> None:
        super().__init__(trio.testing.memory_stream_pair()[0])
        self.allowed = 0
        self.changed = trio.Event()

    def allow(self, size: int) -> None:
        self.allowed += size
        self.changed.set()

    def send_nowait(self, data: bytes | memoryview) -> int:
        taken = min(len(data), self.allowed)
        self.allowed -= taken
        return taken

    async def send_some(self, data: memoryview) -> int:
        while not self.allowed:
            self.changed = trio.Event()
            await self.changed.wait()
        return self.send_nowait(data)


async def test_a_large_reply_counts_until_the_last_of_it_is_sent() -> None:
    reader, budget, client = Reader(), MemoryQuota(1 << 30), ClientId()
    outbox = Outbox(reader, 1 << 20, budget, client)
    assert outbox.send_large(LargeReply(b"0" * SIZE, FRAGMENT, compressed=False))
    assert not outbox.send(b"behind it")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.drain, lambda: None)
        await wait_all_tasks_blocked()
        reader.allow(SIZE - 2 * FRAGMENT)
        await wait_all_tasks_blocked()
        assert outbox.output_bytes < 3 * FRAGMENT
        assert budget.used >= SIZE
        reader.allow(3 * FRAGMENT + 1000)
    assert (outbox.output_bytes, budget.used) == (0, 0)


@settings(max_examples=examples(200))
@given(st.lists(st.binary(max_size=50), min_size=1, max_size=20), st.integers(1, 60), st.booleans())
def test_the_fragments_of_a_large_reply_have_one_size_and_all_of_it(
    pieces: list[bytes], size: int, compressed: bool
) -> None:
    whole = b"".join(pieces) or b"0"
    reply = LargeReply(ReplyChunks(pieces) if any(pieces) else whole, size, compressed=compressed)
    assert reply.size == len(whole)
    frames, last = [], False
    while not last:
        frame, last = reply.next_frame()
        frames.append(frame)
    starts = range(0, len(whole), size)
    parts = [whole[start : start + size] for start in starts]
    assert frames == [
        text_frame(part, continued=start > 0, final=start == starts[-1], compressed=compressed)
        for start, part in zip(starts, parts, strict=True)
    ]


async def test_an_outbox_is_idle_only_behind_the_last_byte_of_a_frame() -> None:
    reader = Reader()
    outbox = Outbox(reader, 1 << 20, MemoryQuota(1 << 30), ClientId())
    assert outbox.is_idle
    outbox.send_large(LargeReply(b"0" * SIZE, FRAGMENT, compressed=False))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.drain, lambda: None)
        # The heads of the frames are not counted among the bytes that wait.
        reader.allow(SIZE)
        await wait_all_tasks_blocked()
        assert (outbox.output_bytes, outbox.is_idle) == (0, False)
        reader.allow(FRAGMENT)
    assert outbox.is_idle


async def test_what_is_left_of_a_large_reply_counts_no_more_once_it_is_forgotten() -> None:
    reader, budget, client = Reader(), MemoryQuota(1 << 30), ClientId()
    outbox = Outbox(reader, 1 << 20, budget, client)
    outbox.send_large(LargeReply(b"0" * SIZE, FRAGMENT, compressed=False))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.drain, lambda: None)
        reader.allow(SIZE // 2)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    outbox.close()
    assert (outbox.output_bytes, budget.used) == (0, 0)


async def test_replies_that_wait_to_be_compressed_count_and_keep_others_from_being_made(
    open_site: OpenSite,
) -> None:
    async with open_site() as site:
        shared = site.server.shared
        for _ in range(SHORT_THREADS):
            site.nursery.start_soon(shared.executor.short_work.run, ClientId(), site.gate.pass_through)
        await until(lambda: site.gate.entered == SHORT_THREADS)
        peer = await site.peer(deflate=True)
        limit, size = shared.limits.outbox_bytes, 500_000
        for number in range(20):
            await peer.call("zeros", size, id=number)
        await wait_all_tasks_blocked()
        assert limit < shared.waiting.used < limit + 2 * size
        site.gate.opened = 1
        assert sorted([(await peer.reply())["id"] for _ in range(20)]) == [*range(20)]
        await until(lambda: shared.waiting.used == 0)


async def test_a_closed_outbox_forgets_what_waits_and_takes_nothing_more() -> None:
    reader, budget = Reader(), MemoryQuota(1 << 30)
    outbox = Outbox(reader, 1 << 20, budget, ClientId())
    assert outbox.send(b"half of it is sent")
    outbox.close()
    assert (outbox.output_bytes, budget.used) == (0, 0)
    reader.allow(1000)
    assert not outbox.send(b"more")
    assert not outbox.send_urgent(b"\x89\x00")
    assert not outbox.send_large(LargeReply(b"0" * SIZE, FRAGMENT, compressed=False))
    assert (reader.allowed, outbox.output_bytes, budget.used) == (1000, 0, 0)


async def test_nothing_is_sent_behind_what_is_on_its_way_when_an_outbox_is_closed() -> None:
    reader = Reader()
    outbox = Outbox(reader, 1 << 20, MemoryQuota(1 << 30), ClientId())
    assert outbox.send(b"0" * 500)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outbox.drain, lambda: None)
            await wait_all_tasks_blocked()
            outbox.close()
            reader.allow(10)
            await wait_all_tasks_blocked()
            reader.allow(1000)
    assert reader.allowed == 1000
