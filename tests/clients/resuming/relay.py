"""A relay before a node, which hears what clients send and can lose connections at the worst moments."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from tests.node_process import PATIENCE


class Relay:
    """Passes messages on between clients and one node."""

    def __init__(self, url: str) -> None:
        self._url = url
        # A client that shares its cores with others may have no turn for as long as these usually are.
        patient = partial(serve, open_timeout=PATIENCE, ping_timeout=PATIENCE)
        self._server = patient(self._relay, "127.0.0.1", 0, max_size=None)
        self._clients: set[ServerConnection] = set()
        self.heard: list[dict[str, Any]] = []
        """The requests of all clients."""
        self.refused: list[dict[str, Any]] = []
        """Those among them that the node refused."""
        self.losing: set[str] = set()
        """Methods whose next reply is lost, and the connection with it."""
        self.delays_refusal = False
        """Whether the first refusal of a node comes right behind the first notification."""
        self.connections = 0
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self.cut()

    def cut(self) -> None:
        """End all connections without a word."""
        for client in list(self._clients):
            with suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)

    def _relay(self, client: ServerConnection) -> None:
        self.connections += 1
        self._clients.add(client)
        try:
            with connect(self._url, max_size=None) as node, suppress(ConnectionClosed):
                asked: dict[Any, dict[str, Any]] = {}
                threading.Thread(target=self._answer, args=(node, client, asked), daemon=True).start()
                for message in client:
                    request = json.loads(message)
                    asked[request["id"]] = request
                    self.heard.append(request)
                    node.send(message)
        finally:
            self._clients.discard(client)

    def _answer(self, node: Any, client: ServerConnection, asked: dict[Any, dict[str, Any]]) -> None:
        with suppress(ConnectionClosed, OSError):
            for message, reply in self._in_turn(node):
                request = asked.pop(reply.get("id"), {"method": None})
                if "error" in reply:
                    self.refused.append(request)
                if request["method"] in self.losing:
                    self.losing.remove(request["method"])
                    client.socket.shutdown(socket.SHUT_RDWR)
                    return
                client.send(message)
        with suppress(OSError):
            client.socket.shutdown(socket.SHUT_RDWR)

    def _in_turn(self, node: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield each message of a node, as it is and decoded."""
        notifications: list[tuple[Any, dict[str, Any]]] = []
        refusals: list[tuple[Any, dict[str, Any]]] = []
        for message in node:
            reply = json.loads(message)
            is_notification = reply.get("method") == "eth_subscription"
            if not self.delays_refusal or not (is_notification or "error" in reply):
                yield message, reply
                continue
            (notifications if is_notification else refusals).append((message, reply))
            if notifications and refusals:
                self.delays_refusal = False
                yield from notifications + refusals
