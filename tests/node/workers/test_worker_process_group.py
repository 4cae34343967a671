"""A worker beside a process that follows, by the messages between them."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.cluster.growing import new_chain
from tests.ethereum.live.growing import growing_chain
from tests.ethereum.pool.playground import ALICE, Playground
from tests.node.test_replica import replicated
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.live.hub import Hub
from wsnode.node.workers.ipc import IpcChannel, ends
from wsnode.node.workers.messages import (
    PendingTransactions,
    PoolUpdateRequest,
    PoolUpdateResponse,
    SyncRequest,
    SyncResponse,
    SyncStatus,
    ToParent,
    ToWorker,
)
from wsnode.node.workers.scoreboard import Scoreboard
from wsnode.node.workers.serving.sync_status import SyncProxy
from wsnode.node.workers.serving.worker_process_group import WorkerSiblings
from wsnode.upstream.errors import SendFailedError

BEHIND = SyncStatus("one", "2 blocks behind", 3, (1, 4, 6), 6)


class Worker:
    """A worker's membership, and its parent's end of the pair."""

    def __init__(self, memory: int, *, writes: bool = False) -> None:
        ours, theirs = ends()
        self.parent, self.pair = IpcChannel[ToParent](ours, ToParent), IpcChannel[ToWorker](theirs, ToWorker)
        self.membership = WorkerSiblings(self.pair, Scoreboard(memory), 0, writes=writes)

    def close(self) -> None:
        self.parent.close()
        self.pair.close()


@pytest.fixture
async def worker(memory: int) -> AsyncIterator[Worker]:
    made = Worker(memory)
    yield made
    made.close()


@pytest.fixture
async def followed(worker: Worker, tmp_path: Path) -> AsyncIterator[SyncProxy]:
    with growing_chain(tmp_path) as growing:
        yield worker.membership.followed("one", growing.chain.spec, Hub(growing.chain), None, "replica")


async def test_a_worker_stands_as_the_process_that_follows_says(worker: Worker, followed: SyncProxy) -> None:
    assert followed.not_ready_reason() == "the process that follows has not reported its status"
    worker.membership.hear(BEHIND)
    assert (followed.not_ready_reason(), followed.peers) == ("2 blocks behind", 3)
    assert followed.progress is not None
    assert followed.progress.members()["highestBlock"] == "0x6"
    worker.membership.hear(SyncStatus("one", None, 3, None, 6))
    assert followed.not_ready_reason() is None
    assert followed.progress is None


@pytest.mark.parametrize("encoded", [b"", b"\x02", b"\xff" * 200])
async def test_what_another_process_passes_on_is_passed_over_if_it_is_no_transaction(
    worker: Worker, followed: SyncProxy, tmp_path: Path, encoded: bytes
) -> None:
    with closing(Playground(tmp_path / "own")) as playground:
        worker.membership.join("one", playground.pool)
        for network in ("one", "unknown"):
            worker.membership.hear(PendingTransactions(network, [encoded]))
            worker.membership.hear(PoolUpdateRequest(0, network, [encoded]))
            worker.membership.hear(PoolUpdateRequest(1, network, [encoded], [encoded]))
            assert await worker.parent.receive() == (PoolUpdateResponse(1), None)
        assert not list(playground.pool.held())


@pytest.mark.parametrize("status", [b"[]", b"\xff", b"[" * 100_000, b'{"mode":'])
async def test_a_status_that_cannot_be_read_is_none(
    worker: Worker, followed: SyncProxy, nursery: trio.Nursery, status: bytes
) -> None:
    async def answer() -> None:
        asked, _none = await worker.parent.receive()
        assert isinstance(asked, SyncRequest)
        assert asked.transaction is None
        worker.membership.hear(SyncResponse(asked.number, status=status))

    nursery.start_soon(answer)
    told = await followed.tell_status()
    assert (told["mode"], told["upstreams"]) == ("replica", [])


async def test_a_process_that_follows_and_hangs_is_noticed_by_its_silence(
    worker: Worker, followed: SyncProxy, autojump_clock: trio.testing.MockClock
) -> None:
    standing = SyncStatus("one", None, 3, None, 6)
    worker.membership.hear(standing)
    await trio.sleep(2)
    assert followed.not_ready_reason() is None
    await trio.sleep(3)
    assert followed.not_ready_reason() == "the process that follows has not reported for 5 s"
    worker.membership.hear(standing)
    assert followed.not_ready_reason() is None


async def test_the_journals_height_is_said_at_once(memory: int) -> None:
    writer = Worker(memory, writes=True)
    with new_chain() as chain:
        network = replicated(chain)
        writer.membership.follows("one", network, None)
        network.replica.replica_lag.noted(5)
        for listener in network.replica.on_height:
            listener()
        message, _descriptor = await writer.parent.receive()
        assert isinstance(message, SyncStatus)
        assert message.height == 5
    writer.close()


async def test_how_a_network_stands_is_said_again_without_a_change(
    memory: int, autojump_clock: trio.testing.MockClock
) -> None:
    writer = Worker(memory, writes=True)
    with new_chain() as chain:
        writer.membership.follows("one", replicated(chain), None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.membership.telling.run)
            for _ in range(3):
                message, _descriptor = await writer.parent.receive()
                assert message == SyncStatus("one", "the journal was not reached yet", 0, None, None)
            assert trio.current_time() > 1
            nursery.cancel_scope.cancel()
    writer.close()


async def test_news_of_an_unknown_network_changes_nothing(worker: Worker, followed: SyncProxy) -> None:
    worker.membership.hear(SyncStatus("two", None, 1, None, 1))
    assert followed.not_ready_reason() is not None


async def test_what_is_pending_at_other_machines_is_taken_and_dropped_by_each_worker(
    memory: int, worker: Worker, tmp_path: Path
) -> None:
    writer, playground = Worker(memory, writes=True), Playground(tmp_path)
    worker.membership.join("one", playground.pool)
    (tmp_path / "other").mkdir()
    other = Playground(tmp_path / "other")
    network = replicated(other.chain, other.pool)
    writer.membership.follows("one", network, None)
    assert network.mirrored is not None
    encoded = [playground.sign(ALICE, nonce) for nonce in (0, 1)]
    names = [PooledTransaction(playground.chain.spec, each).hash for each in encoded]
    for taken, dropped in ((encoded, []), ([], names[1:])):
        for listener in network.mirrored.on_change:
            listener(taken, dropped)
        message, _descriptor = await writer.parent.receive()
        assert isinstance(message, PoolUpdateRequest)
        worker.membership.hear(message)
    assert set(playground.pool.entries) == {names[0]}
    # A network that this process does not serve yet.
    worker.membership.hear(PoolUpdateRequest(0, "two", encoded, names))
    writer.close()
    other.close()
    playground.close()


async def test_a_transaction_is_sent_once_the_answer_says_so(worker: Worker, followed: SyncProxy) -> None:
    outcomes: list[str | None] = []

    async def send() -> None:
        try:
            await followed.send(b"signed")
            outcomes.append(None)
        except SendFailedError as error:
            outcomes.append(str(error))

    for failure in (None, "nonce too low"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            message, _ = await worker.parent.receive()
            assert isinstance(message, SyncRequest)
            assert (message.network, message.transaction) == ("one", b"signed")
            worker.membership.hear(SyncResponse(message.number, failure))
    assert outcomes == [None, "nonce too low"]


async def test_without_an_answer_nothing_is_sent_and_the_status_is_short(
    worker: Worker, followed: SyncProxy, autojump_clock: trio.testing.MockClock
) -> None:
    with pytest.raises(SendFailedError, match="does not answer"):
        await followed.send(b"signed")
    status = await followed.tell_status()
    assert (status["mode"], status["upstreams"]) == ("replica", [])


async def test_the_process_that_follows_has_an_answer_for_networks_that_it_does_not_follow(
    memory: int,
) -> None:
    writer = Worker(memory, writes=True)
    await writer.membership.telling.answer(SyncRequest(1, "two", b"signed", 5))
    await writer.membership.telling.answer(SyncRequest(2, "two", slot=6))
    sent, _ = await writer.parent.receive()
    found, _ = await writer.parent.receive()
    assert isinstance(sent, SyncResponse)
    assert (sent.number, sent.slot) == (1, 5)
    assert sent.failure is not None
    assert found == SyncResponse(2, None, b"", 6)
    writer.close()
