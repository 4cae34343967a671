"""A beacon node that knows one block, which is as old as its chain."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.sync.follow.beacon.proved_world import grown_story


@contextmanager
def static_beacon() -> Iterator[tuple[str, str]]:
    """Serve it, and give its URL and the root of the block."""
    vector = grown_story()
    genesis = {"genesis_time": "0", "genesis_validators_root": vector["genesis_validators_root"]}
    answers: dict[str, Any] = {
        "/eth/v1/beacon/genesis": {"data": genesis},
        "/eth/v1/config/spec": {"data": vector["network"] | {"SECONDS_PER_SLOT": "12"}},
        f"/eth/v1/beacon/light_client/bootstrap/{vector['checkpoint']}": vector["bootstrap"]["object"],
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answers.get(self.path, {"code": 404})).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", vector["checkpoint"]
        finally:
            server.shutdown()
