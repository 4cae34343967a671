"""One of several processes that serve a node's clients: it gets its connections from the node's parent.

`python -m wsnode.node.workers.serving.worker DESCRIPTOR` is given its end of a pair with the parent.
"""

import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial

import msgspec
import trio

from wsnode.node.assembly import open_network
from wsnode.node.config import Config
from wsnode.node.memory.heap import has_it
from wsnode.node.running import Running, reload, run_beside, server_of, tls_of
from wsnode.node.workers.ledger import Ledger
from wsnode.node.workers.messages import (
    Configure,
    Drain,
    Failed,
    Hurry,
    Inquire,
    Leaving,
    Left,
    Passed,
    Ready,
    Send,
    Start,
    Summed,
    Tell,
    ToWorker,
)
from wsnode.node.workers.pair import GoneError, Pair
from wsnode.node.workers.serving.colleagues import Colleagues
from wsnode.node.workers.serving.membership import Membership, News
from wsnode.server.accepting import Reception, serve
from wsnode.server.doors import Door
from wsnode.server.server import RESTARTING, Server
from wsnode.server.upkeep.last_resort import LastResort
from wsnode.server.upkeep.logs import configure

logger = logging.getLogger("wsnode.workers")

FAILED = 1
FOR_RESTART = Drain(restarts=True)


def main() -> None:
    """Serve until the parent says otherwise, or is gone."""
    has_it()
    # A terminal signals all its processes; what the parent's signals mean for a worker, the parent says.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit(trio.run(_run, int(sys.argv[1])))


async def _run(descriptor: int) -> int:
    pair = Pair[ToWorker].of_descriptor(descriptor, ToWorker)
    first, memory = await pair.receive()
    assert isinstance(first, Start), "the first message says what to serve"
    assert memory is not None, "the ledger comes with it"
    ledger = Ledger(memory)
    os.close(memory)
    config = msgspec.json.decode(first.config, type=Config)
    configure(config.log_level, config.log_format, worker=first.number)
    membership = Membership(pair, ledger, first.row, writes=first.writes)
    with ExitStack() as stack:
        try:
            networks = [
                stack.enter_context(open_network(name, network, config, processes=membership))
                for name, network in config.networks.items()
            ]
            tls, server = tls_of(config), server_of(config, networks, ledger.totals(first.row))
        except Exception as error:
            logger.debug("cannot start", exc_info=error)
            pair.post(Failed(str(error)))
            return FAILED
        running = Running(config, server, networks, tls, worker=first.number)
        await _Worker(running, pair, membership).serve()
    return 0


class _Worker:
    def __init__(self, running: Running, pair: Pair[ToWorker], membership: Membership) -> None:
        self._running = running
        self._pair = pair
        self._membership = membership
        self._left = 0
        self._has_left = trio.Event()
        self._colleagues = running.server.together = Colleagues(
            running.server, pair, serves=not membership.writes
        )

    async def serve(self) -> None:
        running, server = self._running, self._running.server
        with LastResort() as last_resort, trio.open_signal_receiver(signal.SIGTERM) as signals:
            async with trio.open_nursery() as ending:
                ending.start_soon(self._pair.send_waiting)
                ending.start_soon(self._tell_left)
                ending.start_soon(self._leave, signals)
                async with trio.open_nursery() as nursery:
                    run_beside(running.networks, nursery)
                    if self._membership.writes:
                        nursery.start_soon(self._membership.telling.run)
                    reception = await nursery.start(partial(serve, server, (), tls=running.tls))
                    # The library of metrics takes long to load, so it is before clients wait.
                    nursery.start_soon(self._colleagues.keep_telling)
                    await trio.lowlevel.checkpoint()
                    self._pair.post(Ready())
                    if (await self._obey(reception, nursery)).restarts:
                        server.farewell = RESTARTING
                    last_resort.end_within(server.limits.ending_seconds + 1)
                    ending.start_soon(self._hurry, server, last_resort)
                    nursery.cancel_scope.cancel()
                self._colleagues.tell()
                ending.cancel_scope.cancel()

    async def _obey(self, reception: Reception, nursery: trio.Nursery) -> Drain:
        """Take connections until the worker is to end, which it is too when the parent is gone."""
        while True:
            try:
                message, descriptor = await self._pair.receive()
            except GoneError:
                logger.error("the parent is gone: ends")  # noqa: TRY400 - no bug of ours
                return FOR_RESTART
            match message:
                case Passed(door) if descriptor is not None:
                    self._take(reception, descriptor, Door(door))
                case Configure(text):
                    reload(self._running, partial(msgspec.json.decode, text, type=Config))
                case Send():
                    nursery.start_soon(self._membership.telling.send, message)
                case Inquire():
                    nursery.start_soon(self._membership.telling.answer, message)
                case Drain():
                    return message
                case _:
                    self._hear(message)

    def _hear(self, message: ToWorker) -> None:
        """Take what is said of other processes."""
        if isinstance(message, Tell | Summed):
            self._colleagues.hear(message)
        elif isinstance(message, News):
            self._membership.hear(message)

    def _take(self, reception: Reception, descriptor: int, door: Door) -> None:
        connected = socket.socket(fileno=descriptor)
        try:
            address = connected.getpeername()
        except OSError:
            # The client has gone already.
            connected.close()
            self._note_left()
            return
        reception.take(connected, address, door, self._note_left)

    def _note_left(self) -> None:
        self._left += 1
        self._has_left.set()

    async def _tell_left(self) -> None:
        """Say how many connections have ended, those of one pass of the scheduler together."""
        while True:
            await self._has_left.wait()
            self._has_left = trio.Event()
            left, self._left = self._left, 0
            self._pair.post(Left(left))

    async def _leave(self, signals: AsyncIterator[int]) -> None:
        async for _number in signals:
            self._pair.post(Leaving())

    async def _hurry(self, server: Server, last_resort: LastResort) -> None:
        while True:
            try:
                message, descriptor = await self._pair.receive()
            except GoneError:
                return
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(message, Hurry):
                server.hurry()
                last_resort.hurry()
            else:
                self._hear(message)


if __name__ == "__main__":
    main()
