"""Light folders that follow: begun at what is final, backfilled, pruned, and lied to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from tests.ethereum.live.growing import EMITTERS, TOPICS, growing_chain
from tests.sync.follow.world import NOT_SAID, Open, Override, Source, World
from tests.upstream.providers import Error
from wsnode.ethereum.codec.chain_tables import LogCriteria
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.index import search_logs
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.sync.follow import finality
from wsnode.sync.follow.sync_report import SyncStage

pytestmark = pytest.mark.slow

LOG = (EMITTERS[0], TOPICS[:1])


def earliest(world: World) -> int:
    with world.chain.snapshot() as view:
        return view.earliest


def require_equal(world: World, source: Source) -> None:
    """Compare the rows of the window with the source's."""
    with world.chain.snapshot() as ours, source.growing.chain.snapshot() as theirs:
        for number in range(ours.earliest, ours.number + 1):
            assert ours.header(number) == theirs.header(number)
            assert ours.body(number) == theirs.body(number)
            assert ours.receipts(number) == theirs.receipts(number)


def found_logs(world: World) -> int:
    with world.chain.snapshot() as view:
        criteria = LogCriteria((EMITTERS[0],), ())
        search = search_logs(view.reader, criteria, view.earliest, view.number)
        while True:
            try:
                next(search)
            except StopIteration as end:
                count: int = end.value.count
                return count


async def test_a_light_folder_begins_at_what_is_final_and_is_filled_to_its_window(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until(lambda: earliest(world) == 81)
        await world.until_stage(SyncStage.LIVE)
        require_equal(world, sources["a"])
        assert world.follower.not_ready_reason() is None
        status = world.follower.status()
        assert (status["mode"], status["earliest"], status["window"]) == ("light", "0x51", 20)
        assert status["trust"].startswith("bodies, receipts and logs are verified by headers")
        # Neither the genesis block nor those before the window of the first block, ten below the head.
        assert 20 <= sources["a"].asked["eth_getBlockReceipts"] <= 30


async def test_a_light_folder_follows_and_prunes_what_falls_out_of_the_window(opened: Open) -> None:
    async with opened("a", blocks=60) as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        for _ in range(8):
            for _ in range(5):
                source.growing.grow([LOG] * 3)
            source.finalize(3)
            await source.tell()
            await world.until_at(source.head)
            with world.chain.snapshot() as view:
                final = view.hash_of(view.number - 3)
            await world.follower._head_tracker.mark(safe=final, finalized=final)
        await world.until(lambda: earliest(world) == 81)
        require_equal(world, source)
        assert found_logs(world) == 60


async def test_the_window_moves_on_though_the_head_is_always_a_few_blocks_ahead(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise what is final may have been asked for already, and again only when our head has moved.
    monkeypatch.setattr(finality, "EVERY_BLOCKS", 0)
    async with opened("a", blocks=60, final=40) as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        await world.until(lambda: earliest(world) == 20)
        source.finalize(2)
        source.grow(3)
        # Nobody has the new head yet.
        for method in ("debug_getRawBlock", "eth_getBlockByHash"):
            source.overrides[method] = lambda _params: None
        await source.tell()
        await world.until_stage(SyncStage.CATCHING_UP)
        await world.until(lambda: earliest(world) == 41)
        assert world.follower.stage is SyncStage.CATCHING_UP


async def test_what_is_not_final_yet_is_not_pruned(opened: Open) -> None:
    async with opened("a", blocks=60, final=10) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].grow(40)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert world.follower.light is not None
        while await world.follower.light.window.step():
            pass
        assert earliest(world) == 50


async def test_a_short_chain_without_a_final_block_begins_at_its_genesis(opened: Open) -> None:
    async with opened("a", blocks=12, final=12) as (world, sources):
        sources["a"].overrides["eth_getBlockByNumber"] = lambda params: (
            Error(-32000, "finalized block not found") if params[0] == "finalized" else NOT_SAID
        )
        await world.until_at(sources["a"].head)
        assert earliest(world) == 0
        require_equal(world, sources["a"])


async def test_a_window_longer_than_the_chain_is_filled_down_to_the_genesis(opened: Open) -> None:
    async with opened("a", blocks=40, kind=FolderKind(50, is_light=True), final=2) as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until(lambda: earliest(world) == 0)
        require_equal(world, sources["a"])
        # Both know it, so nobody is asked for it.
        assert sources["a"].asked["eth_getBlockReceipts"] == 40


async def test_a_checkpoint_is_where_a_folder_begins(
    opened: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "wsnode.follow")
    with growing_chain(tmp_path / "same") as same:
        checkpoint = [same.grow() for _ in range(40)][-1].hash
    async with opened("a", kind=FolderKind(30, is_light=True), final=2, checkpoint=checkpoint) as (
        world,
        sources,
    ):
        await world.until_at(sources["a"].head)
        assert f"the folder begins at block 40 0x{checkpoint.hex()}" in caplog.messages
        assert f"begun at checkpoint 0x{checkpoint.hex()}" in world.follower.status()["trust"]


async def test_a_checkpoint_that_nobody_has_begins_nothing(opened: Open) -> None:
    async with opened("a", checkpoint=Hash32(bytes(32))) as (world, sources):
        await world.until(lambda: sources["a"].asked["debug_getRawBlock"] > 3)
        assert not world.chain.has_begun
        assert world.follower.not_ready_reason() is not None


async def test_a_reorganisation_is_followed_without_executing_anything(opened: Open) -> None:
    async with opened("a", blocks=30) as (world, sources):
        await world.until_at(sources["a"].head)
        world.changes.clear()
        sources["a"].growing.reorganise(3, [[LOG], [LOG, LOG], [], [LOG]])
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert [(len(change.removed), len(change.added)) for change in world.changes] == [(3, 4)]
        require_equal(world, sources["a"])


async def test_a_long_reorganisation_is_fetched_by_numbers(opened: Open) -> None:
    async with opened("a", blocks=60, final=55) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].growing.reorganise(20, [[LOG]] * 60)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        require_equal(world, sources["a"])


