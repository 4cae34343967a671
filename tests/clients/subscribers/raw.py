"""A subscriber without a library between: it keeps every message as it came."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE
from wsnode.pubsub.subscription import IDENTITY_BYTES


@contextmanager
def subscribed(url: str, *wanted: list[Any]) -> Iterator["RawSubscriber"]:
    """Connect, and give a subscriber to what is `wanted`."""
    with connect(url, max_size=None, compression=None) as connection:
        subscriber = RawSubscriber(connection, wanted)
        yield subscriber
    subscriber.finish()


class RawSubscriber:
    """What one connection was sent, and how it ended."""

    def __init__(self, connection: ClientConnection, wanted: Sequence[list[Any]]) -> None:
        """Subscribe to what is `wanted`: parameters of eth_subscribe each."""
        self._connection = connection
        self.messages: list[dict[str, Any]] = []
        """Notifications, in their order."""
        self.names = [self._subscribe(params) for params in wanted]
        self.close_code: int | None = None
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def told(self, place: int) -> list[dict[str, Any]]:
        """Return the params of the notifications to the subscription that was wanted at `place`."""
        told = [message["params"] for message in list(self.messages)]
        return [params for params in told if params["subscription"] == self.names[place]]

    def results(self, place: int) -> list[Any]:
        """Return the results among them."""
        return [params["result"] for params in self.told(place) if "result" in params]

    def errors(self, place: int) -> list[dict[str, Any]]:
        """Return the errors among them."""
        return [params["error"] for params in self.told(place) if "error" in params]

    def finish(self) -> None:
        """Return once the connection has ended."""
        self._reader.join()

    def _subscribe(self, params: list[Any]) -> str:
        self._connection.send(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params})
        )
        while "id" not in (message := json.loads(self._connection.recv(PATIENCE))):
            self.messages.append(message)
        name: str = message["result"]
        assert len(name) == IDENTITY_BYTES
        return name

    def _read(self) -> None:
        try:
            for message in self._connection:
                self.messages.append(json.loads(message))
            self.close_code = self._connection.close_code
        except ConnectionClosed:
            self.close_code = self._connection.close_code
