"""How evenly connections are shared by the workers, also after one of them was killed."""

import json
import os
import re
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.workers.processes import CALL, Started, running, skew


class Placement(NamedTuple):
    """The largest share divided by the mean; connections that were lost with the killed worker."""

    before: float
    after: float
    lost: int


def placement(data: Path, arrivals: int = 200, workers: int = 4) -> Placement:
    """Connect one after another, kill a worker, and connect again what was lost."""
    with (
        running("serve", "--data", str(data), "--open", "--workers", str(workers)) as node,
        ExitStack() as stack,
    ):
        clients = [stack.enter_context(connect(node.url)) for _ in range(arrivals)]
        before = skew(node.shares())
        killed = node.workers()[0]
        os.kill(killed, signal.SIGKILL)
        lost = sum(not _answers(client) for client in clients)
        # Until another one is ready, connections are the others', or wait for it for some seconds.
        while killed in node.workers() or _serving(node) < workers:
            time.sleep(0.01)
        for _ in range(lost):
            assert _answers(stack.enter_context(connect(node.url, open_timeout=60)))
        return Placement(before, skew(node.shares()), lost)


def _serving(node: Started) -> int:
    """Return how many workers serve, as the node counts them, 0 while that is not known."""
    with urlopen(f"http{node.url.removeprefix('ws')}metrics", timeout=60) as page:
        found = re.search(rb"^wsnode_workers (\d+)", page.read(), re.MULTILINE)
    return 0 if found is None else int(found[1])


def _answers(client: ClientConnection) -> bool:
    try:
        client.send(CALL)
        return "result" in json.loads(client.recv(60))
    except WebSocketException:
        return False
