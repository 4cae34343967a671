"""Master process: accepts connections, gives each to the worker with the fewest, replaces ended workers."""

import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import trio

from wsnode.node.workers.ipc import (
    DescriptorsTruncatedError,
    IpcChannel,
    PeerClosedError,
    UnreadableMessageError,
)
from wsnode.node.workers.master.metrics import MetricsAggregator
from wsnode.node.workers.master.router import MessageRouter, TxBroadcaster
from wsnode.node.workers.master.worker_process import (
    Pauses,
    WorkerProcess,
    WorkerStage,
    by_load,
    note_heard,
    watch,
)
from wsnode.node.workers.messages import (
    FOLLOWS,
    Configure,
    CorruptStore,
    Drain,
    Heartbeat,
    MetricsRequest,
    MetricsResponse,
    PendingTransactions,
    PoolUpdateRequest,
    PoolUpdateResponse,
    Started,
    SyncRequest,
    SyncResponse,
    SyncStatus,
    ToParent,
)
from wsnode.node.workers.scoreboard import Scoreboard, ScoreboardSlots, make_memory
from wsnode.server.observability.supervisor import log_failure
from wsnode.server.transport.sockets import accept_each

HELD_SECONDS: Final = 3.0
"""Seconds for which a connection waits for a starting worker before another worker gets it."""
MAX_HELD: Final = 4096
MAX_STARTS: Final = 5
"""Starts of one worker before the node gives up, if each process is killed before it is ready."""
AGAIN_SECONDS: Final = 0.01
"""Pause in seconds after no worker could take a connection."""

Question = TypeVar("Question")

logger = logging.getLogger("wsnode.workers")


class StartError(Exception):
    """Error of a configuration with which no worker can serve."""


