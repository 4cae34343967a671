"""Beacon nodes that listen on a port of this machine, for followers in processes of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.sync.follow.beacon.beacon_nodes import BeaconAnswers
from tests.sync.follow.beacon.proved_world import grown_story


@contextmanager
def served_beacon(answers: BeaconAnswers) -> Iterator[str]:
    """Serve answers, without events, and give the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.answer(self.path)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def static_beacon() -> Iterator[tuple[str, str]]:
    """Serve one block, which is as old as its chain, and give the URL and the root of the block."""
    vector = grown_story()
    answers = BeaconAnswers(vector, lambda: 0)
    answers.spec = {"SECONDS_PER_SLOT": "12"}
    with served_beacon(answers) as url:
        yield url, vector["checkpoint"]
