"""WebSocket connections from the handshake to the close, against peers that share no code with the server."""

import json
import struct
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing
from trio.testing import MockClock
from trio_websocket import wrap_client_stream
from websockets.frames import Frame, Opcode

from tests.server.conftest import NUMBER, OpenSite, Peer, Site, until
from tests.server.websocket.test_frames import masked
from wsnode.server.limits import Limits
from wsnode.server.scheduling.memory_quota import GUARANTEED_BYTES
from wsnode.server.server import RESTARTING

LONG = 3600.0
"""Seconds of a turn that no machine is too busy for."""
AnyStream: TypeAlias = trio.StapledStream[trio.abc.SendStream, trio.abc.ReceiveStream]
HANDSHAKE = (
    "GET /ws/v3/key HTTP/1.1\r\nHost: node\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


async def test_trio_websocket_is_answered(open_site: OpenSite) -> None:
    async with open_site() as site:
        client = await wrap_client_stream(site.nursery, site.connect(), "node", "/ws/v3/key")  # type: ignore[arg-type]
        await client.send_message(NUMBER % 1)
        assert json.loads(await client.get_message()) == {"jsonrpc": "2.0", "id": 1, "result": "0x1"}
        await client.send_message((NUMBER % '"b"').encode())
        assert isinstance(reply := await client.get_message(), str)
        assert json.loads(reply)["id"] == "b"
        await client.aclose(1000, "bye")
        assert client.closed is not None
        assert client.closed.code == 1000


async def test_a_burst_is_answered_in_one_turn_and_in_order(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        for number in range(500):
            peer.protocol.send_text((NUMBER % number).encode())
        await peer.send_raw(b"".join(peer.protocol.data_to_send()))
        assert [(await peer.reply())["id"] for _ in range(500)] == list(range(500))


async def test_frames_right_behind_the_handshake_are_read(open_site: OpenSite) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(HANDSHAKE.encode() + masked(0x81, (NUMBER % 1).encode()) + masked(0x88, b""))
        assert (await read_to_end(stream)).endswith(
            b'\r\n\r\n\x81\x27{"jsonrpc":"2.0","id":1,"result":"0x1"}\x88\x00'
        )


async def read_to_end(stream: trio.abc.HalfCloseableStream) -> bytes:
    answer = b""
    async for data in stream:
        answer += data
    await stream.aclose()
    return answer


async def test_malformed_json_is_answered_and_the_connection_stays(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        for text in ("{", b"\xff\xfe", ""):
            await peer.send(text)
            assert (await peer.reply())["error"]["code"] == -32700
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"


async def test_a_bug_hurts_one_request(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.call("bug", id=1)
        await peer.call("number", id=2)
        assert (await peer.reply())["error"]["code"] == -32603
        assert (await peer.reply())["result"] == "0x1"


async def test_a_fragmented_message_with_a_ping_inside_is_one_message(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        text = (NUMBER % 1).encode()
        await peer.send_raw(
            masked(0x01, text[:10]) + masked(0x89, b"now") + masked(0x00, b"") + masked(0x80, text[10:])
        )
        assert await peer.frame() == Frame(Opcode.PONG, b"now")
        assert (await peer.reply())["result"] == "0x1"


CLOSING = {
    "normal closure": (masked(0x88, struct.pack("!H", 1000) + b"bye"), 1000),
    "a code of the application's": (masked(0x88, struct.pack("!H", 4999)), 4999),
    "a code that must not be sent": (masked(0x88, struct.pack("!H", 1006)), 1002),
    "a close frame of one byte": (masked(0x88, b"\x03"), 1002),
    "a reason that is not UTF-8": (masked(0x88, struct.pack("!H", 1000) + b"\xff"), 1007),
    "text that is not UTF-8": (masked(0x81, b"\xff"), 1007),
    "fragmented text that is not UTF-8": (masked(0x01, b"a") + masked(0x80, b"\xc3"), 1007),
    "a frame without a mask": (b"\x81\x02hi", 1002),
    "an unknown opcode": (masked(0x83, b""), 1002),
    "an unknown control opcode": (masked(0x8B, b""), 1002),
    "a reserved bit": (masked(0xA1, b"hi"), 1002),
    "compression that was not negotiated": (masked(0xC1, b"hi"), 1002),
    "a fragmented ping": (masked(0x09, b""), 1002),
    "a long ping": (masked(0x89, b"x" * 126), 1002),
    "a continuation of nothing": (masked(0x80, b""), 1002),
    "a message inside a message": (masked(0x01, b"a") + masked(0x81, b"b"), 1002),
    "a message too big": (masked(0x81, b"x" * 1001), 1009),
    "fragments too big together": (masked(0x01, b"x" * 600) + masked(0x80, b"x" * 600), 1009),
    "a size that only a liar has": (struct.pack("!BBQ", 0x82, 0xFF, 2**62), 1009),
}


@pytest.mark.parametrize("case", CLOSING)
async def test_a_broken_frame_closes_with_its_code(open_site: OpenSite, case: str) -> None:
    data, code = CLOSING[case]
    async with open_site(Limits(message_bytes=1000)) as site:
        peer = await site.peer()
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"
        await peer.send_raw(data)
        assert await peer.close_code() == code
        await peer.stream.send_eof()
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.connections == 0


async def test_requests_before_a_broken_frame_are_answered(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.send_raw(masked(0x81, (NUMBER % 1).encode()) + masked(0x83, b""))
        assert (await peer.reply())["id"] == 1
        assert await peer.close_code() == 1002


async def test_a_slow_call_does_not_hold_up_quick_ones(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.call("wait", id="slow")
        await peer.call("slices", 3, id="slices")
        await peer.call("number", id="quick")
        assert [(await peer.reply())["id"] for _ in range(2)] == ["quick", "slices"]
        site.gate.opened = 1
        assert await peer.reply() == {"jsonrpc": "2.0", "id": "slow", "result": "passed"}


async def test_a_batch_is_answered_in_its_turn_though_a_slow_call_runs(open_site: OpenSite) -> None:
    async with open_site(Limits(slice_seconds=LONG)) as site:
        peer = await site.peer()
        await peer.call("wait", id="slow")
        for text in (f"[{NUMBER % 1}]", NUMBER % 2):
            peer.protocol.send_text(text.encode())
        await peer.send_raw(b"".join(peer.protocol.data_to_send()))
        first, second = await peer.reply(), await peer.reply()
        assert (first[0]["id"], second["id"]) == (1, 2)
        site.gate.opened = 1
        assert (await peer.reply())["id"] == "slow"


async def test_a_disconnect_cancels_what_was_asked_for(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.call("wait")
        await peer.call("endless")
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"
        await until(lambda: site.gate.entered > 0)
        await peer.stream.aclose()
        await until(lambda: not site.server.connections)
        assert site.gate.cancelled == 2
        assert site.server.shared.executor.in_flight == 0


async def test_too_many_slow_calls_are_refused_and_quick_ones_are_not(open_site: OpenSite) -> None:
    async with open_site(Limits(calls_per_connection=3)) as site:
        peer = await site.peer()
        for number in range(4):
            await peer.call("wait", id=number)
        error = await peer.reply()
        assert (error["id"], error["error"]["code"]) == (3, -32005)
        await peer.call("number", id=9)
        assert (await peer.reply())["result"] == "0x1"
        site.gate.opened = 1
        assert {(await peer.reply())["id"] for _ in range(3)} == {0, 1, 2}
        await peer.call("wait", id=10)
        assert (await peer.reply())["result"] == "passed"


async def test_the_process_has_a_limit_too(open_site: OpenSite) -> None:
    async with open_site(Limits(calls=2)) as site:
        busy, other = await site.peer(), await site.peer()
        await busy.call("wait", id=1)
        await busy.call("wait", id=2)
        await busy.call("number", id=3)
        assert (await busy.reply())["id"] == 3
        await other.call("wait", id=4)
        assert (await other.reply())["error"]["code"] == -32005
        site.gate.opened = 1
        assert {(await busy.reply())["id"] for _ in range(2)} == {1, 2}
        await other.call("wait", id=5)
        assert (await other.reply())["result"] == "passed"


async def test_a_thousand_calls_of_one_connection_delay_anothers_first_by_one_turn(
    open_site: OpenSite,
) -> None:
    async with open_site(Limits(calls_per_connection=1000)) as site:
        greedy, other = await site.peer(), await site.peer()
        for number in range(200):
            await greedy.call("slices", 50, id=number)
        await greedy.call("number", id="sent")
        await other.call("slices", 3, id="other")
        assert (await other.reply())["result"] == 3
        ended: list[Any] = []
        while (identity := (await greedy.reply())["id"]) != "sent":
            ended.append(identity)
        # Of its own calls, which go on meanwhile, the first to begin are the first to end.
        assert ended == list(range(len(ended)))
        assert len(ended) < 100


async def test_a_client_that_does_not_read_is_held_up_and_its_pings_are_answered(open_site: OpenSite) -> None:
    limits = Limits(outbox_bytes=50_000, read_ahead_bytes=10_000)
    async with open_site(limits) as site:
        stream = await slow_reader(site)
        request = masked(0x81, b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[20000]}')
        await stream.send_all(request * 20)
        await trio.testing.wait_all_tasks_blocked()
        await stream.send_all(masked(0x89, b"still there?"))
        await trio.testing.wait_all_tasks_blocked()
        outbox = next(iter(site.server._alive))._outbox
        assert outbox.output_bytes < 50_000 + 2 * 20_100
        await stream.send_all(request * 100)
        await trio.testing.wait_all_tasks_blocked()
        assert outbox.output_bytes < 50_000 + 2 * 20_100

        answer = b""
        while answer.count(b'"result"') < 120:
            answer += await stream.receive_some()
        pong = b"\x8a\x0cstill there?"
        assert 0 < answer.index(pong) < 100_000


async def slow_reader(site: Site) -> AnyStream:
    """An open connection whose server can send nothing that the client has not begun to read."""
    requests, taken = trio.testing.memory_stream_one_way_pair()
    replies, read = trio.testing.lockstep_stream_one_way_pair()
    site.nursery.start_soon(site.server.serve_stream, trio.StapledStream(replies, taken))
    await requests.send_all(HANDSHAKE.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += await read.receive_some()
    return trio.StapledStream(requests, read)


async def test_a_large_reply_comes_in_fragments_with_pongs_between(open_site: OpenSite) -> None:
    async with open_site(Limits(fragment_bytes=10_000, outbox_bytes=10**6)) as site:
        stream = await slow_reader(site)
        await stream.send_all(masked(0x81, b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[100000]}'))
        first = await stream.receive_some(200)
        await stream.send_all(masked(0x89, b"hello"))
        await trio.testing.wait_all_tasks_blocked()
        answer = bytes(first)
        while answer.count(b"0") < 100_000:
            answer += await stream.receive_some()
        assert b"\x8a\x05hello" in answer[:30_000]


async def test_a_message_in_fragments_is_whole_at_the_other_end(open_site: OpenSite) -> None:
    async with open_site(Limits(fragment_bytes=1000)) as site:
        peer = await site.peer()
        for size in (0, 900, 1000, 2000, 54_321):
            await peer.call("zeros", size)
            assert (await peer.reply())["result"] == "0" * size
            await peer.call("late_zeros", size)
            assert (await peer.reply())["result"] == "0" * size


@pytest.mark.parametrize("size", [10, 2000, 70_000, 1_000_000])
async def test_compressed_messages_both_ways(open_site: OpenSite, size: int) -> None:
    async with open_site() as site:
        peer = await site.peer(deflate=True)
        assert peer.protocol.extensions
        await peer.call("zeros", size)
        assert (await peer.reply())["result"] == "0" * size
        await peer.send_raw(masked(0x81, (NUMBER % 7).encode()))
        assert (await peer.reply())["id"] == 7
        await peer.send(NUMBER % ('"' + "x" * 5000 + '"'))
        assert (await peer.reply())["id"] == "x" * 5000


async def test_a_message_too_big_when_inflated_closes_with_1009(open_site: OpenSite) -> None:
    async with open_site(Limits(message_bytes=10_000)) as site:
        peer = await site.peer(deflate=True)
        await peer.send("x" * 1_000_000)
        assert await peer.close_code() == 1009


async def test_silence_is_asked_about_and_then_ends_the_connection(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site() as site:
        site.nursery.start_soon(site.server.keep_alive)
        stream = site.connect()
        await stream.send_all(HANDSHAKE.encode())
        answer = await read_to_end(stream)
        assert answer.endswith(b"\r\n\r\n\x89\x00")
        assert trio.current_time() - 60 < site.server.limits.ping_seconds + 61


async def test_a_client_that_answers_pings_stays(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site() as site:
        site.nursery.start_soon(site.server.keep_alive)
        peer = await site.peer()
        for _ in range(20):
            assert (await peer.frame()).opcode is Opcode.PING
        await peer.call("number")
        assert (await peer.reply())["result"] == "0x1"


async def test_a_drain_lets_calls_end_and_says_goodbye(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.call("wait")
        await peer.call("number", id=2)
        assert (await peer.reply())["id"] == 2
        site.server.final_notice = RESTARTING
        site.nursery.start_soon(site.server.drain)
        await peer.call("number", id=3)
        assert (await peer.reply())["id"] == 3
        assert not site.server.ready
        site.gate.opened = 1
        assert (await peer.reply())["result"] == "passed"
        assert await peer.close_code() == 1012
        await peer.stream.aclose()
        await until(lambda: not site.server.connections)


@pytest.mark.parametrize("waits", [False, True], ids=["nothing waits", "a reply waits"])
async def test_a_client_that_answers_no_close_holds_a_drain_up_only_for_what_it_has_to_read(
    open_site: OpenSite, autojump_clock: MockClock, waits: bool
) -> None:
    assert autojump_clock.rate == 0
    async with open_site(Limits(close_seconds=5, close_on_shutdown_seconds=1)) as site:
        mine, theirs = trio.testing.lockstep_stream_pair()
        async with trio.open_nursery() as serving:
            serving.start_soon(site.server.serve_stream, theirs)
            peer = Peer(mine)
            await peer.open()
            if waits:
                await peer.call("number")
            began = trio.current_time()
            await site.server.drain()
            if not waits:
                # A client that reads its socket, and does not answer.
                await mine.receive_some()
        assert trio.current_time() - began == pytest.approx(5 if waits else 1, abs=0.2)


async def test_who_is_let_in_while_everybody_leaves_is_told_so_too(open_site: OpenSite) -> None:
    async with open_site() as site:
        mine, theirs = trio.testing.lockstep_stream_pair()
        site.nursery.start_soon(site.server.serve_stream, theirs)
        peer = Peer(mine)
        request = peer.protocol.connect()
        peer.protocol.send_request(request)
        await peer.flush()
        await trio.testing.wait_all_tasks_blocked()
        # The answer is on its way now.
        await site.server.drain()
        with trio.fail_after(60):
            assert await peer.close_code() == 1001
        await mine.aclose()


async def test_nobody_new_is_taken_while_draining(open_site: OpenSite) -> None:
    async with open_site() as site:
        site.server.shared.draining = True
        response = await Peer(site.connect()).open()
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert site.server.shared.counters.refusals == {503: 1}


async def test_a_client_that_does_not_answer_the_goodbye_is_left(
    open_site: OpenSite, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_site() as site:
        stream = site.connect()
        await stream.send_all(HANDSHAKE.encode())
        await stream.receive_some()
        await trio.testing.wait_all_tasks_blocked()
        await site.server.drain()
        assert (await read_to_end(stream))[:4] == b"\x88\x18\x03\xe9"
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.connections == 0


async def test_a_bug_of_the_connection_closes_with_1011(
    open_site: OpenSite, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_site() as site:
        peer, other = await site.peer(), await site.peer()
        site.gate.broken = True
        await peer.call("number")
        assert await peer.close_code() == 1011
        site.gate.broken = False
        await other.call("number")
        assert (await other.reply())["result"] == "0x1"
        assert "the view does not close" in caplog.text


async def test_unfinished_messages_of_all_clients_have_a_limit(open_site: OpenSite) -> None:
    limits = Limits(input_bytes=150_000)
    async with open_site(limits) as site:
        peers = [await site.peer() for _ in range(3)]
        whole = masked(0x82, b" " * 100_000 + (NUMBER % 1).encode())
        for peer, size in ((peers[0], 90_000), (peers[1], 70_000)):
            await peer.send_raw(whole[:size])
            await trio.testing.wait_all_tasks_blocked()
        assert site.server.shared.received.used == 70_000
        assert await peers[0].close_code() == 1013
        await peers[2].send_raw(masked(0x01, b" " * 50_000))
        await peers[1].send_raw(whole[70_000:])
        assert (await peers[1].reply())["result"] == "0x1"
        await peers[2].send_raw(masked(0x80, (NUMBER % 2).encode()))
        assert (await peers[2].reply())["id"] == 2
        assert site.server.shared.received.used == 0


async def test_replies_that_wait_for_all_clients_have_a_limit(open_site: OpenSite) -> None:
    async with open_site(Limits(output_bytes=200_000)) as site:
        streams = [await slow_reader(site) for _ in range(3)]
        request = masked(0x81, b'{"jsonrpc":"2.0","id":1,"method":"zeros","params":[20000]}')
        for stream in streams:
            await stream.send_all(request * 30)
            await trio.testing.wait_all_tasks_blocked()
        # A turn ends with the reply that goes beyond its bytes, of which there are few when bytes are.
        turn = GUARANTEED_BYTES + 20_100
        assert 200_000 <= site.server.shared.waiting.used < 200_000 + 3 * turn
        for stream in streams:
            answer = b""
            # To the end of the last one: its middle may be still to come when its beginning is there.
            while answer.count(b'"}') < 30:
                answer += await stream.receive_some()
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.shared.waiting.used == 0


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("act", ["keep_alive", "close"])
async def test_a_connection_that_is_just_ending_takes_no_more_frames(
    act: str, turns: int, open_site: OpenSite
) -> None:
    async with open_site() as site:
        await site.peer()
        connection = next(iter(site.server._alive))
        connection._framing.heard = True
        connection.end_within(0)
        for _ in range(turns):
            await trio.lowlevel.checkpoint()
        getattr(connection, act)(*((1008, "the API key was revoked") if act == "close" else ()))
        await trio.testing.wait_all_tasks_blocked()
        assert site.server.connections == 0
