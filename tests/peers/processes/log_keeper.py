"""A client that keeps the logs of a chain: it goes on at its cursor after whatever ends its connection."""

import json
import threading
import time
from typing import Any, Self

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

PAUSE_SECONDS = 0.05
LOOK_SECONDS = 0.5
"""How long it reads before it looks whether it is to end."""

Log = dict[str, Any]


class LogKeeper:
    """Checks notifications as they come: no log twice, and logs taken back in reverse order."""

    def __init__(self, url: str, wanted: dict[str, Any]) -> None:
        self._url = url
        self._begin: dict[str, Any] = {**wanted, "fromBlock": "0x0", "cursors": True}
        self._wanted = wanted
        self._cursor: str | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.logs: list[Log] = []
        """Those that were not taken back, in the order of the chain."""
        self.removed = self.connections = 0
        self.mistake: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._is_over.is_set() and self.mistake is None:
            try:
                with connect(self._url, max_size=None, compression=None) as connection:
                    self.connections += 1
                    self._read(connection)
            except (OSError, EOFError, WebSocketException):
                time.sleep(PAUSE_SECONDS)

    def _read(self, connection: ClientConnection) -> None:
        begin = self._begin if self._cursor is None else {**self._wanted, "cursor": self._cursor}
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["logs", begin]}
        connection.send(json.dumps(request))
        while not self._is_over.is_set() and self.mistake is None:
            try:
                message = json.loads(connection.recv(timeout=LOOK_SECONDS))
            except TimeoutError:
                continue
            if "params" in message:
                self._take(message["params"])
            elif "error" in message:
                self.mistake = f"not subscribed: {message['error']}"

    def _take(self, params: dict[str, Any]) -> None:
        if "result" not in params:
            # A farewell, or word of having read too slowly: what is missed comes behind the cursor.
            return
        log = params["result"]
        if log["removed"]:
            self._take_back(log)
        elif self.logs and place(log) <= place(self.logs[-1]):
            self.mistake = f"{place(log)} comes after {place(self.logs[-1])}"
        else:
            self.logs.append(log)
        self._cursor = params["cursor"]

    def _take_back(self, log: Log) -> None:
        self.removed += 1
        if not self.logs or self.logs[-1] != {**log, "removed": False}:
            last = place(self.logs[-1]) if self.logs else None
            self.mistake = f"{place(log)} of {log['blockHash']} is taken back, and the last log is {last}"
        else:
            self.logs.pop()


def place(log: Log) -> tuple[int, int]:
    """Return where on its chain a log stands."""
    return int(log["blockNumber"], 16), int(log["logIndex"], 16)
