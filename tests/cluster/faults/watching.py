"""What the journal and the nodes that write it say, asked again and again during a run."""

import json
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from tests.cluster.faults.cluster import Cluster
from tests.cluster.faults.histories import Entry, Held
from tests.cluster.faults.servers import entries_of

LOOK_SECONDS: Final = 0.5
STATUS_SECONDS: Final = 1.0


class Watching:
    """All threads that ask."""

    def __init__(self, cluster: Cluster, begin: float) -> None:
        self._reader = Reader(cluster)
        self._watches = [Watch(cluster, name, begin) for name in cluster.writers.publishers]

    def start(self) -> None:
        for thread in (self._reader, *self._watches):
            thread.start()

    def end(self) -> None:
        for thread in (self._reader, *self._watches):
            thread.end()

    @property
    def journals(self) -> list[Sequence[Entry]]:
        return self._reader.journals

    @property
    def held(self) -> list[Held]:
        """Return which nodes had the lease, by time."""
        return sorted((held for watch in self._watches for held in watch.held), key=lambda held: held.at)


class Watcher(threading.Thread):
    """Looks twice a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._is_over = threading.Event()

    def end(self) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Record what is there now."""
        raise NotImplementedError


class Reader(Watcher):
    """Reads the journal from every Redis."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._addresses = [cluster.machines[name].address for name in cluster.servers.names]
        self._last: dict[str, Entry] = {}
        self.journals: list[Sequence[Entry]] = []

    def look(self) -> None:
        for address in self._addresses:
            if entries := entries_of(address, self._last.get(address)):
                self.journals.append(entries)
                self._last[address] = entries[-1]


class Watch(Watcher):
    """Asks a node that writes whether it has the lease."""

    def __init__(self, cluster: Cluster, name: str, begin: float) -> None:
        super().__init__()
        self._name = name
        self._url = cluster.url(name)
        self._begin = begin
        self.held: list[Held] = []

    def look(self) -> None:
        question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "wsnode_status", "params": []})
        request = urllib.request.Request(self._url, question.encode(), {"Content-Type": "application/json"})
        # A node that is away, or starts, says nothing.
        with suppress(OSError), urllib.request.urlopen(request, timeout=STATUS_SECONDS) as reply:
            journal = json.loads(reply.read()).get("result", {}).get("journal") or {}
            if journal.get("leading"):
                self.held.append(Held(time.monotonic() - self._begin, self._name, journal["epoch"]))
