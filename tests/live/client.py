"""A client's end of a connection to a node in memory, and the messages it receives."""

import json
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from tests.server.conftest import Peer


class Client:
    """One connection, with its replies by request and its notifications by subscription."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.told: dict[str, list[dict[str, Any]]] = {}
        """The params of each notification, by subscription."""
        self.messages: list[Any] = []
        """Everything, in its order."""
        self._replies: dict[int, dict[str, Any]] = {}
        self._requests = 0
        self._reading = trio.Event()
        self._reading.set()

    def pause(self) -> None:
        """Read nothing more, but for the message that is waited for."""
        self._reading = trio.Event()

    def go_on(self) -> None:
        """Read again."""
        self._reading.set()

    async def read(self) -> None:
        """Take what comes, until the connection ends."""
        try:
            while True:
                await self._reading.wait()
                self.take(json.loads(await self.peer.message()))
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    def take(self, message: Any) -> None:
        """Put a message where it belongs; the reply to a batch is only one of `messages`."""
        self.messages.append(message)
        if isinstance(message, list):
            return
        if "method" in message:
            params = message["params"]
            self.told.setdefault(params["subscription"], []).append(params)
        else:
            self._replies[message["id"]] = message

    async def settle(self) -> None:
        """Wait until everything that was sent has arrived."""
        await wait_all_tasks_blocked()

    async def reply(self, identity: int) -> dict[str, Any]:
        """Return the reply to a request, once everything that was sent has arrived."""
        await wait_all_tasks_blocked()
        return self._replies.pop(identity)

    async def ask(self, method: str, *params: Any) -> int:
        """Send a request and return its id."""
        self._requests += 1
        await self.peer.call(method, *params, id=self._requests)
        return self._requests

    async def call(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the reply, once everything that was sent has arrived."""
        return await self.reply(await self.ask(method, *params))

    async def subscribe(self, *params: Any) -> str:
        """Return the id of a new subscription."""
        reply = await self.call("eth_subscribe", *params)
        assert "result" in reply, reply
        identity: str = reply["result"]
        self.told.setdefault(identity, [])
        return identity

    async def leave(self) -> None:
        """Close the connection without a word."""
        await trio.aclose_forcefully(self.peer.stream)
        await wait_all_tasks_blocked()
