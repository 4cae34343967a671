"""How evenly connections are shared by the workers, also after one of them was killed."""

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.workers.processes import CALL, running, skew


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
        os.kill(node.workers()[0], signal.SIGKILL)
        lost = sum(not _answers(client) for client in clients)
        for _ in range(lost):
            assert _answers(stack.enter_context(connect(node.url, open_timeout=60)))
        return Placement(before, skew(node.shares()), lost)


def _answers(client: ClientConnection) -> bool:
    try:
        client.send(CALL)
        return "result" in json.loads(client.recv(60))
    except WebSocketException:
        return False
