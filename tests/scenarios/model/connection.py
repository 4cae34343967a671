"""A client's end of a connection, which reads on command."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import trio
from trio.testing import wait_all_tasks_blocked
from websockets.exceptions import InvalidState

from tests.scenarios.model.followers import Follower, PendingFollower
from tests.server.conftest import Peer

WITHOUT_LIMIT: Final = 1 << 30


class LockedPeer(Peer):
    """A peer that may answer a close while a request is being sent."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, *, deflate: bool) -> None:
        super().__init__(stream, deflate=deflate)
        self._sending = trio.Lock()

    async def flush(self) -> None:
        """Send what is to be sent, one after the other."""
        async with self._sending:
            await super().flush()


class Connection:
    """A client that reads as many messages as it may."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.receivers: dict[str, Follower[Any] | PendingFollower] = {}
        self.ending: set[str] = set()
        self.over: set[str] = set()
        """Subscriptions that were ended, of which nothing more may come."""
        self.closed = False
        self._waiting: dict[int, Callable[[str], None]] = {}
        self._requests = 0
        self._scope = trio.CancelScope()
        self._allowance = WITHOUT_LIMIT
        self._allowed = trio.Event()

    @property
    def reads(self) -> bool:
        """Return whether it reads all that comes."""
        return self._allowance > WITHOUT_LIMIT // 2

    def read_on(self) -> None:
        """Read all that comes."""
        self.read_only(WITHOUT_LIMIT)

    def read_only(self, count: int) -> None:
        """Read a number of messages from now on, and no more."""
        self._allowance = count
        self._allowed.set()

    async def ask(self, taken: Callable[[Any], None], method: str, *params: Any) -> None:
        """Send a request, unless the connection is being closed; `taken` gets the result."""
        self._requests += 1
        self._waiting[self._requests] = taken
        with suppress(trio.BrokenResourceError, InvalidState):
            await self.peer.call(method, *params, id=self._requests)

    async def run(self) -> None:
        """Take what comes, until the connection ends."""
        with self._scope, suppress(trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                while self._allowance <= 0:
                    self._allowed = trio.Event()
                    await self._allowed.wait()
                message = json.loads(await self.peer.message())
                self._allowance -= 1
                self._take(message)
        self.closed = True

    async def leave(self) -> None:
        """Break off."""
        self._scope.cancel()
        await trio.aclose_forcefully(self.peer.stream)
        await wait_all_tasks_blocked()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            assert "result" in message, message
            self._waiting.pop(message["id"])(message["result"])
            return
        params = message["params"]
        identity = params.pop("subscription")
        assert identity not in self.over, "nothing is sent after the end of a subscription"
        self.receivers[identity].take(params)
