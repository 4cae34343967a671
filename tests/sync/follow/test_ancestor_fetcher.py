"""Blocks that one upstream has announced and cannot give yet, and others can."""

from collections.abc import Callable
from math import inf
from pathlib import Path

import msgspec
import pytest
import trio

from tests.sync.follow.world import Open, Source, followed, sources_of
from wsnode.ethereum.codec.blocks import encode_json_block
from wsnode.sync.follow.blocks import block_client
from wsnode.sync.follow.blocks.ancestor_fetcher import patience
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.upstream.client import Score


async def test_one_that_has_no_block_yet_holds_up_no_other(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_client, "MAX_DELAYS", inf)
    with sources_of(tmp_path, ("a", "b"), nursery) as sources:
        async with followed(tmp_path, sources) as world:
            await world.until_stage(SyncStage.LIVE)
            await world.until(lambda: world.follower.peers == 2)
            for upstream in world.follower.upstreams:
                for _ in range(200):
                    upstream.client.score.answered(1000.0)
            for source in sources.values():
                source.grow()
            sources["a"].overrides["debug_getRawBlock"] = lambda params: None
            await sources["a"].tell()
            await world.until(lambda: sources["a"].asked["debug_getRawBlock"] > 0)
            await sources["b"].tell()
            await world.until_at(sources["b"].head)


async def test_a_block_that_is_replaced_before_it_is_there_is_waited_for_no_longer(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_client, "MAX_DELAYS", inf)
    async with opened("a") as (world, sources):
        source = sources["a"]
        await world.until_at(source.head)
        asked = source.asked["debug_getRawBlock"]
        await source.tell(hash=f"0x{7:064x}", number=hex(source.head.number + 1))
        await world.until(lambda: source.asked["debug_getRawBlock"] > asked)
        source.grow()
        await source.tell()
        await world.until_at(source.head)
        assert world.state_of("a")[0] == "followed"


def with_another_body(source: Source) -> bytes:
    """Return the RLP of a source's head with a withdrawal more, which its header says nothing of."""
    block = source._ask("eth_getBlockByNumber", "latest", True)["result"]
    withdrawal = {"index": "0x0", "validatorIndex": "0x0", "address": f"0x{bytes(20).hex()}", "amount": "0x1"}
    return encode_json_block(msgspec.json.encode({**block, "withdrawals": [withdrawal]}), [])


def with_a_broken_signature(source: Source) -> bytes:
    """Return the RLP of a source's head with a transaction that nobody can have signed."""
    block = source._ask("eth_getBlockByNumber", "latest", True)["result"]
    signature = {"v": "0x1b", "r": f"0x{'ff' * 32}", "s": "0x1"}
    numbers = dict.fromkeys(("type", "nonce", "gasPrice", "value"), "0x0")
    names = dict.fromkeys(("from", "to"), f"0x{bytes(20).hex()}") | {"hash": f"0x{bytes(32).hex()}"}
    broken = {**numbers, **names, "gas": "0x5208", "input": "0x", **signature}
    return encode_json_block(msgspec.json.encode({**block, "transactions": [broken]}), [])


def of_another_hash(source: Source) -> bytes:
    """Return the RLP of the block below a source's head."""
    below = hex(source.head.number - 1)
    return bytes.fromhex(source._ask("debug_getRawBlock", below)["result"][2:])


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (with_another_body, "it sent an invalid block: block 1 has a body that is not its header's"),
        (with_a_broken_signature, "transaction_signature"),
        (of_another_hash, "has another hash"),
    ],
)
async def test_what_is_wrong_with_a_block_is_held_against_the_upstream_that_sent_it(
    tmp_path: Path,
    nursery: trio.Nursery,
    monkeypatch: pytest.MonkeyPatch,
    lie: Callable[[Source], bytes],
    reason: str,
) -> None:
    monkeypatch.setattr(block_client, "MAX_DELAYS", 0)
    with sources_of(tmp_path, ("announcer", "liar"), nursery) as sources:
        async with followed(tmp_path, sources) as world:
            await world.until_stage(SyncStage.LIVE)
            await world.until(lambda: world.follower.peers == 2)
            for source in sources.values():
                source.grow()
            told = f"0x{lie(sources['liar']).hex()}"
            sources["announcer"].overrides["debug_getRawBlock"] = lambda params: None
            sources["liar"].overrides["debug_getRawBlock"] = lambda params: told
            await sources["announcer"].tell()
            await world.until(lambda: world.state_of("liar")[0] == "quarantined")
            assert reason in world.state_of("liar")[1]
            assert world.state_of("announcer") == ("followed", "")
            announcer = world.upstream("announcer")
            await world.until(lambda: announcer.announced == announcer.head)
            del sources["announcer"].overrides["debug_getRawBlock"]
            await sources["announcer"].tell()
            await world.until_at(sources["announcer"].head)
            assert world.state_of("announcer") == ("followed", "")


def test_nobody_waits_behind_one_that_is_worse() -> None:
    good, slow, failing = Score(), Score(), Score()
    for _ in range(20):
        good.answered(0.01)
        slow.answered(0.5)
        failing.answered(0.01)
        failing.failed()
    assert patience(good, slow) == patience(good, failing) == 0
    assert patience(slow, good) == 0.5
    assert patience(good, good) == 0.01
