"""Slow readers, restarts and lost blocks: no event is lost silently."""

from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.ethereum.live.arrived import Arrived
from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.ethereum.live.sessions import LogView, open_node
from tests.ethereum.live.test_replay_model import expected
from tests.live.client import Client
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.live import groups, hub, pages
from wsnode.ethereum.live import pending_feed as pending
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.replay import SNAPSHOTS
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING, STOPPING

LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], TOPICS[:2])]
SMALL = Limits(outbox_bytes=8192)
WHOLE = {"fromBlock": "0x0", "cursors": True}


def errors(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [params["error"] for params in told if "error" in params]


def closed_with(client: Client) -> tuple[int, str]:
    received = client.peer.protocol.close_rcvd
    assert received is not None
    return received.code, received.reason


def rebuilt(told: list[dict[str, Any]]) -> list[tuple[str, int]]:
    view = LogView()
    for params in told:
        view.apply(params)
    return view.logs


@pytest.fixture(params=[False, True], ids=["", "small parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events hold two or three notifications at most, so that a client falls behind inside a block."""
    if request.param:
        monkeypatch.setattr(groups, "PART_BYTES", 1200)
        monkeypatch.setattr(pending, "PART_BYTES", 400)


@pytest.mark.slow
@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("options", [{}, WHOLE, {"reorgs": True}, {"cursors": True, "reorgs": True}], ids=str)
async def test_who_reads_slowly_gets_everything_and_is_told_if_notices_were_asked_for(
    growing: GrowingChain, options: dict[str, Any]
) -> None:
    async with open_node(growing, limits=SMALL) as node:
        slow, quick = await node.connect(pauses=True), await node.connect()
        names = [await client.subscribe("logs", options) for client in (slow, quick)]
        slow.pause()
        for number in range(30):
            growing.reorganise(min(number, 2 * (number % 5 == 0)), [LOGS * 2, LOGS[:1]])
            node.hub.advance()
            await wait_all_tasks_blocked()
        assert rebuilt(quick.told[names[1]]) == expected(growing, LogFilter())
        assert not errors(quick.told[names[1]])
        assert len(slow.told[names[0]]) < 15
        slow.go_on()
        await wait_all_tasks_blocked()
        notices = errors(slow.told[names[0]])
        assert bool(notices) == bool(options)
        for notice in notices:
            assert notice["code"] == -32005
            assert notice["data"]["missed"] > 0
            assert Position.parse(notice["data"]["cursor"]).number <= growing.chain.head.number
        assert rebuilt(slow.told[names[0]]) == expected(growing, LogFilter())
        # It is live again.
        growing.grow(LOGS)
        node.hub.advance()
        await wait_all_tasks_blocked()
        assert rebuilt(slow.told[names[0]]) == expected(growing, LogFilter())


@pytest.mark.parametrize("pairs", [11, 14, 17, 20, 23])
async def test_a_client_may_fall_behind_in_the_middle_of_a_block(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, pairs: int
) -> None:
    monkeypatch.setattr(groups, "PART_BYTES", 1200)
    async with open_node(growing, limits=Limits(outbox_bytes=64 * 1024)) as node:
        slow = await node.connect(pauses=True)
        logs = await slow.subscribe("logs", {"cursors": True})
        slow.pause()
        for _ in range(6):
            growing.reorganise(min(len(growing.blocks), 1), [LOGS * pairs])
            node.hub.advance()
            await wait_all_tasks_blocked()
        slow.go_on()
        await wait_all_tasks_blocked()
        assert errors(slow.told[logs])
        assert rebuilt(slow.told[logs]) == expected(growing, LogFilter())


@pytest.mark.slow
async def test_a_long_replay_is_made_as_the_client_reads(growing: GrowingChain) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=64 * 1024)) as node:
        growing.reorganise(0, [LOGS * 20] * 40)
        client = await node.connect(pauses=True)
        client.pause()
        await client.ask("eth_subscribe", "logs", WHOLE)
        await wait_all_tasks_blocked()
        assert node.server.shared.waiting.used < 256 * 1024
        client.go_on()
        await wait_all_tasks_blocked()
        (told,) = client.told.values()
        assert not errors(told)
        assert rebuilt(told) == expected(growing, LogFilter())


@pytest.mark.slow
async def test_those_who_catch_up_together_share_what_is_made_for_them(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        growing.reorganise(0, [LOGS * 20] * 10)
        alone = await node.connect()
        await alone.subscribe("logs", WHOLE)
        pages = node.hub.replay.made
        assert pages > 2
        growing.grow(LOGS)
        node.hub.advance()
        clients = [await node.connect() for _ in range(20)]
        for client in clients:
            await client.ask("eth_subscribe", "logs", WHOLE)
        await wait_all_tasks_blocked()
        assert node.hub.replay.made <= 2 * pages + 1
        for client in clients:
            (told,) = client.told.values()
            assert rebuilt(told) == expected(growing, LogFilter())


@pytest.mark.slow
async def test_others_are_told_of_a_block_while_a_thousand_pages_are_made(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        growing.reorganise(0, [LOGS * 20] * 20)
        live = await node.connect()
        heads = await live.subscribe("newHeads")
        busy = [await node.connect() for _ in range(30)]
        for place, client in enumerate(busy):
            # Each has a filter of its own, so that nothing can be shared.
            topics = [[f"0x{TOPICS[0].hex()}", f"0x{place + 100:064x}"]]
            await client.ask("eth_subscribe", "logs", {**WHOLE, "topics": topics})
        growing.grow(LOGS)
        node.hub.advance()
        while not live.told[heads]:
            await trio.lowlevel.checkpoint()
        told = sum(len(notifications) for client in busy for notifications in client.told.values())
        await wait_all_tasks_blocked()
        in_the_end = sum(len(notifications) for client in busy for notifications in client.told.values())
        assert in_the_end == 30 * len(expected(growing, LogFilter()))
        assert told < in_the_end / 4


@pytest.mark.parametrize("options", [{}, {"cursors": True}], ids=str)
async def test_slow_heads_come_in_their_order_after_the_notice(
    growing: GrowingChain, options: dict[str, Any]
) -> None:
    async with open_node(growing, limits=SMALL) as node:
        slow = await node.connect(pauses=True)
        heads = await slow.subscribe("newHeads", options)
        slow.pause()
        for _ in range(20):
            growing.grow()
            node.hub.advance()
            await wait_all_tasks_blocked()
        slow.go_on()
        await wait_all_tasks_blocked()
        notices = errors(slow.told[heads])
        assert len(notices) == len(options)
        assert all(Position.parse(notice["data"]["cursor"]).logs == 0 for notice in notices)
        numbers = [int(told["result"]["number"], 16) for told in slow.told[heads] if "result" in told]
        assert numbers == list(range(1, 21))


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("asks", [False, True], ids=["plain", "with notices"])
async def test_missed_pending_transactions_are_counted_for_who_asked(
    growing: GrowingChain, asks: bool
) -> None:
    async with open_node(growing, limits=SMALL) as node:
        node.hub.pending.render = lambda arrived: b'{"hash":"0x%b"}' % arrived.hash.hex().encode()
        slow, quick = await node.connect(pauses=True), await node.connect()
        options = [False, {"notices": True}] if asks else []
        name = await slow.subscribe("newPendingTransactions", *options)
        full = await quick.subscribe("newPendingTransactions", True)
        slow.pause()
        for number in range(0, 100, 25):
            node.hub.pending.announce([Arrived((number + n).to_bytes(32, "big")) for n in range(25)])
            await wait_all_tasks_blocked()
        slow.go_on()
        await wait_all_tasks_blocked()
        node.hub.pending.announce([Arrived(bytes(32))])
        await wait_all_tasks_blocked()
        assert [told["result"] for told in quick.told[full]][:100] == [
            {"hash": f"0x{number:064x}"} for number in range(100)
        ]
        results = [told["result"] for told in slow.told[name] if "result" in told]
        assert results[-1] == "0x" + "00" * 32
        if not asks:
            assert len(results) == len(slow.told[name]) < 101
            return
        (notice,) = errors(slow.told[name])
        assert notice["data"]["missed"] + len(results) == 101
        assert "error" in slow.told[name][-2]


async def test_a_restart_is_announced_with_where_to_go_on(
    growing: GrowingChain, autojump_clock: MockClock
) -> None:
    view = LogView()
    async with open_node(growing) as node:
        client = await node.connect()
        growing.grow(LOGS)
        logs = await client.subscribe("logs", WHOLE)
        heads = await client.subscribe("newHeads", {"cursors": True})
        pending = await client.subscribe("newPendingTransactions", False, {"notices": True})
        node.server.final_notice = RESTARTING
        growing.grow(LOGS)
        node.hub.advance()
        with trio.move_on_after(1):
            await node.server.drain()
        await wait_all_tasks_blocked()
        for name in (logs, heads, pending):
            error = client.told[name][-1]["error"]
            assert (error["code"], error["message"]) == (-32006, "the node is restarting")
        assert client.told[pending][-1]["error"]["data"] == {"cursor": None}
        for params in client.told[logs]:
            view.apply(params)
        cursors = [client.told[name][-1]["error"]["data"]["cursor"] for name in (logs, heads)]
        assert client.peer.protocol.close_rcvd is not None
        assert client.peer.protocol.close_rcvd.code == 1012
    growing.reorganise(1, [LOGS[:1], LOGS[1:]])
    async with open_node(growing) as node:
        client = await node.connect()
        logs = await client.subscribe("logs", {"cursor": cursors[0]})
        heads = await client.subscribe("newHeads", {"cursor": cursors[1]})
        for params in client.told[logs]:
            view.apply(params)
        assert view.logs == expected(growing, LogFilter())
        assert [told["result"]["number"] for told in client.told[heads]] == ["0x2", "0x3"]


PLAIN: list[list[Any]] = [
    ["logs", {}],
    ["logs", {"fromBlock": "0x0"}],
    ["newHeads"],
    ["newPendingTransactions"],
    ["newPendingTransactions", True],
    ["syncing"],
    ["transactionReceipts"],
]


@pytest.mark.parametrize("final_notice", [STOPPING, RESTARTING], ids=["SIGINT", "SIGTERM"])
async def test_who_asked_for_nothing_sees_the_close_alone(
    growing: GrowingChain, final_notice: tuple[int, str], autojump_clock: MockClock
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        names = [await client.subscribe(*params) for params in PLAIN]
        growing.grow(LOGS)
        node.hub.advance()
        node.server.final_notice = final_notice
        with trio.move_on_after(1):
            await node.server.drain()
        await wait_all_tasks_blocked()
        assert closed_with(client) == final_notice
        assert [len(client.told[name]) for name in names] == [2, 2, 1, 0, 0, 0, 1]
        assert {tuple(told) for name in names for told in client.told[name]} == {("subscription", "result")}


async def test_a_restart_while_blocks_are_taken_back_says_how_far_each_has_come(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setattr(hub, "STEP_BLOCKS", 2)
    growing.reorganise(0, [LOGS] * 7)
    async with open_node(growing) as node:
        client = await node.connect()
        names = [await client.subscribe(kind, {"reorgs": True}) for kind in ("logs", "newHeads")]
        growing.reorganise(6, [LOGS])
        node.hub.advance()
        node.server.final_notice = RESTARTING
        with trio.move_on_after(1):
            await node.server.drain()
        await wait_all_tasks_blocked()
        cursors = [client.told[name][-1]["error"]["data"]["cursor"] for name in names]
        # The logs of two blocks have been removed; subscriptions of newHeads have got all six headers.
        assert [Position.parse(cursor).number for cursor in cursors] == [5, 1]
        taken_back = [params["result"]["blockNumber"] for params in client.told[names[0]][1:-1]]
        assert taken_back == ["0x7", "0x7", "0x6", "0x6"]
    async with open_node(growing) as node:
        client = await node.connect()
        again = await client.subscribe("newHeads", {"cursor": cursors[1], "reorgs": True})
        assert [params["result"]["number"] for params in client.told[again]] == ["0x2"]


async def test_a_store_that_lost_what_was_told_is_owned_up_to(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client, other = await node.connect(), await node.connect()
        lost = growing.grow(LOGS)
        logs = await client.subscribe("logs", {"cursors": True})
        heads = await client.subscribe("newHeads", {"reorgs": True})
        plain = [await other.subscribe(*params) for params in PLAIN[:4]]
        growing.shrink(1)
        growing.chain.forget([lost.hash])
        growing.grow(LOGS[:1])
        node.hub.advance()
        head = growing.grow(LOGS)
        node.hub.advance()
        await wait_all_tasks_blocked()
        for name in (logs, heads):
            (error,) = errors(client.told[name])
            assert (error["code"], error["message"]) == (-32001, "the block is not known any more")
            assert error["data"]["blockHash"] == f"0x{lost.hash.hex()}"
        assert [told["result"]["blockNumber"] for told in client.told[logs][1:]] == ["0x2", "0x2"]
        assert client.told[heads][1]["result"]["hash"] == f"0x{head.hash.hex()}"
        # Geth has no message for this, so a connection that knows no other ends.
        assert not any(other.told[name] for name in plain)
        assert closed_with(other) == (1011, "the block sent last is not known any more")


async def test_a_bug_in_telling_of_a_block_is_owned_up_to_and_the_next_one_is_told(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_node(growing) as node:
        client, other = await node.connect(), await node.connect()
        logs = await client.subscribe("logs", {"cursors": True})
        heads = await client.subscribe("newHeads", {"reorgs": True})
        plain = [await other.subscribe(*params) for params in PLAIN[:4]]
        followed: list[HeadChange] = []
        node.hub.on_change.append(followed.append)
        last = growing.grow(LOGS)
        node.hub.advance()
        await wait_all_tasks_blocked()
        with monkeypatch.context() as patch:
            patch.setattr(node.hub.groups, "publish_logs", None)
            untold = growing.grow(LOGS)
            node.hub.advance()
        assert "cannot be published; subscriptions continue after it" in caplog.text
        assert followed[-1] == HeadChange((), (untold,))
        growing.grow(LOGS[:1])
        node.hub.advance()
        await wait_all_tasks_blocked()
        for name in (logs, heads):
            (error,) = errors(client.told[name])
            assert (error["code"], error["message"]) == (-32603, "a block could not be published")
            assert error["data"]["blockHash"] == f"0x{last.hash.hex()}"
        told = client.told[logs]
        assert [each["result"]["blockNumber"] for each in told if "result" in each] == ["0x1", "0x1", "0x3"]
        assert [len(other.told[name]) for name in plain] == [2, 2, 2, 0]
        assert not any(errors(other.told[name]) for name in plain)
        assert closed_with(other) == (1011, "a block could not be published")
        # No event is lost for good: the last cursor before the notice replays the missed ones.
        again = await client.subscribe("logs", {"cursor": told[1]["cursor"]})
        assert [each["result"]["blockNumber"] for each in client.told[again]] == ["0x2", "0x2", "0x3"]


def named_once(told: list[dict[str, Any]]) -> list[str]:
    """Return the blocks that notices name; each is named before its logs are taken back."""
    named: list[str] = []
    for params in told:
        if "reorg" in params:
            named += [block["hash"] for block in params["reorg"]["dropped"]]
        elif "result" in params and params["result"]["removed"]:
            assert params["result"]["blockHash"] in named
    return named


@pytest.mark.parametrize("page_bytes", [600, 64 * 1024], ids=["a block a page", "all in one page"])
async def test_blocks_that_are_dropped_while_others_are_taken_back_have_a_notice_of_their_own(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 600)
    growing.reorganise(0, [LOGS] * 3)
    # There is room for the reply and a page, but for no second one.
    async with open_node(growing, limits=Limits(outbox_bytes=200)) as node:
        cursor = str(Position.after(growing.blocks[-1].head))
        growing.reorganise(1, [LOGS])
        client = await node.connect(pauses=True)
        client.pause()
        await client.ask("eth_subscribe", "logs", {"cursor": cursor, "reorgs": True})
        await wait_all_tasks_blocked()
        growing.reorganise(3, [LOGS])
        monkeypatch.setattr(pages, "PAGE_BYTES", page_bytes)
        client.go_on()
        await wait_all_tasks_blocked()
        (told,) = client.told.values()
        notices = [params["reorg"] for params in told if "reorg" in params]
        assert [[block["number"] for block in notice["dropped"]] for notice in notices] == [
            ["0x3"],
            ["0x2", "0x1"],
        ]
        assert len(named_once(told)) == 3


async def test_a_block_that_comes_back_and_is_dropped_again_is_named_again(growing: GrowingChain) -> None:
    growing.reorganise(0, [LOGS, LOGS, LOGS * 5])
    async with open_node(growing, limits=SMALL) as node:
        cursor = str(Position.after(growing.blocks[-1].head))
        dropped = growing.shrink(1)
        client = await node.connect(pauses=True)
        logs = await client.subscribe("logs", {"cursor": cursor, "reorgs": True})
        await client.subscribe("newHeads")
        assert named_once(client.told[logs]) == [f"0x{dropped[0].hash.hex()}"]
        client.pause()
        growing.return_to(dropped)
        node.hub.advance()
        await wait_all_tasks_blocked()
        growing.grow(LOGS * 5)
        node.hub.advance()
        await wait_all_tasks_blocked()
        # Nothing of the last block had room, and there is none yet for going on.
        growing.shrink(2)
        client.go_on()
        await wait_all_tasks_blocked()
        (error,) = errors(client.told[logs])
        assert Position.parse(error["data"]["cursor"]) == Position.after(dropped[0])
        assert named_once(client.told[logs]) == [f"0x{dropped[0].hash.hex()}"] * 2
        assert rebuilt(client.told[logs][11:]) == []


async def test_a_block_that_is_dropped_before_the_page_is_made_has_its_notice(growing: GrowingChain) -> None:
    growing.reorganise(0, [LOGS] * 3)
    async with open_node(growing) as node:
        first = growing.shrink(1)
        cursor = str(Position.after(growing.grow(LOGS)))
        # The chain will be back where the hub stands before it looks again.
        node.hub.is_held = True
        client = await node.connect()
        async with AsyncExitStack() as others:
            for _ in range(SNAPSHOTS):
                await others.enter_async_context(node.hub.replay.snapshots)
            await client.ask("eth_subscribe", "logs", {"cursor": cursor, "reorgs": True})
            await wait_all_tasks_blocked()
            growing.shrink(1)
            growing.return_to(first)
        await wait_all_tasks_blocked()
        ((notice, *rest),) = client.told.values()
        assert notice["reorg"]["dropped"][0]["number"] == "0x3"
        assert [params["result"]["removed"] for params in rest] == [True, True, False, False]


async def test_who_is_ahead_of_the_hub_goes_on_when_the_hub_comes_there(growing: GrowingChain) -> None:
    growing.reorganise(0, [LOGS] * 2)
    # There is no room for anything beside a reply.
    async with open_node(growing, limits=Limits(outbox_bytes=100)) as node:
        last = growing.blocks[-1].head
        client = await node.connect(pauses=True)
        client.pause()
        await client.ask("eth_chainId")
        cursor = str(Position(last.number, last.hash, 1))
        await client.ask("eth_subscribe", "logs", {"cursor": cursor})
        await wait_all_tasks_blocked()
        dropped = growing.shrink(1)
        node.hub.advance()
        growing.return_to(dropped)
        async with AsyncExitStack() as others:
            for _ in range(SNAPSHOTS):
                await others.enter_async_context(node.hub.replay.snapshots)
            client.go_on()
            await wait_all_tasks_blocked()
            node.hub.advance()
        await wait_all_tasks_blocked()
        ((told,),) = client.told.values()
        assert told["result"]["logIndex"] == "0x1"
