"""A proxy before a node that counts what it is asked over HTTP, and lets each message take its time."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Counting(ThreadingHTTPServer):
    """Passes messages on to a node; each takes `latency` seconds more than there."""

    daemon_threads = True

    def __init__(self, node: str, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node = urlsplit(node).netloc
        self.latency = latency
        self._lock = threading.Lock()
        self._messages = 0
        self._calls = Counter[str]()

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def count(self, body: bytes) -> None:
        """Count a message and the calls in it."""
        content: Any = json.loads(body)
        with self._lock:
            self._messages += 1
            self._calls.update(
                call["method"] for call in (content if isinstance(content, list) else [content])
            )

    def taken(self) -> tuple[int, Counter[str]]:
        """Return the messages and the calls by method since the last time."""
        with self._lock:
            taken = self._messages, self._calls
            self._messages, self._calls = 0, Counter()
        return taken


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting
    _node: http.client.HTTPConnection | None = None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.count(body)
        time.sleep(self.server.latency)
        if self._node is None:
            self._node = http.client.HTTPConnection(self.server.node)
        self._node.request("POST", "/", body, {"Content-Type": "application/json"})
        with self._node.getresponse() as reply:
            content = reply.read()
        head = f"HTTP/1.1 {reply.status} .\r\nContent-Type: application/json\r\n"
        self.wfile.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)

    def finish(self) -> None:
        super().finish()
        if self._node is not None:
            self._node.close()

    def log_message(self, format: str, *details: Any) -> None:
        """Say nothing."""


@contextmanager
def counting(node: str, latency: float) -> Iterator[Counting]:
    """Run a proxy before the node at an HTTP URL."""
    with Counting(node, latency) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
