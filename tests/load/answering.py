"""A node for tests, on a free port: each connection is a thread that runs a function."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

Converse = Callable[[ServerConnection], None]
Admit = Callable[[ServerConnection, Request], Response | None]


@contextmanager
def answering(
    converse: Converse, admit: Admit | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve, and give the URL; `admit` may refuse a connection."""
    with serve(converse, "127.0.0.1", 0, process_request=admit, ssl=tls) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"{'ws' if tls is None else 'wss'}://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def silent(_text: str) -> bool:
    """Show nothing, and let a run go on."""
    return False


def reply(request: dict[str, Any], result: object) -> str:
    """Return the text of an answer."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})


def refusal(request: dict[str, Any], message: str) -> str:
    """Return the text of an error."""
    error = {"code": -32000, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error})


def converse(connection: ServerConnection) -> None:
    """Answer each call with 0x1."""
    for message in connection:
        connection.send(reply(json.loads(message), "0x1"))
