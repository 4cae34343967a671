"""Following upstreams whose chains grow, are reorganised, lie, lag and go away."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ethereum.live.growing import emitting_genesis
from tests.sync.follow.world import HEADS, NOT_SAID, Open, Override, Source
from tests.upstream.providers import Error
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.follow import identity_check
from wsnode.sync.follow.blocks import batch_fetcher
from wsnode.sync.follow.follower import Follower
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.follow.upstream import PeerError, PeerState
from wsnode.sync.follow.upstream_txs import UpstreamTransactions
from wsnode.sync.progress import NullProgress
from wsnode.upstream.address import UpstreamAddress


async def test_what_is_there_is_fetched_and_what_comes_is_followed(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)
        assert world.follower.not_ready_reason() is None
        for _ in range(3):
            sources["a"].grow()
            await sources["a"].tell()
            await world.until_at(sources["a"].head)
        assert sum(len(change.added) for change in world.changes) == 6
        assert world.follower.lag == 0


async def test_blocks_told_only_by_their_last_are_all_fetched(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        sources["a"].grow(20)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)


async def test_a_long_way_is_fetched_by_numbers_and_a_short_one_by_hashes(opened: Open) -> None:
    async with opened("a", blocks=150) as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)
        raw = sources["a"].asked["debug_getRawBlock"]
        sources["a"].grow(5)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert sources["a"].asked["debug_getRawBlock"] == raw + 5


async def test_a_long_way_is_fetched_in_batches(opened: Open) -> None:
    async with opened("a", blocks=150) as (world, sources):
        await world.until_at(sources["a"].head)
        assert 3 <= len(sources["a"].provider.batches) < 30
        # What is small is asked for in ever larger batches.
        assert max(sources["a"].provider.batches) > 30


@pytest.mark.parametrize("most", [1, 5])
async def test_an_upstream_that_refuses_batches_is_asked_block_by_block(most: int, opened: Open) -> None:
    async with opened("a", blocks=0) as (world, sources):
        sources["a"].provider.most_batched = most
        sources["a"].grow(100)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert world.follower.upstreams.all[0].takes_batches is (most > 1)


async def test_blocks_that_a_batch_leaves_out_are_asked_for_alone(opened: Open) -> None:
    async with opened("a", blocks=0) as (world, sources):
        nulls = iter([None] * 5)
        sources["a"].overrides["debug_getRawBlock"] = lambda params: (
            next(nulls, NOT_SAID) if params[0] in ("0x7", "0x30", "0x31") else NOT_SAID
        )
        sources["a"].grow(100)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)


async def test_blocks_of_several_upstreams_make_one_chain(opened: Open) -> None:
    async with opened("a", "b", blocks=120) as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until_stage(SyncStage.LIVE)


async def test_an_upstream_without_raw_blocks_is_asked_for_json(opened: Open) -> None:
    async with opened("a", blocks=0) as (world, sources):
        sources["a"].overrides["debug_getRawBlock"] = lambda params: Error(-32601, "does not exist")
        sources["a"].grow(80)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert sources["a"].asked["eth_getBlockByNumber"] > 70


async def test_a_reorganisation_is_one_change(opened: Open) -> None:
    async with opened("a", blocks=5) as (world, sources):
        await world.until_at(sources["a"].head)
        world.changes.clear()
        sources["a"].growing.reorganise(3, [[], [], [], []])
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert [(len(change.removed), len(change.added)) for change in world.changes] == [(3, 4)]
        assert world.follower.reorganisations == 1


async def test_a_shorter_branch_is_followed_if_the_upstream_is_on_it(opened: Open) -> None:
    async with opened("a", blocks=5) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].growing.reorganise(3, [[]])
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert world.chain.head.number == 3


async def test_a_head_that_goes_back_and_stays_there_is_followed(opened: Open) -> None:
    async with opened("a", blocks=5) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].growing.shrink(2)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert (world.changes[-1].removed, world.changes[-1].added) != ((), ())


async def test_an_upstream_that_only_lags_takes_nothing_back(opened: Open) -> None:
    async with opened("a", "b", blocks=4) as (world, sources):
        await world.until_at(sources["a"].head)
        await world.until(lambda: world.follower.peers == 2)
        sources["a"].grow(2)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        await sources["b"].tell()
        head = world.chain.head
        sources["a"].provider.is_gone = True
        await sources["a"].provider.close()
        await world.until(lambda: world.follower.peers == 1)
        await world.follower._head_tracker.choose()
        assert world.chain.head == head


async def test_a_block_that_is_null_at_first_is_asked_for_again(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        nulls = iter([None, None, None])
        sources["a"].overrides["debug_getRawBlock"] = lambda params: next(nulls, NOT_SAID)
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert next(nulls, NOT_SAID) is NOT_SAID


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("eth_chainId", "0x5", "it is chain 5, not 1"),
        ("eth_chainId", None, "its eth_chainId result is no hexadecimal quantity: None"),
    ],
)
async def test_an_upstream_of_another_chain_is_quarantined_by_name(
    method: str, answer: Any, words: str, opened: Open
) -> None:
    async with opened("a", "b") as (world, sources):
        sources["b"].overrides[method] = lambda params: answer
        await world.until(lambda: world.state_of("b")[0] == "quarantined")
        assert words in world.state_of("b")[1]
        await world.until_at(sources["a"].head)
        assert world.follower.peers == 1


async def test_an_upstream_of_another_genesis_is_quarantined(opened: Open) -> None:
    def other(params: list[Any]) -> Any:
        return (
            NOT_SAID if params[0] != "0x0" else {"hash": f"0x{'11' * 32}", "number": "0x0", "parentHash": ""}
        )

    async with opened("a") as (world, sources):
        sources["a"].overrides["eth_getBlockByNumber"] = other
        await world.until(lambda: world.state_of("a")[0] == "quarantined")
        assert "its genesis block is 0x1111" in world.state_of("a")[1]
        assert world.chain.head.number == 0


async def test_a_block_with_another_hash_is_never_served(opened: Open) -> None:
    def changed(params: list[Any]) -> Any:
        source = sources["b"]
        block = source._ask("eth_getBlockByHash", *params)["result"]
        return block | {"stateRoot": f"0x{'11' * 32}"}

    async with opened("a", "b", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        sources["b"].overrides["debug_getRawBlock"] = lambda params: Error(-32601, "does not exist")
        sources["b"].overrides["eth_getBlockByHash"] = changed
        sources["b"].grow()
        await sources["b"].tell()
        await world.until(lambda: world.state_of("b")[0] == "quarantined")
        assert "another hash" in world.state_of("b")[1]
        sources["a"].grow(2)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)


async def test_an_upstream_that_is_quarantined_for_a_while_by_another_task_comes_back(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_check, "RECHECK_SECONDS", 0.01)
    async with opened("a", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 1)
        (upstream,) = world.follower.upstreams
        upstream.quarantine(PeerError("its chain leaves ours", is_forked=True))
        await world.until(lambda: world.state_of("a")[0] == "followed")
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        upstream.quarantine(PeerError("it sent an invalid block", permanent=True))
        await world.until(lambda: world.follower.peers == 0)
        assert world.state_of("a")[0] == "quarantined"


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="nested"),
        pytest.param(b'"0x' + b"f" * 5000 + b'"', id="a long number"),
        pytest.param(b"9" * 5000, id="a long integer"),
        pytest.param(b'{"hash":"0x%b","number":"0x%b"}' % (b"1" * 64, b"f" * 5000), id="a long height"),
    ],
)
@pytest.mark.parametrize(
    "method", ["eth_chainId", "eth_getBlockByNumber", "eth_subscribe", "debug_getRawBlock"]
)
async def test_an_answer_that_cannot_be_decoded_stops_following_of_its_sender_alone(
    method: str, answer: bytes, opened: Open
) -> None:
    async with opened("a", "b") as (world, sources):
        await world.until_at(sources["b"].head)
        sources["a"].overrides[method] = lambda _params: msgspec.Raw(answer)
        await sources["a"].provider.close()
        for _ in range(3):
            sources["b"].grow()
            await sources["b"].tell()
            await world.until_at(sources["b"].head)


async def test_an_announcement_that_cannot_be_decoded_counts_against_its_sender(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        await sources["a"].provider.tell(HEADS, msgspec.Raw(b"[" * 100_000 + b"]" * 100_000))
        await world.until(lambda: world.upstream("a").client.score.failures > 0)
        sources["a"].grow()
        await world.until_at(sources["a"].head)


async def test_an_invalid_block_quarantines_the_upstream_that_sent_it(opened: Open) -> None:
    async with opened("a", "b", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        block, encoded = invalid_block(sources["b"])
        sources["b"].overrides["debug_getRawBlock"] = lambda params: f"0x{encoded.hex()}"
        await sources["b"].provider.tell("0x1", block)
        await world.until(lambda: world.state_of("b")[0] == "quarantined")
        assert "invalid block: block 1 " in world.state_of("b")[1]
        assert "state_root" in world.state_of("b")[1]
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)


async def test_marks_take_back_nothing_that_is_executed_and_not_stored_yet(opened: Open) -> None:
    async with opened("a", blocks=5) as (world, sources):
        await world.until_at(sources["a"].head)
        head, advance = world.chain.head, world.follower._head_tracker
        assert await advance.mark(safe=head.hash, finalized=head.hash)
        with world.chain.snapshot() as view:
            assert (view.safe, view.finalized) == (5, 5)
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        last = world.chain.head
        assert await advance.mark(safe=last.hash, finalized=head.hash)
        assert world.chain.head == sources["a"].head
        with world.chain.snapshot() as view:
            assert (view.safe, view.finalized) == (6, 5)
        assert not await advance.mark(safe=Hash32(bytes(32)), finalized=head.hash)


async def test_no_version_of_the_store_is_held_while_upstreams_say_what_is_final(opened: Open) -> None:
    async with opened("a", final=1) as (world, sources):
        held = dict[str, int]()

        def note(params: list[Any]) -> Any:
            if params[0] in ("safe", "finalized"):
                held[params[0]] = world.chain.store.versions
            return NOT_SAID

        sources["a"].overrides["eth_getBlockByNumber"] = note
        await world.until_stage(SyncStage.LIVE)
        await world.until(lambda: len(held) == 2)
        assert held == {"safe": 0, "finalized": 0}


def with_an_invalid_block(source: Source) -> None:
    """Have a source grow by 61 blocks, and give another one than its own for the 21st."""
    source.grow(20)
    _, encoded = invalid_block(source)
    source.grow(40)
    source.overrides["debug_getRawBlock"] = lambda params: (
        f"0x{encoded.hex()}" if params == [hex(21)] else NOT_SAID
    )


async def test_an_invalid_block_on_a_long_way_quarantines_the_upstream_that_gave_it(opened: Open) -> None:
    async with opened("a", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 1)
        with_an_invalid_block(sources["a"])
        await sources["a"].tell()
        await world.until(lambda: world.state_of("a")[0] == "quarantined")
        assert "invalid block: block 21 " in world.state_of("a")[1]
        await world.until(lambda: world.chain.head.number == 20)


async def test_beside_one_that_gives_an_invalid_block_another_is_asked(opened: Open) -> None:
    async with opened("a", "b", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        with_an_invalid_block(sources["a"])
        sources["b"].grow(61)
        await sources["a"].tell()
        await sources["b"].tell()
        await world.until_at(sources["b"].head)


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "JSON"])
async def test_a_block_of_another_number_is_not_the_one_that_was_asked_for(
    opened: Open, raw: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(batch_fetcher, "PAUSE_SECONDS", 0.001)

    def first(method: str) -> Override:
        return lambda params: sources["a"]._ask(method, "0x1", *params[1:])["result"]

    async with opened("a", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 1)
        sources["a"].grow(61)
        if raw:
            sources["a"].overrides["debug_getRawBlock"] = first("debug_getRawBlock")
        else:
            sources["a"].overrides["debug_getRawBlock"] = lambda params: Error(-32601, "does not exist")
            whole = first("eth_getBlockByNumber")
            sources["a"].overrides["eth_getBlockByNumber"] = lambda params: (
                whole(params) if params[1] else NOT_SAID
            )
        await sources["a"].tell()
        await world.until(lambda: "has the number 1" in caplog.text)
        assert world.chain.head.number <= 1


async def test_beside_one_that_gives_another_block_another_upstream_is_asked(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_fetcher, "PAUSE_SECONDS", 0.001)
    async with opened("a", "b", blocks=0) as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        for source in sources.values():
            source.grow(61)
        first = sources["a"]._ask("debug_getRawBlock", "0x1")["result"]
        sources["a"].overrides["debug_getRawBlock"] = lambda params: first
        await sources["a"].tell()
        await sources["b"].tell()
        await world.until_at(sources["b"].head)


async def test_a_long_branch_replaces_ours_in_one_change(opened: Open) -> None:
    async with opened("a", blocks=60) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["a"].provider.is_gone = True
        await sources["a"].provider.close()
        await world.until(lambda: world.follower.peers == 0)
        world.changes.clear()
        sources["a"].growing.reorganise(30, [[]] * 50)
        sources["a"].provider.is_gone = False
        await world.until_at(sources["a"].head)
        assert sum(len(change.removed) for change in world.changes) == 30
        assert world.follower.reorganisations == 1


def invalid_block(source: Source) -> tuple[dict[str, Any], bytes]:
    """Return a block whose state root is wrong and whose hash is right, as JSON and as RLP."""
    from wsnode.ethereum.codec.blocks import encode_json_block
    from wsnode.ethereum.codec.rlp import block_hash

    source.grow()
    block = source._ask("eth_getBlockByNumber", "latest", True)["result"] | {"stateRoot": f"0x{'11' * 32}"}
    encoded = encode_json_block(msgspec.json.encode(block), [])
    found = block_hash(encoded)
    assert found is not None
    return block | {"hash": f"0x{found.hex()}"}, encoded


async def test_two_that_agree_outvote_a_third_that_is_ahead(opened: Open) -> None:
    async with opened("a", "b", "c", blocks=3, agree=2) as (world, sources):
        await world.until_at(sources["a"].head)
        sources["c"].grow(2)
        await sources["c"].tell()
        await world.until(lambda: world.follower.upstreams.all[2].head == sources["c"].head)
        assert world.chain.head == sources["a"].head
        # Blocks of growing chains are equal where they were made alike.
        sources["a"].grow(1)
        await sources["a"].tell()
        await world.until_at(sources["a"].head)


async def test_upstreams_that_replace_what_is_final_stop_following(opened: Open, tmp_path: Path) -> None:
    async with opened("a", blocks=5) as (world, sources):
        await world.until_at(sources["a"].head)
        world.chain.mark_final(world.chain.head)
        head = world.chain.head
        sources["a"].growing.reorganise(3, [[], [], [], []])
        await sources["a"].tell()
        await world.until_stage(SyncStage.STOPPED)
        assert "leaves ours below block 5" in world.state_of("a")[1]
        assert (
            world.follower.not_ready_reason()
            == "following stopped: what is final here was replaced elsewhere"
        )
        assert world.chain.head == head


async def test_what_is_final_can_be_given_up(opened: Open) -> None:
    async with opened("a", blocks=5, accept_finalized_reorg=True) as (world, sources):
        world.chain.mark_final(world.chain.head)
        await world.until_at(sources["a"].head)


async def test_an_upstream_that_comes_back_is_followed_again(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        await sources["a"].provider.close()
        sources["a"].grow(2)
        await world.until_at(sources["a"].head)
        assert len(sources["a"].provider.connections) == 2


async def test_an_upstream_that_tells_nothing_is_asked(opened: Open) -> None:
    async with opened("a") as (world, sources):
        sources["a"].overrides["eth_subscribe"] = lambda params: Error(-32601, "no subscriptions")
        await world.until_stage(SyncStage.LIVE)
        sources["a"].grow()
        await world.until_at(sources["a"].head)


async def test_silence_is_noticed_and_the_head_asked_for(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        sources["a"].grow()
        # It is not announced.
        await world.until_at(sources["a"].head)


async def test_upstreams_can_be_replaced_while_it_runs(opened: Open) -> None:
    async with opened("a", "b", blocks=2) as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        kept = [each.client.address for each in world.follower.upstreams][:1]
        world.follower.follow(kept, 1)
        await world.until(lambda: world.follower.peers == 1)
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert [upstream["state"] for upstream in world.follower.status()["upstreams"]] == ["followed"]


@pytest.mark.parametrize(
    ("lags", "readiness"),
    [
        ([0, 1, 2, 1, 2, 0, 2], [True] * 7),
        ([0, 3, 2, 1, 2, 3, 1, 0, 1], [True, *[False] * 6, True, True]),
        ([1, 2, 1, 0, 2, 40, 2, 0], [False, False, False, True, True, False, False, True]),
        ([0, None, 1, None, 3, None, 2, 0], [True, True, True, True, False, False, False, True]),
    ],
)
async def test_a_node_near_the_head_is_not_ready_and_unready_by_turns(
    tmp_path: Path, lags: list[int | None], readiness: list[bool]
) -> None:
    with Chain.open(tmp_path / "ours", emitting_genesis(), writer=True, durable=False) as chain:
        addresses = [UpstreamAddress.parse("ws://a/")]
        hub = Hub(chain)
        heard = UpstreamTransactions(chain.spec, hub.pending.announce)
        follower = Follower(chain, LiveTree(BlockTree(chain), hub), addresses, NullProgress(), heard)
        (upstream,) = follower.upstreams
        seen = []
        for lag in lags:
            upstream.standing = PeerState.UNREACHABLE if lag is None else PeerState.FOLLOWED
            head = Head(BlockNumber(lag or 0), Hash32(bytes(32)))
            upstream.announced = None if lag is None else head
            follower.announced(upstream, head)
            seen.append(follower.not_ready_reason() is None)
            assert follower.announced_height() == lag
        assert seen == readiness


@pytest.mark.parametrize(
    "number", ["0x1" + "0" * 16, "0x" + "f" * 5000, "-0x1", "0x_1", " 0x1", "0x", "0x01", "1", ""]
)
async def test_an_announcement_of_no_block_number_is_not_believed(opened: Open, number: str) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        told = {"hash": "0x" + "11" * 32, "parentHash": "0x" + "22" * 32, "number": number}
        await sources["a"].provider.tell(HEADS, told)
        sources["a"].grow()
        await sources["a"].tell()
        await world.until_at(sources["a"].head)
        assert world.follower.highest == sources["a"].head.number
        assert world.follower.progress is None


async def test_an_announcement_of_the_highest_number_is_one(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until_stage(SyncStage.LIVE)
        told = {"hash": "0x" + "11" * 32, "parentHash": "0x" + "22" * 32, "number": hex(2**64 - 1)}
        await sources["a"].provider.tell(HEADS, told)
        await world.until(lambda: world.follower.highest == 2**64 - 1)
