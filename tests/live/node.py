"""A server over a chain that the test writes, on memory streams, for clients of its subscriptions."""

import json
from typing import Any, Generic, Protocol, TypeVar

import trio
import trio.testing

from tests.server.conftest import Peer, read_all
from wsnode.server.server import Server

POST = (
    b"POST /v3/key HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)


class Reading(Protocol):
    """A client that takes what comes."""

    async def read(self) -> None:
        """Take it until the connection ends."""
        ...


Connected = TypeVar("Connected", bound=Reading)


class LiveNode(Generic[Connected]):
    """A node whose hub reads the store on command."""

    def __init__(self, server: Server, nursery: trio.Nursery, client: type[Connected]) -> None:
        """`client` makes a client of its end of a connection."""
        self.server = server
        self._nursery = nursery
        self._client: Any = client
        nursery.start_soon(server.hand_out)

    async def connect(self, *, pauses: bool = False, path: str = "/ws/v3/key") -> Connected:
        """Return a new client that reads what comes; if it `pauses` later, nothing is read ahead for it."""
        mine, theirs = trio.testing.lockstep_stream_pair() if pauses else trio.testing.memory_stream_pair()
        self._nursery.start_soon(self.server.serve_stream, theirs)
        peer = Peer(mine, path=path)
        await peer.open()
        client: Connected = self._client(peer)
        self._nursery.start_soon(client.read)
        return client

    async def post(self, method: str, params: Any) -> dict[str, Any]:
        """Return the reply over HTTP."""
        return await posted(self.server, self._nursery, method, params)


async def posted(server: Server, nursery: trio.Nursery, method: str, params: Any) -> dict[str, Any]:
    """Return the reply over an HTTP connection of its own."""
    mine, theirs = trio.testing.memory_stream_pair()
    nursery.start_soon(server.serve_stream, theirs)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    async with mine:
        await mine.send_all(POST % (len(body), body))
        reply: dict[str, Any] = json.loads((await read_all(mine)).partition(b"\r\n\r\n")[2])
    return reply