class Master:
    """Parent process of a node: it starts, replaces and ends the workers 1 to `count` and the process that
    follows, if there is one, and passes connections to workers.
    """

    def __init__(self, count: int, config: bytes, *, follows: bool = False) -> None:
        """Prepare to start workers with `config`, the node's configuration in JSON.

        With `follows` one more process follows other nodes and writes the chains.
        """
        self.config = config
        self._seats: dict[int, WorkerProcess] = {}
        """Processes in force, by number."""
        self._all: set[WorkerProcess] = set()
        """Processes in force, and processes that retire."""
        self._metrics, self._spreading = MetricsAggregator(self._all), TxBroadcaster(self._all)
        self._relaying = MessageRouter(self._all)
        self._memory = make_memory()
        self._scoreboard, self._rows = Scoreboard(self._memory), ScoreboardSlots()
        self._pauses = {number: Pauses() for number in range(0 if follows else 1, count + 1)}
        self._given = 0
        self._is_ending = self._is_replacing = False
        self._up = trio.Event()
        """Set once all processes are ready for the first time."""
        self._accepting = trio.CancelScope()
        self._nursery: trio.Nursery

    async def serve(
        self,
        listeners: Sequence[tuple[socket.socket, int]],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve the connections of `listeners`, each with its kind, until all workers have ended.

        Raises:
            StartError: A worker reports that it cannot start, before all are ready for the first time.
        """
        async with trio.open_nursery() as self._nursery:
            for number in self._pauses:
                self._seat(self._new(number, holds=False), pause=0.0)
                if number == FOLLOWS:
                    # The process that follows may have to make or repair the stores of the other workers.
                    await self._wait_up()
            await self._wait_up()
            self._up.set()
            task_status.started()
            with self._accepting:
                async with trio.open_nursery() as accepting:
                    for listener, kind in listeners:
                        accepting.start_soon(self._accept, listener, kind)
            for listener, _door in listeners:
                listener.close()

    async def _wait_up(self) -> None:
        for number in list(self._seats):
            if not await self._is_started(number) and not self._is_ending:
                self._is_ending = True
                for each in self._all:
                    each.kill()
                worker = self._seats[number]
                raise StartError(worker.failure or f"{worker.name} ended before it was ready")

    async def _is_started(self, number: int) -> bool:
        """Return True once a process, or the successor of a killed one, is ready, else False."""
        for _ in range(MAX_STARTS):
            worker = self._seats[number]
            await _wait_either(worker.ready, worker.ended)
            if worker.ready.is_set():
                return True
            if self._seats[number] is worker:
                return False
        return False

    def configure(self, config: bytes) -> None:
        """Replace the configuration of all workers, including those to come."""
        self.config = config
        for worker in self._all:
            worker.post(Configure(config))

    def drain(self, *, restarts: bool) -> None:
        """Accept no more connections, and have all workers end."""
        self._is_ending = True
        self._accepting.cancel()
        for worker in self._all:
            for connected, _door in worker.give_up_held():
                connected.close()
            worker.retire(restarts=restarts)

    def hurry(self) -> None:
        """Have draining workers end immediately."""
        for worker in self._all:
            worker.post(Drain(restarts=False, is_immediate=True))

    def kill(self) -> None:
        """Kill all workers that are left."""
        for worker in self._all:
            worker.kill()

    async def replace_all(self) -> None:
        """Replace the workers one by one, once all serve; each ends when its successor serves."""
        if self._is_replacing:
            logger.warning("the workers are being replaced already")
            return
        self._is_replacing = True
        try:
            await self._up.wait()
            for number in self._pauses:
                if self._is_ending:
                    return
                await (self._follow_anew() if number == FOLLOWS else self._replace(number))
            logger.info("all workers were replaced")
        finally:
            self._is_replacing = False

    async def _replace(self, number: int) -> None:
        old, new = self._seats[number], self._new(number, holds=False)
        self._nursery.start_soon(self._keep, new, 0.0)
        await _wait_either(new.ready, new.ended)
        if self._is_ending:
            return
        if new.stage is not WorkerStage.SERVING:
            logger.error("worker %d goes on serving, because its successor cannot start", number)
            return
        old, self._seats[number] = self._seats[number], new
        self._nursery.start_soon(self._give, old.give_up_held())
        old.retire(restarts=True)
        await old.ended.wait()

    async def _follow_anew(self) -> None:
        """Replace the process that follows: the new one can write only when the old one has ended."""
        old = self._seats[FOLLOWS]
        old.retire(restarts=True)
        await old.ended.wait()
        new = self._seats[FOLLOWS]
        await _wait_either(new.ready, new.ended)

    def _new(self, number: int, *, holds: bool) -> WorkerProcess:
        slot = self._rows.take()
        self._scoreboard.use_row(slot)
        return WorkerProcess(number, slot, holds=holds)

    def _seat(self, worker: WorkerProcess, pause: float) -> None:
        self._seats[worker.number] = worker
        self._nursery.start_soon(self._keep, worker, pause)

    async def _keep(self, worker: WorkerProcess, pause: float) -> None:
        """Start a worker after `pause` seconds, handle its messages to its end, and start its successor."""
        self._all.add(worker)
        if worker.held is not None:
            self._nursery.start_soon(self._give_again_later, worker)
        await trio.sleep(pause)
        try:
            if worker.stage is WorkerStage.COMING and not self._is_ending:
                await self._run(worker)
        except OSError as error:
            logger.error("%s cannot be started: %s", worker.name, error)  # noqa: TRY400
        except Exception as error:
            # A fault of one worker must not end the others.
            log_failure(f"{worker.name} is given up", error)
            worker.kill()
        finally:
            self._all.discard(worker)
            self._scoreboard.clear_row(worker.slot)
            self._rows.give_back(worker.slot)
            worker.ended.set()
            self._metrics.retire_counters(worker)
            self._spreading.note_end()
            self._relaying.note_end(worker)
        self._follow(worker)

    async def _run(self, worker: WorkerProcess) -> None:
        channel = await worker.start(self._memory)
        if worker.stage is WorkerStage.RETIRING:
            # `retire` was called during the start (the node ends), when there was no process to kill yet.
            worker.kill()
        try:
            channel.post(Configure(self.config))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.send_waiting)
                nursery.start_soon(worker.wait_ended)
                nursery.start_soon(watch, worker, self._pass_by, self._metrics.note_hung)
                await self._listen(worker, channel)
                nursery.cancel_scope.cancel()
            await worker.wait_ended()
        finally:
            channel.close()

    def _pass_by(self, worker: WorkerProcess) -> None:
        """Give the connections that a worker has not received to other workers."""
        self._nursery.start_soon(self._give_unread, worker)

    async def _give_unread(self, worker: WorkerProcess) -> None:
        while not worker.takes_connections and (unread := worker.take_back_unread()):
            await self._give(unread)

    async def _listen(self, worker: WorkerProcess, channel: IpcChannel[ToParent]) -> None:
        """Handle a worker's messages until its process has ended."""
        try:
            while True:
                try:
                    message, _none = await channel.receive()
                except DescriptorsTruncatedError as error:
                    logger.warning("%s: %s", worker.name, error)
                    continue
                await self._hear(worker, message)
        except PeerClosedError:
            return
        except UnreadableMessageError as error:
            # The worker runs another release, if one was installed after the parent started.
            logger.error(  # noqa: TRY400
                "%s sent a message that cannot be read and is ended: %s; if another release was "
                "installed since the node started, restart the node",
                worker.name,
                error,
            )
            worker.kill()

    async def _hear(self, worker: WorkerProcess, message: ToParent) -> None:
        note_heard(worker)
        match message:
            case PoolUpdateRequest(dropped=[_, *_]) if not worker.follows:
                raise UnreadableMessageError(f"{worker.name} does not follow, and has dropped transactions")
            case PoolUpdateRequest(number, slot=None) if number or not worker.follows:
                await self._begin(worker, self._spreading.spread, message)
            case MetricsRequest(number):
                await self._begin(worker, self._metrics.answer, number)
            case _:
                self._note(worker, message)

    async def _begin(
        self,
        worker: WorkerProcess,
        answer: Callable[[WorkerProcess, Question], Awaitable[None]],
        question: Question,
    ) -> None:
        """Begin to answer a worker's question, once fewer than `MAX_QUESTIONS` of its questions are open."""

        async def answer_it() -> None:
            try:
                await answer(worker, question)
            finally:
                worker.questions.release()

        await worker.questions.acquire()
        self._nursery.start_soon(answer_it)

    def _note(self, worker: WorkerProcess, message: ToParent) -> None:
        match message:
            case Heartbeat():
                self._note_beat(worker, message)
            case Started(failure):
                self._note_start(worker, failure)
            case PoolUpdateResponse(number):
                self._spreading.took(worker, number)
            case PoolUpdateRequest(slot=int()):
                self._spreading.lent(message)
            case CorruptStore(network, reason):
                self._relaying.note_damage(worker, network, reason)
            case MetricsResponse(number, report):
                self._metrics.note(worker, number, report)
            case SyncStatus() | PendingTransactions() | SyncResponse() if not worker.follows:
                raise UnreadableMessageError(
                    f"{worker.name} does not follow, and has sent {type(message).__name__}"
                )
            case SyncStatus() | PendingTransactions() | PoolUpdateRequest():
                self._relaying.tell(message)
            case SyncRequest():
                self._relaying.ask(worker, message)
            case SyncResponse():
                self._relaying.answer(message)
            case Drain():
                worker.retire(restarts=True)
                is_seated = self._seats.get(worker.number) is worker and not self._is_ending
                if is_seated and not worker.follows:
                    self._seat(self._new(worker.number, holds=True), pause=0.0)

    def _note_beat(self, worker: WorkerProcess, beat: Heartbeat) -> None:
        if not 0 <= beat.ended <= worker.connections:
            raise UnreadableMessageError(
                f"it reports {beat.ended} ended connections, and has {worker.connections}"
            )
        worker.connections -= beat.ended
        if beat.is_full is not None:
            worker.is_full = beat.is_full
            if beat.is_full:
                self._pass_by(worker)

    def _note_start(self, worker: WorkerProcess, failure: str | None) -> None:
        if failure is not None:
            worker.failure = failure
            if self._up.is_set():
                logger.error("%s cannot start: %s", worker.name, failure)
        elif worker.stage is WorkerStage.COMING:
            self._nursery.start_soon(self._give, worker.begin_serving())
            self._spreading.supply(worker)
            self._relaying.supply(worker)

    def _follow(self, worker: WorkerProcess) -> None:
        """Start a successor of a worker that has ended, unless it has one already."""
        waiting = worker.give_up_held()
        goes_on = (self._up.is_set() or worker.was_killed) and not self._is_ending
        if goes_on and self._seats.get(worker.number) is worker:
            has_served = worker.ready.is_set()
            served = trio.current_time() - worker.serving_since if has_served else 0.0
            pause = self._pauses[worker.number].after(served)
            status = None if worker.process is None else worker.process.returncode
            # The process that follows is retired before its successor exists, so this end is expected.
            level = logging.INFO if worker.stage is WorkerStage.RETIRING else logging.WARNING
            logger.log(level, "%s has ended (%s) and is replaced in %g s", worker.name, status, pause)
            self._seat(self._new(worker.number, holds=has_served), pause)
        self._nursery.start_soon(self._give, waiting)

    async def _give_again_later(self, worker: WorkerProcess) -> None:
        with trio.move_on_after(HELD_SECONDS):
            await worker.ready.wait()
        await self._give(worker.give_up_held())

    async def _give(self, connections: Sequence[tuple[socket.socket, int]]) -> None:
        """Give connections to workers, as soon as a worker can take them."""
        for connected, kind in connections:
            await self._give_one(connected, kind)

    async def _give_one(self, connected: socket.socket, kind: int) -> None:
        try:
            while not self._place(connected, kind):
                if self._is_ending:
                    connected.close()
                    return
                await trio.sleep(AGAIN_SECONDS)
        except trio.Cancelled:
            connected.close()
            raise

    async def _accept(self, listener: socket.socket, kind: int) -> None:
        async def give(connected: socket.socket, _address: object) -> None:
            await self._give_one(connected, kind)

        await accept_each(listener, give, logger, self._metrics.note_failure)

    def _place(self, connected: socket.socket, kind: int) -> bool:
        """Give a connection to the worker with the fewest that can take it; return False if none can."""
        workers = [worker for worker in self._seats.values() if not worker.follows]
        is_full = sum(len(worker.held or ()) for worker in workers) >= MAX_HELD
        for worker in by_load(workers):
            if worker.held is not None and is_full:
                continue
            if worker.take(connected, kind):
                self._given += 1
                worker.last_given = self._given
                return True
        return False


async def _wait_either(*events: trio.Event) -> None:
    async def cancel_after(event: trio.Event) -> None:
        await event.wait()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for event in events:
            nursery.start_soon(cancel_after, event)
