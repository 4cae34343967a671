"""Transactions that are sent through a follower, and those that it hears of."""

from typing import Any

import pytest
import trio

from tests.ethereum.live.growing import SECRET
from tests.sync.follow.world import NOT_SAID, Open, Source, World
from tests.upstream.providers import Error
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.state import sign_transaction
from wsnode.upstream.errors import SendFailedError

PENDING = "0x2"


def signed(nonce: int = 0) -> bytes:
    return sign_transaction(
        SECRET,
        chain_id=1,
        nonce=nonce,
        to=bytes(20),
        value=1,
        input=b"",
        gas=21_000,
        max_fee=10**12,
        max_priority_fee=1,
    )


def says(source: Source, answer: Any) -> list[str]:
    """Have a source answer to what it is sent, and return what that is."""
    taken: list[str] = []

    def answered(params: list[Any]) -> Any:
        taken.append(params[0])
        return answer

    source.overrides["eth_sendRawTransaction"] = answered
    return taken


async def test_a_transaction_goes_to_all_and_one_that_takes_it_is_enough(opened: Open) -> None:
    async with opened("a", "b", "c") as (world, sources):
        await world.until(lambda: world.follower.peers == 3)
        hashed = f"0x{keccak256(signed()).hex()}"
        taken = [
            says(sources["a"], Error(-32000, "txpool is full")),
            says(sources["b"], hashed),
            says(sources["c"], Error(-32005, "too many requests")),
        ]
        await world.follower.send(signed())
        await world.until(lambda: taken == [[f"0x{signed().hex()}"]] * 3)


@pytest.mark.parametrize("words", ["already known", "Transaction already imported", "ALREADY KNOWN: x"])
async def test_one_that_has_it_already_has_taken_it(words: str, opened: Open) -> None:
    async with opened("a", "b") as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        says(sources["a"], Error(-32000, words))
        says(sources["b"], Error(-32000, "txpool is full"))
        await world.follower.send(signed())


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((Error(-32005, "too many requests"), Error(-32000, "nonce too low")), "nonce too low"),
        ((Error(-32000, "nonce too low"), Error(-32000, "underpriced")), "nonce too low|underpriced"),
        ((Error(-32005, "too many"), Error(-32005, "too many")), "no upstream can be asked: too many"),
    ],
    ids=["one knows why", "both know why", "neither looks at it"],
)
async def test_if_none_takes_it_the_best_reason_is_told(
    answers: tuple[Error, Error], words: str, opened: Open
) -> None:
    async with opened("a", "b") as (world, sources):
        await world.until(lambda: world.follower.peers == 2)
        for name, answer in zip("ab", answers, strict=True):
            says(sources[name], answer)
        with pytest.raises(SendFailedError, match=words):
            await world.follower.send(signed())


async def test_without_upstreams_nothing_is_sent(opened: Open) -> None:
    async with opened("a") as (world, sources):
        await world.until(lambda: world.follower.peers == 1)
        sources["a"].provider.is_gone = True
        await sources["a"].provider.close()
        await world.until(lambda: world.follower.peers == 0)
        with pytest.raises(SendFailedError, match="none is followed"):
            await world.follower.send(signed())


def with_pool(source: Source, transactions: dict[str, str]) -> None:
    """Have a source announce pending transactions, and return them by hash."""

    def subscribed(params: list[Any]) -> Any:
        return PENDING if params[0] == "newPendingTransactions" else NOT_SAID

    source.overrides["eth_subscribe"] = subscribed
    source.overrides["eth_getRawTransactionByHash"] = lambda params: transactions.get(params[0])


def by_hash(*encoded: bytes) -> dict[str, str]:
    return {f"0x{keccak256(each).hex()}": f"0x{each.hex()}" for each in encoded}


async def listening(world: World, sources: dict[str, Source]) -> None:
    await world.until(lambda: world.follower.peers == len(sources))
    for source in sources.values():
        # One for heads, and one for transactions.
        await world.until(lambda source=source: source.asked["eth_subscribe"] == 2)  # type: ignore[misc]
    await trio.testing.wait_all_tasks_blocked(0.05)


async def test_what_upstreams_have_pending_is_told_once(opened: Open) -> None:
    known = by_hash(signed(0), signed(1))
    async with opened("a", "b") as (world, sources):
        for source in sources.values():
            with_pool(source, known)
        await listening(world, sources)
        for source in sources.values():
            for transaction_hash in known:
                await source.provider.tell(PENDING, transaction_hash)
        await world.until(lambda: world.hub.pending.count == 2)
        await trio.testing.wait_all_tasks_blocked(0.05)
        # They are fetched together, so they come in any order.
        assert sorted(f"0x{each.hash.hex()}" for each in world.hub.pending.since(0)) == sorted(known)
        assert sum(source.asked["eth_getRawTransactionByHash"] for source in sources.values()) == 2


async def test_what_is_not_the_transaction_of_its_hash_is_not_told(opened: Open) -> None:
    wrong = {next(iter(by_hash(signed(0)))): f"0x{signed(1).hex()}"}
    async with opened("a") as (world, sources):
        with_pool(sources["a"], {**wrong, **by_hash(signed(2))})
        await listening(world, sources)
        told: list[Any] = [next(iter(wrong)), "0x11", "zz", f"0x{'22' * 32}", None, {}, *by_hash(signed(2))]
        for each in told:
            await sources["a"].provider.tell(PENDING, each)
        await world.until(lambda: world.hub.pending.count == 1)
        assert world.hub.pending.since(0)[0].hash == keccak256(signed(2))


async def test_what_this_node_has_told_is_not_told_again(opened: Open) -> None:
    known = by_hash(signed(0), signed(1))
    async with opened("a") as (world, sources):
        with_pool(sources["a"], known)
        await listening(world, sources)

        class Own:
            hash = keccak256(signed(0))

        world.follower.heard.note([Own()])  # type: ignore[list-item]
        for transaction_hash in known:
            await sources["a"].provider.tell(PENDING, transaction_hash)
        await world.until(lambda: world.hub.pending.count == 1)
        assert world.hub.pending.since(0)[0].hash == keccak256(signed(1))
