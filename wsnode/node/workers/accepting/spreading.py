"""Brings what was sent to one worker to all others, and what they have to a new one."""

from collections.abc import Set
from typing import Final

import trio

from wsnode.node.workers.accepting.member import Stage, Worker
from wsnode.node.workers.messages import Bring, Done, Lend, Lent, Spread

TAKING_SECONDS: Final = 0.5
"""How long the sender of a transaction waits for a worker that does not answer."""


class Spreading:
    """What is on its way to which workers."""

    def __init__(self, workers: Set[Worker]) -> None:
        """`workers` are those that there are, at any time."""
        self._workers = workers
        self._number = 0
        self._missing: dict[int, set[Worker]] = {}
        """The workers that have not taken something yet."""
        self._taken_now = trio.lowlevel.ParkingLot()

    def took(self, worker: Worker, number: int) -> None:
        """Note that a worker has taken something."""
        if (missing := self._missing.get(number)) is not None:
            missing.discard(worker)
            self._taken_now.unpark_all()

    async def spread(self, origin: Worker, message: Spread) -> None:
        """Bring a transaction to all workers but the one that has it, and tell that one when it is done."""
        self._number += 1
        number = self._number
        missing = {each for each in self._workers if each.stage is Stage.SERVING and each is not origin}
        self._missing[number] = missing
        for worker in missing:
            worker.post(Bring(number, message.network, [message.encoded]))
        with trio.move_on_after(TAKING_SECONDS):
            while missing & self._workers:
                await self._taken_now.park()
        del self._missing[number]
        origin.post(Done(message.number))

    def supply(self, new: Worker) -> None:
        """Have another worker say what a new one is to have."""
        others = (each for each in self._workers if each.stage is Stage.SERVING and each is not new)
        if (lender := next(others, None)) is not None:
            lender.post(Lend(new.row))

    def lent(self, message: Lent) -> None:
        """Bring a new worker what another one has."""
        for worker in self._workers:
            if worker.row == message.row and message.encoded:
                worker.post(Bring(0, message.network, message.encoded))

    def note_end(self) -> None:
        """Wait no more for a worker that has ended."""
        self._taken_now.unpark_all()
