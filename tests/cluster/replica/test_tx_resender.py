"""What a replica sends again to whoever writes by now, with the process that writes in memory."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.cluster.test_membership import Place
from tests.ethereum.pool.playground import ALICE, BOB, ETHER, Playground
from tests.upstream.providers import Error, SocketProvider
from wsnode.cluster.membership import REPORT_SECONDS, ClusterMembership, ClusterNode, PresentNodes
from wsnode.cluster.replica.tx_resender import (
    AGAIN_SECONDS,
    BYTES_PER_SECOND,
    SENT_PER_SECOND,
    WAITED_MEETINGS,
    ResendCounts,
    TxResender,
    UnsentTransactions,
)
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.upstream.errors import SendFailedError

MEETINGS = 3 * REPORT_SECONDS
FULL = Error(-32000, "txpool is full")
TOO_OFTEN = Error(-32005, "too many requests")


def present(epoch: int, *, others: int = 0) -> PresentNodes:
    """Return that a process writes, and how many more nodes there are."""
    nodes = [ClusterNode(str(place), f"ws://other{place}/", 0, "0x") for place in range(others)]
    return PresentNodes((ClusterNode("writer", "ws://writer/", 0, "0x"), *nodes), "writer", epoch)


class World:
    """A replica, and a process that writes, which answers as the test says."""

    def __init__(self, playground: Playground, nursery: trio.Nursery) -> None:
        self.playground = playground
        self.place = Place()
        self.place.present = present(1)
        self.answers: dict[bytes, Error] = {}
        """What is said of transactions instead of their hash."""
        self.is_away = False
        self.heard = True
        """Whether the process that writes has said what it has."""
        self.received: list[tuple[float, bytes]] = []
        self._provider = SocketProvider(nursery, self._answer)
        pool, chain = playground.pool, playground.chain
        self.presence = ClusterMembership(chain, self.place.open, "replica", None)
        self.outbox = UnsentTransactions(pool, trio.current_time)
        self.delivery = TxResender(
            chain.spec,
            self.outbox,
            self.presence,
            connect=self._connect,
            has_heard=lambda _epoch: self.heard,
            chance=lambda: 0.5,
        )
        nursery.start_soon(self.presence.run)
        nursery.start_soon(self.delivery.run)

    async def _connect(self, address: Any) -> trio.abc.Stream:
        if self.is_away:
            raise OSError("nobody listens")
        return await self._provider.connect(address)

    def _answer(self, method: str, params: list[Any]) -> Any:
        assert method == "eth_sendRawTransaction"
        name = PooledTransaction(self.playground.chain.spec, bytes.fromhex(params[0][2:])).hash
        self.received.append((trio.current_time(), name))
        return self.answers.get(name, f"0x{name.hex()}")

    @property
    def names(self) -> list[bytes]:
        return [name for _time, name in self.received]

    async def sent(self, *encoded: bytes) -> list[bytes]:
        """Send as clients do, who are answered once the process that writes has it; return the hashes."""
        names: list[bytes] = [self.playground.pool.add(each) for each in encoded]
        for each in encoded:
            await self.delivery.send(each)
        self.received.clear()
        return names


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    playground = Playground(folder)
    async with trio.open_nursery() as nursery:
        made = World(playground, nursery)
        await made.presence.next_meeting()
        yield made
        nursery.cancel_scope.cancel()
    playground.close()


def transfers(sign: Callable[..., bytes]) -> list[bytes]:
    """Return transactions in another order than that of senders and nonces."""
    return [sign(BOB, 0), sign(ALICE, 1), sign(ALICE, 0), sign(ALICE, 3)]


def in_order(world: World) -> list[bytes]:
    """Return the hashes of everything in the pool, by sender and nonce."""
    held = world.playground.pool.held()
    return [each.hash for each in sorted(held, key=lambda each: (each.sender, each.nonce))]


async def test_what_was_taken_is_sent_again_once_to_each_new_writer(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with world(tmp_path) as replica:
        await replica.sent(*transfers(replica.playground.sign))
        await trio.sleep(MEETINGS)
        assert replica.received == []
        for epoch in (2, 3):
            replica.place.present = present(epoch)
            await trio.sleep(MEETINGS)
            assert replica.names == in_order(replica)
            replica.received.clear()
        assert replica.delivery.counts == ResendCounts(taken=8)


async def test_it_waits_for_what_the_writer_says_to_have_and_not_for_ever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with world(tmp_path) as replica:
        names = await replica.sent(*transfers(replica.playground.sign))
        replica.heard = False
        replica.place.present = present(2)
        await trio.sleep(WAITED_MEETINGS * REPORT_SECONDS)
        assert replica.received == []
        replica.outbox.heard(names[0], 2)
        await trio.sleep(2 * REPORT_SECONDS)
        assert replica.names == [name for name in in_order(replica) if name != names[0]]
        replica.received.clear()
        replica.place.present = present(3)
        replica.heard = True
        await trio.sleep(REPORT_SECONDS + 0.1)
        assert replica.names == in_order(replica)


async def test_what_a_block_holds_by_now_is_not_sent_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with world(tmp_path) as replica:
        *_mined, waiting = await replica.sent(*transfers(replica.playground.sign))
        replica.playground.mine()
        replica.place.present = present(2)
        await trio.sleep(MEETINGS)
        assert replica.names == [waiting]


async def test_a_refused_one_stays_and_is_offered_again_later_while_the_others_go_on(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with world(tmp_path) as replica:
        names = await replica.sent(*transfers(replica.playground.sign))
        replica.answers = {names[0]: FULL, names[2]: Error(-32000, "already known")}
        replica.place.present = present(2)
        await trio.sleep(MEETINGS)
        assert replica.names == in_order(replica)
        assert replica.playground.pool.find(names[0]) is not None
        assert replica.delivery.counts == ResendCounts(taken=3, refused=1)
        replica.received.clear()
        replica.answers.clear()
        await trio.sleep(AGAIN_SECONDS)
        assert replica.names == [names[0]]
    assert "4 pending transactions were sent again, to the writer of epoch 2; it refused 1" in caplog.messages


@pytest.mark.parametrize("is_away", [True, False])
async def test_one_that_cannot_be_asked_or_is_asked_too_often_is_tried_again_at_the_next_meeting(
    tmp_path: Path, autojump_clock: MockClock, is_away: bool
) -> None:
    async with world(tmp_path) as replica:
        names = await replica.sent(*transfers(replica.playground.sign))
        replica.is_away = is_away
        replica.answers = {} if is_away else dict.fromkeys(names, TOO_OFTEN)
        replica.place.present = present(2)
        await trio.sleep(MEETINGS)
        failed = replica.delivery.counts.failed
        assert failed
        # It is not pressed: no more than one try for each meeting.
        assert len(replica.names) <= failed <= MEETINGS / REPORT_SECONDS + 1
        replica.received.clear()
        replica.answers, replica.is_away = {}, False
        await trio.sleep(MEETINGS)
        assert replica.names == in_order(replica)


async def test_all_nodes_together_send_so_many_a_second_and_so_many_bytes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with world(tmp_path) as replica:
        sign, size = replica.playground.sign, 100_000
        await replica.sent(sign(ALICE, 0), sign(ALICE, 1), sign(ALICE, 2, call=bytes(size), gas=5_000_000))
        replica.place.present = present(2, others=SENT_PER_SECOND // 2 - 1)
        await trio.sleep(3 * MEETINGS)
        times = [time for time, _name in replica.received]
        assert times[1] - times[0] == pytest.approx(0.5)
        assert times[2] - times[1] >= size / BYTES_PER_SECOND * SENT_PER_SECOND / 2


async def test_another_writer_gets_all_even_if_the_one_before_had_a_part(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with world(tmp_path) as replica:
        await replica.sent(*transfers(replica.playground.sign))
        replica.place.present = present(2, others=2 * SENT_PER_SECOND)
        # Each takes two seconds on average, so this is the middle.
        await trio.sleep(MEETINGS)
        assert 0 < len(replica.names) < 4
        replica.place.present = present(3)
        await trio.sleep(MEETINGS)
        assert replica.names[-4:] == in_order(replica)


async def test_what_its_sender_gave_up_is_sent(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with world(tmp_path) as replica:
        encoded = replica.playground.sign(ALICE, 0)
        replica.is_away = True
        name = replica.playground.pool.add(encoded)
        with pytest.raises(SendFailedError, match="unreachable"):
            await replica.delivery.send(encoded)
        replica.is_away = False
        await trio.sleep(MEETINGS)
        assert replica.names == [name]


async def test_one_of_another_chain_is_refused_in_a_line(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with world(tmp_path) as replica:
        encoded = replica.playground.sign(ALICE, 0, value=ETHER)
        replica.playground.chain.set_chain_id(4242)
        with pytest.raises(SendFailedError, match="chain id"):
            await replica.delivery.send(encoded)


async def test_without_a_writer_nothing_is_sent(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with world(tmp_path) as replica:
        await replica.sent(*transfers(replica.playground.sign))
        replica.place.present = PresentNodes(epoch=2)
        await trio.sleep(MEETINGS)
        assert replica.received == []
        with pytest.raises(SendFailedError, match="not known here"):
            await replica.delivery.send(replica.playground.sign(ALICE, 2))
