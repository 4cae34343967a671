"""Honest clients, in processes that attackers do not share."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from bench.lib.forked import forked
from tests.hostile.client import Client, Ending, Report
from tests.hostile.source import Chain, Scene
from wsnode.load.node_reader import NodeReader


class Group:
    """Honest clients in a process of their own, seen from outside."""

    def __init__(self, controller: Connection) -> None:
        self._controller = controller

    def wait_ready(self) -> None:
        """Wait until each client is connected.

        Raises:
            EOFError: One could not connect.
        """
        self._controller.recv()

    def end(self, last: int) -> None:
        """Have each client compare what it has with the chain up to block `last`."""
        self._controller.send(last)

    def wait_compared(self) -> None:
        """Wait until each client has done so."""
        self._controller.recv()

    def reports(self) -> list[Report]:
        """Return what each client has to say, once the node has said goodbye."""
        found: list[Report] = self._controller.recv()
        return found


@contextmanager
def honest(url: str, scene: Scene, sources: Sequence[tuple[int, str]]) -> Iterator[Group]:
    """Run a client for each number and address, in another process."""
    with forked(_run, url, scene, sources) as process:
        yield Group(process)


def _run(url: str, scene: Scene, sources: Sequence[tuple[int, str]], controller: Connection) -> None:
    clients = [Client(url, source, scene, number) for number, source in sources]
    ending = Ending()
    # A failure here ends the process, whatever they wait for.
    threads = [threading.Thread(target=client.live, args=[ending], daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    controller.send("ready")
    last = controller.recv()
    with NodeReader(url) as asker:
        chain = Chain(asker, scene)
        ending.be(chain.hashes(last), chain.logs(last), chain.failures)
    for thread in threads:
        thread.join()
    controller.send("compared")
    controller.send([client.report(client.wait_close()) for client in clients])