async def test_the_head_does_not_go_back_at_the_end_of_a_long_way(opened: Open) -> None:
    async with opened("a", blocks=60, final=55) as (world, sources), trio.open_nursery() as nursery:
        source, tracker = sources["a"], world.follower._head_tracker
        await world.until_at(source.head)
        source.growing.reorganise(20, [[LOG]] * 60)
        head, chosen = source.head, list[Head]()

        async def choose() -> None:
            chosen.append(world.chain.head)
            await tracker.choose()

        def answer(_params: list[Any]) -> Any:
            if world.chain.head == head and not chosen:
                nursery.start_soon(choose)
            return NOT_SAID

        source.overrides["eth_getBlockReceipts"] = answer
        await source.tell()
        await world.until_at(head)
        await world.until(lambda: bool(chosen) and world.upstream("a").head == head)
        await tracker.choose()
        assert chosen == [head]
        assert (world.chain.head, tracker.reorganisations) == (head, 1)


async def test_two_upstreams_must_agree_on_the_first_block(opened: Open) -> None:
    async with opened("a", "b", agree=2, blocks=40) as (world, sources):
        await world.until(lambda: world.chain.has_begun)
        await world.until_at(sources["a"].head)


@pytest.mark.parametrize("answer", ["genesis", "garbage", "refusal"])
async def test_an_upstream_that_lies_of_what_is_final_does_not_choose_the_first_block(
    opened: Open, answer: str
) -> None:
    kind = FolderKind(10, is_light=True)
    async with opened("liar", "one", "two", agree=2, blocks=40, kind=kind, final=2) as (world, sources):
        first = sources["one"]._ask("eth_getBlockByNumber", "0x0", False)["result"]
        told = {"genesis": first, "garbage": "0x", "refusal": Error(-32602, "invalid block tag")}[answer]
        sources["liar"].overrides["eth_getBlockByNumber"] = lambda params: (
            told if params[0] == "finalized" else NOT_SAID
        )
        await world.until_at(sources["one"].head)
        assert sources["one"].asked["eth_getBlockByNumber"] < 40
        # It begins at block 38, and its window may be filled before the two blocks above that have come.
        assert earliest(world) >= 29
        assert {world.state_of(name)[0] for name in ("one", "two")} == {"followed"}


def dropped_log(receipts: list[Any]) -> list[Any]:
    receipts[0]["logs"] = receipts[0]["logs"][1:]
    return receipts


def changed_topic(receipts: list[Any]) -> list[Any]:
    receipts[0]["logs"][0]["topics"] = []
    return receipts


def without_logs(receipts: list[Any]) -> list[Any]:
    return [receipt | {"logs": [], "logsBloom": f"0x{'00' * 256}"} for receipt in receipts]


def one_missing(receipts: list[Any]) -> list[Any]:
    return receipts[1:]


def failed(receipts: list[Any]) -> list[Any]:
    receipts[0]["status"] = "0x0"
    return receipts


