"""Cheap requests at a steady rate beside other load."""

import select
import time
from collections.abc import Callable, Sequence

import msgspec

from wsnode.load.connection import LoadConnection
from wsnode.load.frames import request_frame
from wsnode.load.replies import outcome

METHOD = "eth_blockNumber"
PACE = 0.01
FIRST_OTHER_ID = 1_000_000
"""First id of other users of the connection."""


class SteadyConnection(msgspec.Struct):
    """Connection with a hundred requests a second, their latencies in seconds, and other users' replies."""

    connection: LoadConnection
    latencies: list[float] = []
    others: list[bytes] = []
    asked: dict[int, float] = {}
    last: int = 0

    def ask(self, due: float) -> None:
        """Send an eth_blockNumber request; its latency counts from `due`, seconds of `time.perf_counter`."""
        self.last += 1
        self.asked[self.last] = due
        self.connection.send(request_frame(self.last, METHOD))

    def take(self) -> None:
        for message in self.connection.receive():
            identity, _is_error = outcome(message)
            if identity is None:
                continue
            if identity >= FIRST_OTHER_ID:
                self.others.append(message)
            elif asked := self.asked.pop(identity, None):
                self.latencies.append(time.perf_counter() - asked)


def ask_steadily(clients: Sequence[SteadyConnection], done: Callable[[], bool], longest: float) -> float:
    """Ask on all of `clients` until `done` or for `longest` seconds; return the seconds that it took.

    A request without a reply in the end counts with the time that it has waited.

    Raises:
        ConnectionError: The node closed a connection.
    """
    began = due = time.perf_counter()
    sockets = {client.connection.socket: client for client in clients}
    while not done() and (now := time.perf_counter()) - began < longest:
        if now >= due:
            for client in clients:
                client.ask(due)
            due += PACE
        ready, _, _ = select.select(list(sockets), [], [], max(0.0, due - time.perf_counter()))
        for each in ready:
            sockets[each].take()
    now = time.perf_counter()
    for client in clients:
        # Within the pace a reply is under way; beyond it the client waited in vain.
        client.latencies += [now - asked for asked in client.asked.values() if now - asked > PACE]
        client.asked.clear()
    return now - began
