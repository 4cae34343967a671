"""Plain requests to a node, one after another, to read samples of its chain."""

from types import TracebackType
from typing import Any

from wsnode.load.connection import encoder, open_connection
from wsnode.load.frames import error_text, read_reply
from wsnode.untrusted.decoding import MalformedError

REPLY_SECONDS = 30.0


class NodeRefusedError(ConnectionError):
    """Error of a call that the node answered with a JSON-RPC error; the message is its code and text."""


class NodeReader:
    """Connection with one request at a time."""

    def __init__(self, url: str) -> None:
        self._connection = open_connection(url)
        self._encode = encoder(url)
        self._identity = 0

    def __enter__(self) -> "NodeReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def ask(self, method: str, *params: object) -> Any:
        """Return the result of a call.

        Raises:
            NodeRefusedError: The node answered with an error.
            ConnectionError: The node did not answer, or not with JSON-RPC.
        """
        self._identity += 1
        self._connection.send(self._encode(self._identity, method, params))
        while True:
            message = self._connection.wait_message(REPLY_SECONDS)
            try:
                reply = read_reply(message)
            except MalformedError as error:
                raise ConnectionError(f"{method}: {error}") from None
            if reply.get("id") == self._identity:
                break
        if "error" in reply:
            raise NodeRefusedError(f"{method}: {error_text(message)}")
        if "result" not in reply:
            raise ConnectionError(f"{method}: a reply has neither a result nor an error")
        return reply["result"]

    def version(self) -> str:
        """Return the node's `web3_clientVersion`, "None" if it does not answer."""
        return str(self.try_ask("web3_clientVersion"))

    def try_ask(self, method: str, *params: object) -> Any:
        """Return the result of a call, None if the node answers with an error."""
        try:
            return self.ask(method, *params)
        except NodeRefusedError:
            return None
