"""What goes through the parent between the process that follows and the workers."""

from collections.abc import Iterator, Set

import msgspec

from wsnode.node.workers.accepting.member import Stage, Worker
from wsnode.node.workers.messages import Found, Heard, Inquire, Pooled, Send, Sent, Standing


class Relaying:
    """Brings news of what is followed to all workers, and their transactions to the process that follows."""

    def __init__(self, workers: Set[Worker]) -> None:
        """`workers` are the processes that there are, at any time."""
        self._workers = workers
        self._standings: dict[str, Standing] = {}
        """The last of each network."""

    def tell(self, message: Standing | Heard | Pooled) -> None:
        """Bring news to all workers."""
        if isinstance(message, Standing):
            self._standings[message.network] = message
        for worker in self._serving():
            worker.post(message)

    def supply(self, new: Worker) -> None:
        """Bring a new worker what the others know."""
        if not new.follows:
            for standing in self._standings.values():
                new.post(standing)

    def ask(self, origin: Worker, message: Send | Inquire) -> None:
        """Pass a question on to the process that follows, or say that there is none."""
        for worker in self._workers:
            if worker.follows and worker.stage is Stage.SERVING:
                worker.post(msgspec.structs.replace(message, row=origin.row))
                return
        if isinstance(message, Inquire):
            origin.post(Found(message.number, b""))
        else:
            origin.post(Sent(message.number, "the process that follows is being started"))

    def answer(self, message: Sent | Found) -> None:
        """Pass an answer on to the worker that asked."""
        for worker in self._workers:
            if worker.row == message.row:
                worker.post(message)

    def note_end(self, ended: Worker) -> None:
        """Tell all workers if the process that follows has ended."""
        if ended.follows:
            for standing in self._standings.values():
                why = "the process that follows has ended"
                self.tell(msgspec.structs.replace(standing, hindrance=why, peers=0, progress=None))

    def _serving(self) -> Iterator[Worker]:
        return (each for each in self._workers if each.stage is Stage.SERVING and not each.follows)