@pytest.mark.parametrize("lie", [dropped_log, changed_topic, without_logs, one_missing, failed])
async def test_an_upstream_that_lies_of_receipts_is_quarantined_and_another_is_asked(
    opened: Open, lie: Any
) -> None:
    async with opened("liar", "honest", blocks=40) as (world, sources):
        await world.until_at(sources["honest"].head)
        await world.until(lambda: world.follower.peers == 2 and earliest(world) == 21)
        for source in sources.values():
            source.growing.grow([LOG, LOG])
        liar = sources["liar"]

        def lying(params: list[Any]) -> Any:
            receipts = liar._ask("eth_getBlockReceipts", *params)["result"]
            # Blocks below the window's beginning, which are still fetched, have none.
            return lie(msgspec.json.decode(msgspec.json.encode(receipts))) if receipts else NOT_SAID

        liar.overrides["eth_getBlockReceipts"] = lying
        await liar.tell()
        await world.until(lambda: world.state_of("liar")[0] == "quarantined")
        assert world.state_of("liar")[1].startswith("its receipts of block 41 are wrong: block 41")
        await sources["honest"].tell()
        await world.until_at(sources["honest"].head)
        require_equal(world, sources["honest"])
        assert found_logs(world) == 2


FOREIGN = {
    "withdrawals": [{"index": "0x1", "validatorIndex": "0x1", "address": "0x" + "11" * 20, "amount": "0x1"}]
}
"""A withdrawal that is in no block."""


TRANSACTION = {
    "type": "0x2",
    "chainId": "0x1",
    "nonce": "0x0",
    "from": "0x" + "11" * 20,
    "to": "0x" + "11" * 20,
    "gas": "0x5208",
    "maxFeePerGas": "0x1",
    "maxPriorityFeePerGas": "0x1",
    "value": "0x0",
    "input": "0x",
    "accessList": [],
    "yParity": "0x0",
    "v": "0x0",
    "hash": "0x" + "00" * 32,
}
UNSIGNED = {"transactions": [TRANSACTION | {"r": "0x0", "s": "0x0"}]}
"""A transaction that no key has signed."""
WRONG_BODY = "has a body that is not its header's"


def give_wrong_bodies(source: Source, below: int = 1000, body: Mapping[str, Any] = FOREIGN) -> None:
    """Have an upstream answer with blocks whose headers are right, and whose bodies are not theirs."""

    def lying(method: str) -> Override:
        def lie(params: list[Any]) -> Any:
            block: Any = source._ask(method, *params).get("result")
            is_lie = block is not None and params[1] and int(block["number"], 16) < below
            return block | body if is_lie else NOT_SAID

        return lie

    source.overrides["debug_getRawBlock"] = lambda _params: Error(-32601, "no debug_getRawBlock")
    for method in ("eth_getBlockByNumber", "eth_getBlockByHash"):
        source.overrides[method] = lying(method)


async def test_an_upstream_that_lies_of_the_first_block_is_quarantined_and_no_other(opened: Open) -> None:
    async with opened("liar", "one", "two", agree=2, blocks=40) as (world, sources):
        give_wrong_bodies(sources["liar"])
        for name in ("one", "two"):
            world.slow_down(name)
        await world.until_at(sources["one"].head)
        assert world.state_of("liar")[0] == "quarantined"
        assert world.state_of("liar")[1].endswith(WRONG_BODY)
        assert {world.state_of(name)[0] for name in ("one", "two")} == {"followed"}


@pytest.mark.parametrize("body", [FOREIGN, UNSIGNED])
async def test_an_upstream_that_lies_of_blocks_below_is_quarantined_and_others_fill_the_window(
    opened: Open, body: Mapping[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("liar", "honest", blocks=60, kind=FolderKind(50, is_light=True), final=2) as (
        world,
        sources,
    ):
        world.slow_down("honest")
        give_wrong_bodies(sources["liar"], 58, body)
        await world.until_at(sources["honest"].head)
        await world.until(lambda: earliest(world) == 11)
        assert world.state_of("liar")[0] == "quarantined"
        assert sum(message.startswith("ws://liar is quarantined: ") for message in caplog.messages) == 1
        require_equal(world, sources["honest"])


async def test_receipts_that_are_null_at_first_are_asked_for_again(opened: Open) -> None:
    async with opened("a", blocks=30) as (world, sources):
        await world.until_at(sources["a"].head)
        nulls = iter([None, None])
        sources["a"].overrides["eth_getBlockReceipts"] = lambda params: next(nulls, NOT_SAID)
        sources["a"].growing.grow([LOG])
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert next(nulls, NOT_SAID) is NOT_SAID


async def test_an_upstream_without_a_common_first_block_is_not_followed_into_a_gap(opened: Open) -> None:
    async with opened("a", blocks=50) as (world, sources):
        await world.until(lambda: earliest(world) == 31)
        head = world.chain.head
        sources["a"].growing.reorganise(25, [[]] * 30)
        await sources["a"].tell()
        await world.until(lambda: world.state_of("a")[0] == "quarantined")
        assert world.chain.head == head
        assert Hash32(head.hash) == world.hub.head.hash
