"""Worker process, whose connections come from the master.

`python -P -m wsnode.node.workers.serving.worker CHANNEL SCOREBOARD NUMBER SLOT` takes the descriptors of its
end of the channel and of the memory of the scoreboard, its number, and its slot in the scoreboard. The first
message is its configuration.
"""

import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Final

import msgspec
import trio

from wsnode.ethereum.state import LiveBytes
from wsnode.node.assembly import open_network
from wsnode.node.config import Config
from wsnode.node.running import RunningNode, reload, run_beside, server_of, tls_of, warn_of_few_files
from wsnode.node.workers.ipc import DescriptorsTruncatedError, IpcChannel, PeerClosedError
from wsnode.node.workers.messages import (
    FOLLOWS,
    HEARTBEAT_SECONDS,
    Configure,
    Drain,
    Heartbeat,
    MetricsRequest,
    MetricsResponse,
    ServeConnection,
    Started,
    SyncRequest,
    ToWorker,
)
from wsnode.node.workers.scoreboard import Scoreboard
from wsnode.node.workers.serving.metrics_client import WorkerMetricsClient
from wsnode.node.workers.serving.worker_process_group import News, WorkerSiblings
from wsnode.server.accepting import ConnectionAcceptor, serve
from wsnode.server.observability.logs import configure
from wsnode.server.observability.open_files import has_free_files, most_files
from wsnode.server.observability.supervisor import ShutdownWatchdog
from wsnode.server.server import RESTARTING, Server
from wsnode.server.transport.sockets import ListenerKind
from wsnode.store.environment import StoreFailedError

FAILED = 1
FIRST = 1
"""Number of the worker that logs messages about all workers."""
FOR_RESTART = Drain(restarts=True)
LOOK_SECONDS: Final = 0.05
WAIT_SECONDS: Final = 1.0
"""Maximum seconds without reading messages; a waiting message may order the process to end."""
logger = logging.getLogger("wsnode.workers")


class FreeFiles:
    """Monitor of this worker's free file descriptors: it reports to the master when there are none for
    connections, and when there are some again.
    """

    def __init__(self, channel: IpcChannel[ToWorker]) -> None:
        self._channel = channel
        self._is_wanting, self._has_some = trio.Event(), trio.Event()

    async def wait(self) -> None:
        """Return once this process can receive another connection, or after `WAIT_SECONDS`."""
        if has_free_files():
            return
        if not self._is_wanting.is_set():
            logger.warning("gets no connections for now: it may have %d open files (ulimit -n)", most_files())
            self._channel.post(Heartbeat(is_full=True))
            self._is_wanting.set()
        with trio.move_on_after(WAIT_SECONDS):
            await self._has_some.wait()

    async def run(self) -> None:
        """Report to the master, for ever, when files have become free again."""
        while True:
            await self._is_wanting.wait()
            while not has_free_files():  # noqa: ASYNC110 - the system has no event for it
                await trio.sleep(LOOK_SECONDS)
            self._channel.post(Heartbeat(is_full=False))
            self._has_some.set()
            self._is_wanting, self._has_some = trio.Event(), trio.Event()


def main() -> None:
    """Serve until the master orders the end, or has ended itself."""
    # The parent ends a hanging process by SIGABRT; the process then prints where its threads are.
    faulthandler.enable()
    # A terminal sends its signals to all its processes. Messages of the parent say what the parent's signals
    # mean for a worker.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    try:
        descriptor, memory, worker, slot = map(int, sys.argv[1:])
        status = trio.run(_run, descriptor, memory, worker, slot)
    except* StoreFailedError:
        # The code that noticed the failure first has logged it. The parent starts a process that opens the
        # store again.
        status = FAILED
    raise SystemExit(status)


async def _run(descriptor: int, memory: int, number: int, slot: int) -> int:
    channel = IpcChannel[ToWorker].of_descriptor(descriptor, ToWorker)
    scoreboard = Scoreboard(memory)
    os.close(memory)
    first, _none = await channel.receive()
    assert isinstance(first, Configure), "the first message says what to serve"
    config = msgspec.json.decode(first.config, type=Config)
    configure(config.log_level, config.log_format, worker=number)
    is_first = number == FIRST
    context = WorkerSiblings(channel, scoreboard, slot, writes=number == FOLLOWS, is_first=is_first)
    live_bytes = LiveBytes()
    with ExitStack() as stack:
        try:
            networks = [
                stack.enter_context(
                    open_network(name, network, config, processes=context, live_bytes=live_bytes)
                )
                for name, network in config.networks.items()
            ]
            tls, server = tls_of(config), server_of(config, networks, scoreboard.totals(slot))
        except Exception as error:
            logger.debug("cannot start", exc_info=error)
            channel.post(Started(str(error)))
            return FAILED
        running = RunningNode(config, server, networks, tls, worker=number)
        if is_first:
            warn_of_few_files(config, server)
        await _Worker(running, channel, context).serve()
    return 0


