"""Subscriptions on a connection: events follow the reply, complete and in order, bounded; a notice ends
them.
"""

import json
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode

from tests.server.conftest import NUMBER, OpenSite, Peer, Site, until
from tests.server.http.test_connection import client
from tests.server.observability.test_metrics import metrics
from tests.server.websocket.test_connection import AnyStream, slow_reader
from tests.server.websocket.test_frames import masked
from wsnode.pubsub.subscription import IDENTITY_BYTES, Event
from wsnode.server.access.api_keys import KeyLimits
from wsnode.server.access.keys import KeyFile, KeyFileStore
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING
from wsnode.server.websocket.encoding import UNCOMPRESSED, encode_event
from wsnode.server.websocket.frames import text_frame

IDENTITY = b"0x" + b"0123456789abcdef" * 2
SUBSCRIBE = '{"jsonrpc":"2.0","id":1,"method":"subscribe","params":[%s]}'


def request(method: str, *params: Any, id: Any = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


async def subscribed(peer: Peer, *params: int) -> str:
    await peer.call("subscribe", *params)
    identity: str = (await peer.reply())["result"]
    return identity


async def numbers(peer: Peer, count: int) -> list[int]:
    return [(await peer.reply())["number"] for _ in range(count)]


async def test_every_subscriber_is_told_under_its_own_id(open_site: OpenSite) -> None:
    async with open_site() as site:
        peers = [await site.peer(), await site.peer(deflate=True)]
        identities = [await subscribed(peer) for peer in peers for _ in range(2)]
        assert len(set(identities)) == 4
        site.feed.publish(3)
        site.feed.publish(1, size=5000)
        for peer in peers:
            told = [await peer.reply() for _ in range(8)]
            for identity in identities[:2]:
                assert [each["number"] for each in told if each["subscription"] == identity] == [0, 1, 2, 3]
            del identities[:2]


async def test_the_reply_precedes_what_it_announces(open_site: OpenSite) -> None:
    async with open_site() as site:
        site.feed.publish(3)
        peer = await site.peer()
        for number in range(3):
            peer.protocol.send_text(request("subscribe", 0, id=number).encode())
        await peer.flush()
        told = [await peer.reply() for _ in range(12)]
        identities = [each["result"] for each in told if "result" in each]
        assert len(identities) == 3
        for identity in identities:
            places = [index for index, each in enumerate(told) if identity in each.values()]
            assert "result" in told[places[0]]
            assert [told[index]["number"] for index in places[1:]] == [0, 1, 2]


@pytest.mark.parametrize("deflate", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("slow", [False, True], ids=["at once", "in slices"])
@pytest.mark.parametrize("size", [10, 3000, 100_000])
async def test_the_reply_to_a_batch_precedes_what_it_announces(
    size: int, slow: bool, deflate: bool, open_site: OpenSite
) -> None:
    async with open_site() as site:
        site.feed.publish(2)
        peer, other = await site.peer(deflate=deflate), await site.peer()
        batch = [request("subscribe", 0), request("zeros", size), request("subscribe", id=2)]
        if slow:
            batch.append(request("slices", 50))
        await peer.send("[" + ",".join(batch) + "]")
        await peer.send(NUMBER % '"between"')
        await other.call("publish", 2)
        told = list[Any]()
        while not any(isinstance(each, list) for each in told):
            told.append(await peer.reply())
        first, late = told[-1][0]["result"], told[-1][2]["result"]
        assert not any("subscription" in each for each in told)
        assert not slow or told[0]["id"] == "between"
        site.feed.publish(1)
        told = list[Any]()
        while [each.get("number") for each in told].count(4) < 2:
            told.append(await peer.reply())
        assert [each["number"] for each in told if each.get("subscription") == first] == [0, 1, 2, 3, 4]
        after = [each["number"] for each in told if each.get("subscription") == late]
        assert after == [2, 3, 4][-len(after) :]


async def test_what_a_batch_has_no_room_to_name_is_not_subscribed_to(open_site: OpenSite) -> None:
    async with open_site(Limits(batch_reply_bytes=100)) as site:
        peer = await site.peer()
        await peer.send("[" + ",".join(request("subscribe", id=number) for number in range(3)) + "]")
        named, *others = await peer.reply()
        assert [each["error"]["code"] for each in others] == [-32003, -32003]
        site.feed.publish(1)
        assert (await peer.reply())["subscription"] == named["result"]
        assert len(site.feed.group) == 1
        assert site.server.shared.open_subscriptions == {("test", "numbers"): 1}


async def test_over_http_nothing_can_be_subscribed_to(open_site: OpenSite) -> None:
    async with open_site() as site:
        answer = await client(site).ask((SUBSCRIBE % "").encode())
        assert answer.status == 200
        assert answer.json["error"] == {"code": -32601, "message": "notifications not supported"}


async def test_who_unsubscribes_is_told_nothing_behind_the_reply(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        identity = await subscribed(peer)
        site.feed.publish(1)
        assert await numbers(peer, 1) == [0]
        await peer.call("unsubscribe", identity, id=2)
        assert await peer.reply() == {"jsonrpc": "2.0", "id": 2, "result": True}
        site.feed.publish(1)
        await trio.testing.wait_all_tasks_blocked()
        assert len(site.feed.group) == 0
        await peer.call("unsubscribe", identity, id=3)
        assert (await peer.reply())["error"] == {"code": -32000, "message": "subscription not found"}


async def test_subscriptions_end_with_their_connection(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer, gone = await site.peer(), await site.peer()
        for each in (peer, gone, gone):
            await subscribed(each)
        assert len(site.feed.group) == 3
        await gone.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert len(site.feed.group) == 1
        assert site.server.shared.open_subscriptions == {("test", "numbers"): 1}
        await peer.send_raw(masked(0x88, b"\x03\xe8"))
        assert await peer.close_code() == 1000
        assert len(site.feed.group) == 0


def frames_of(data: bytes) -> list[Any]:
    """Return the JSON of the whole unmasked frames in `data`."""
    texts, position = [], 0
    while position < len(data):
        size, start = data[position + 1], position + 2
        if size > 125:
            long = 2 if size == 126 else 8
            size, start = int.from_bytes(data[start : start + long]), start + long
        if data[position] == 0x81:
            texts.append(json.loads(data[start : start + size]))
        else:
            texts.append(data[position : start + size])
        position = start + size
    return texts


async def read_until(stream: AnyStream, end: bytes) -> list[Any]:
    """Return what comes until `end` does."""
    answer = b""
    while end not in answer:
        answer += await stream.receive_some()
    return frames_of(answer)


async def stalled(site: Site) -> AnyStream:
    """Return a connection that has subscribed, and reads no more."""
    stream = await slow_reader(site)
    await stream.send_all(masked(0x81, (SUBSCRIBE % "").encode()))
    reply = bytes(await stream.receive_some())
    assert b'"result":"0x' in reply
    return stream


async def test_a_subscriber_that_does_not_read_is_bounded_told_and_served(open_site: OpenSite) -> None:
    async with open_site(Limits(outbox_bytes=20_000)) as site:
        stream, quick = await stalled(site), await site.peer()
        await subscribed(quick)
        waiting = site.server.shared.waiting
        for _ in range(100):
            site.feed.publish(1, size=1000)
            await trio.testing.wait_all_tasks_blocked()
            assert waiting.used < 20_000 + 1200
        assert await numbers(quick, 100) == list(range(100))
        assert site.server.shared.counters.fallen_behind == 1
        site.feed.publish(1)
        told = await read_until(stream, b'"number":100')
        notices = [each for each in told if "behind" in each]
        assert [each["number"] for each in told if "number" in each] == list(range(101))
        behind = told.index(notices[0])
        assert 10 < behind < 20
        assert notices == [{"subscription": told[0]["subscription"], "behind": behind, "missed": 1}]
        await trio.testing.wait_all_tasks_blocked()
        assert waiting.used == 0
        assert len(site.feed.group) == 2


async def test_with_the_other_policy_it_is_told_and_closed(open_site: OpenSite) -> None:
    async with open_site(Limits(outbox_bytes=20_000), closes_slow=True) as site:
        stream, quick = await stalled(site), await site.peer()
        await subscribed(quick)
        for _ in range(100):
            site.feed.publish(1, size=1000)
            await trio.testing.wait_all_tasks_blocked()
        assert await numbers(quick, 100) == list(range(100))
        told = await read_until(stream, b"\x03\xf5the client does not keep up")
        behind = told[-2]["behind"]
        assert [each["number"] for each in told[:-2]] == list(range(behind))
        assert told[-1].startswith(b"\x88")
        assert len(site.feed.group) == 1


async def test_all_slow_subscribers_together_are_bounded(open_site: OpenSite) -> None:
    async with open_site(Limits(output_bytes=300_000)) as site:
        streams = [await stalled(site) for _ in range(6)]
        quick = await site.peer()
        await subscribed(quick)
        for number in range(100):
            site.feed.publish(1, size=10_000)
            await trio.testing.wait_all_tasks_blocked()
            assert await numbers(quick, 1) == [number]
            assert site.server.shared.waiting.used < 6 * (64 * 1024 + 11_000) + 11_000
        for stream in streams:
            told = await read_until(stream, b'"number":99')
            assert [each["number"] for each in told if "number" in each] == list(range(100))
            assert [each["missed"] for each in told if "missed" in each]


@pytest.mark.slow
async def test_many_subscriptions_of_one_client_catch_up_in_turn(open_site: OpenSite) -> None:
    limits = Limits(outbox_bytes=20_000, subscriptions=100)
    async with open_site(limits) as site:
        site.feed.publish(30, size=2000)
        stream = await slow_reader(site)
        for _ in range(50):
            await stream.send_all(masked(0x81, (SUBSCRIBE % "0").encode()))
        told, most = b"", 0
        while told.count(b'"number":29') < 50:
            told += await stream.receive_some()
            most = max(most, site.server.shared.waiting.used)
        assert 5_000 < most < 20_000 + 5_000
        by_subscription: dict[str, list[int]] = {}
        for each in frames_of(told):
            if "number" in each:
                by_subscription.setdefault(each["subscription"], []).append(each["number"])
        assert list(by_subscription.values()) == [list(range(30))] * 50


async def test_subscriptions_of_a_client_that_reads_nothing_share_one_task(open_site: OpenSite) -> None:
    limits = Limits(outbox_bytes=20_000, subscriptions=100)
    async with open_site(limits) as site:
        site.feed.publish(30, size=2000)
        stream = await slow_reader(site)
        living = list[int]()
        for count in (1, 50):
            for _ in range(count):
                await stream.send_all(masked(0x81, (SUBSCRIBE % "0").encode()))
            await trio.testing.wait_all_tasks_blocked()
            living.append(trio.lowlevel.current_statistics().tasks_living)
        assert site.server.shared.subscriptions.used == 51
        assert living[1] == living[0]


async def test_an_event_larger_than_the_outbox_reaches_who_reads(open_site: OpenSite) -> None:
    async with open_site(Limits(outbox_bytes=1000)) as site:
        peer = await site.peer()
        await subscribed(peer)
        for number in range(3):
            site.feed.publish(1, size=5000)
            assert await numbers(peer, 1) == [number]
        assert site.server.shared.counters.fallen_behind == 0


async def test_a_restart_is_told_behind_what_was_published_and_before_the_close(open_site: OpenSite) -> None:
    async with open_site() as site:
        peer = await site.peer()
        identity = await subscribed(peer)
        await peer.call("wait", id=5)
        await until(lambda: site.gate.entered == 1)
        site.feed.publish(3)
        site.server.final_notice = RESTARTING
        site.nursery.start_soon(site.server.drain)
        assert await numbers(peer, 3) == [0, 1, 2]
        assert await peer.reply() == {"subscription": identity, "position": 3}
        site.feed.publish(1)
        await peer.call("subscribe", id=6)
        assert (await peer.reply())["error"] == {"code": -32005, "message": "the node is about to stop"}
        site.gate.opened = 1
        assert await peer.reply() == {"jsonrpc": "2.0", "id": 5, "result": "passed"}
        assert await peer.close_code() == 1012


async def test_a_restart_waits_for_the_fan_out_only_so_long(
    open_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wsnode.pubsub.fan_out.SLICE_SECONDS", -1.0)
    async with open_site(Limits(drain_seconds=0)) as site:
        peers = [await site.peer() for _ in range(3)]
        identities = [await subscribed(peer) for peer in peers]
        site.feed.publish(50)
        site.nursery.start_soon(site.server.drain)
        for peer, identity in zip(peers, identities, strict=True):
            told = [await peer.reply()]
            while "position" not in told[-1]:
                told.append(await peer.reply())
            got = [each["number"] for each in told if "number" in each]
            assert got == list(range(len(got)))
            assert told[-1] == {"subscription": identity, "position": len(got)}
            assert await peer.close_code() == 1001
        assert site.server.shared.counters.fallen_behind == 3


async def test_a_subscription_that_a_batch_still_holds_is_told_of_the_restart_too(
    open_site: OpenSite,
) -> None:
    async with open_site() as site:
        peer = await site.peer()
        await peer.send("[" + ",".join([SUBSCRIBE % "", request("wait")]) + "]")
        await until(lambda: site.gate.entered == 1)
        site.nursery.start_soon(site.server.drain)
        await trio.testing.wait_all_tasks_blocked()
        site.gate.opened = 1
        identity = (await peer.reply())[0]["result"]
        assert await peer.reply() == {"subscription": identity, "position": 0}
        assert await peer.close_code() == 1001


async def test_a_connection_has_so_many_subscriptions_at_most(open_site: OpenSite) -> None:
    async with open_site(Limits(subscriptions=2)) as site:
        peer = await site.peer()
        first, _ = [await subscribed(peer) for _ in range(2)]
        await peer.call("subscribe")
        assert (await peer.reply())["error"] == {
            "code": -32005,
            "message": "subscription limit exceeded",
            "data": {"subscriptions": 2},
        }
        await peer.call("rpc_limits")
        result = (await peer.reply())["result"]
        assert (result["server"]["subscriptions"], result["connection"]) == (2, {"subscriptions": 2})
        await peer.call("unsubscribe", first)
        await peer.reply()
        await subscribed(peer)
        await subscribed(await site.peer())


async def test_the_process_has_so_many_at_most(open_site: OpenSite) -> None:
    async with open_site(Limits(all_subscriptions=3)) as site:
        peers = [await site.peer() for _ in range(4)]
        for peer in peers[:3]:
            await subscribed(peer)
        await peers[3].call("subscribe")
        assert (await peers[3].reply())["error"] == {"code": -32005, "message": "too many subscriptions"}
        await peers[0].stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        await subscribed(peers[3])


async def test_a_key_has_so_many_on_all_its_connections(open_site: OpenSite, tmp_path: Any) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key, other = file.add("bot", KeyLimits(subscriptions=3)), file.add("other")
    async with open_site(keys=KeyFileStore(file)) as site:
        peers = [await site.peer(path=f"/ws/v3/{key}") for _ in range(2)]
        for peer in (peers[0], peers[0], peers[1]):
            await subscribed(peer)
        await peers[1].call("subscribe")
        assert (await peers[1].reply())["error"]["data"] == {"subscriptions": 3}
        await peers[1].call("rpc_limits")
        result = (await peers[1].reply())["result"]
        assert result["key"]["subscriptions"] == result["usage"]["subscriptions"] == 3
        assert result["connection"] == {"subscriptions": 1}
        await subscribed(await site.peer(path=f"/ws/v3/{other}"))
        await peers[0].stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(2):
            await subscribed(peers[1])


async def test_what_is_open_sent_and_missed_is_counted(open_site: OpenSite) -> None:
    async with open_site(Limits(outbox_bytes=5000)) as site:
        await stalled(site)
        peer = await site.peer()
        await subscribed(peer)
        for _ in range(20):
            site.feed.publish(1, size=1000)
            await numbers(peer, 1)
        found = await metrics(site)
        assert found["wsnode_subscriptions", "numbers,test"] == 2
        assert found["wsnode_subscriptions_lagged_total", ""] == 1
        assert 20 < found["wsnode_notifications_total", ""] < 40
        assert found["wsnode_fanout_queued_bytes", ""] == 0


async def test_a_bug_in_a_subscription_closes_its_connection_only(
    open_site: OpenSite, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_site() as site:
        peer, other = await site.peer(), await site.peer()
        await subscribed(other)
        site.feed.publish(1)
        site.feed.broken = "the feed is broken"
        await peer.call("subscribe", 0)
        await peer.reply()
        assert await peer.close_code() == 1011
        site.feed.publish(1)
        assert await numbers(other, 2) == [0, 1]
        assert "the feed is broken" in caplog.text


TEXTS = st.text(max_size=300).map(str.encode) | st.binary(max_size=200).map(
    lambda part: part.hex().encode() * 9
)
MESSAGES = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5)


@given(messages=MESSAGES, least=st.sampled_from([0, 200, 1 << 30]))
def test_plain_frames_are_those_of_the_whole_texts(messages: list[tuple[bytes, bytes]], least: int) -> None:
    frames = IDENTITY.join(encode_event(Event(messages), UNCOMPRESSED, least))
    assert frames == b"".join(text_frame(before + IDENTITY + after) for before, after in messages)


@given(messages=MESSAGES, bits=st.integers(9, 15), least=st.sampled_from([0, 200, 1 << 30]))
def test_compressed_frames_say_the_same_as_plain_ones(
    messages: list[tuple[bytes, bytes]], bits: int, least: int
) -> None:
    pieces = encode_event(Event(messages), bits, least)
    # One after another, as a client reads them, with an id that was not known when they were compressed.
    for identity in (IDENTITY, b"0x" + b"f" * 32, b"\xff" * IDENTITY_BYTES):
        data = identity.join(pieces)
        extension = PerMessageDeflate(True, True, bits, bits)
        for before, after in messages:
            text = before + identity + after
            head, size = data[:2], data[1]
            start = 2 if size < 126 else 4
            size = size if size < 126 else int.from_bytes(data[2:4])
            frame = Frame(Opcode.TEXT, data[start : start + size], rsv1=bool(head[0] & 0x40))
            assert frame.rsv1 == (len(text) >= least)
            assert bytes(extension.decode(frame).data) == text
            data = data[start + size :]
        assert data == b""


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_just_being_cut_off_keeps_nobody_else_from_being_told(
    turns: int, open_site: OpenSite
) -> None:
    async with open_site() as site:
        gone, peer = await site.peer(), await site.peer()
        for each in (gone, peer):
            await subscribed(each)
        next(iter(site.server._alive)).end_within(0)
        for _ in range(turns):
            await trio.lowlevel.checkpoint()
        site.feed.publish(1)
        assert await numbers(peer, 1) == [0]
