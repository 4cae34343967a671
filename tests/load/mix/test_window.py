"""Windows of requests against a node that takes its time."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.sync.server import ServerConnection, serve

from wsnode.load.mix.requests import Request
from wsnode.load.mix.window import Pattern, run_window


@contextmanager
def node() -> Iterator[str]:
    def converse(connection: ServerConnection) -> None:
        for message in connection:
            identity = json.loads(message)["id"]
            connection.send(json.dumps({"jsonrpc": "2.0", "id": identity, "result": "0x1"}))

    with serve(converse, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def test_however_slow_a_node_is_one_reply_counts() -> None:
    with node() as url:
        measured = run_window(url, [Request("eth_chainId", [])], Pattern(connections=1, depth=1, seconds=0))
    assert len(measured.latencies["eth_chainId"]) == 1
    assert measured.seconds > 0