class _Worker:
    def __init__(self, running: RunningNode, channel: IpcChannel[ToWorker], context: WorkerSiblings) -> None:
        self._running = running
        self._channel = channel
        self._membership = context
        self._files = FreeFiles(channel)
        self._left = 0
        self._has_left = trio.Event()
        self._colleagues = running.server.together = WorkerMetricsClient(
            running.server, channel, serves=not context.writes
        )

    async def serve(self) -> None:
        running, server = self._running, self._running.server
        with ShutdownWatchdog() as last_resort, trio.open_signal_receiver(signal.SIGTERM) as signals:
            async with trio.open_nursery() as ending:
                ending.start_soon(self._channel.send_waiting)
                ending.start_soon(self._tell_left)
                ending.start_soon(self._beat)
                ending.start_soon(self._files.run)
                ending.start_soon(self._leave, signals)
                async with trio.open_nursery() as nursery:
                    run_beside(running.networks, nursery)
                    if self._membership.writes:
                        nursery.start_soon(self._membership.telling.run)
                    reception = await nursery.start(partial(serve, server, (), tls=running.tls))
                    # The first report loads the metrics library, which takes long, so it runs before clients
                    # wait.
                    nursery.start_soon(self._colleagues.keep_telling)
                    await trio.lowlevel.checkpoint()
                    self._channel.post(Started())
                    if (await self._obey(reception, nursery)).restarts:
                        server.final_notice = RESTARTING
                    last_resort.end_within(server.limits.ending_seconds + 1)
                    ending.start_soon(self._hurry, server, last_resort)
                    nursery.cancel_scope.cancel()
                self._colleagues.tell()
                ending.cancel_scope.cancel()

    async def _obey(self, reception: ConnectionAcceptor, nursery: trio.Nursery) -> Drain:
        """Serve connections until the master orders the end, or has ended itself; return the order."""
        while True:
            try:
                message, descriptor = await self._channel.receive()
            except PeerClosedError:
                logger.error("the parent process has ended, so this worker ends")  # noqa: TRY400 - no bug of ours
                return FOR_RESTART
            except DescriptorsTruncatedError as error:
                logger.warning("%s", error)
                continue
            match message:
                case ServeConnection(kind):
                    if descriptor is None:
                        self._note_lost(reception)
                    else:
                        self._take(reception, descriptor, ListenerKind(kind))
                    await self._files.wait()
                case Configure(text):
                    reload(self._running, partial(msgspec.json.decode, text, type=Config))
                case SyncRequest():
                    nursery.start_soon(self._membership.telling.answer, message)
                case Drain(is_immediate=False):
                    return message
                case _:
                    self._hear(message)

    def _hear(self, message: ToWorker) -> None:
        if isinstance(message, MetricsRequest | MetricsResponse):
            self._colleagues.hear(message)
        elif isinstance(message, News):
            self._membership.hear(message)

    def _take(self, reception: ConnectionAcceptor, descriptor: int, kind: ListenerKind) -> None:
        connected = socket.socket(fileno=descriptor)
        try:
            address = connected.getpeername()
        except OSError:
            # The client has already disconnected.
            connected.close()
            self._note_left()
            return
        reception.take(connected, address, kind, self._note_left)

    def _note_lost(self, reception: ConnectionAcceptor) -> None:
        """Count a connection that has not arrived, because no file could be opened for it."""
        logger.warning("a connection was lost: %d open files are in use (ulimit -n)", most_files())
        reception.note_failure()
        self._note_left()

    def _note_left(self) -> None:
        self._left += 1
        self._has_left.set()

    async def _tell_left(self) -> None:
        """Report the number of ended connections, those of one pass of the scheduler together."""
        while True:
            await self._has_left.wait()
            self._has_left = trio.Event()
            left, self._left = self._left, 0
            self._channel.post(Heartbeat(left))

    async def _beat(self) -> None:
        """Send the master a heartbeat every `HEARTBEAT_SECONDS`, for ever."""
        while True:
            # While messages wait for a parent that reads none, further heartbeats would only lengthen the
            # queue.
            if not self._channel.waiting:
                self._channel.post(Heartbeat())
            await trio.sleep(HEARTBEAT_SECONDS)

    async def _leave(self, signals: AsyncIterator[int]) -> None:
        async for _number in signals:
            self._channel.post(FOR_RESTART)

    async def _hurry(self, server: Server, last_resort: ShutdownWatchdog) -> None:
        while True:
            try:
                message, descriptor = await self._channel.receive()
            except PeerClosedError:
                return
            except DescriptorsTruncatedError:
                continue
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(message, Drain) and message.is_immediate:
                server.hurry()
                last_resort.hurry()
            else:
                self._hear(message)


if __name__ == "__main__":
    main()
