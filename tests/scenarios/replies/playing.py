"""Plays conversations to a server of this process, over pairs of sockets, and notes the replies."""

import json
import re
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import trio
import trio.testing
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from tests.clocks import stopped
from tests.node_process import PATIENCE
from tests.scenarios.replies.generator import ACCOUNTS, Conversation, request
from tests.server.conftest import Peer, until
from tests.server.websocket.test_frames import masked
from tests.vector_files import require_vectors
from wsnode._native.wire import VersionedCache
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.live.block_barrier import Announced, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.router import KeyStore, Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.poller import Reactor
from wsnode.server.transport.transport import SocketTransport
from wsnode.sync.importer import import_files
from wsnode.sync.progress import NullProgress

LIMITS = Limits(
    batch_items=20,
    reply_bytes=100_000,
    batch_reply_bytes=150_000,
    message_bytes=350_000,
    body_bytes=350_000,
    # In a thread a reply would be compressed while later ones are sent.
    deflate_inline_bytes=400_000,
    batch_seconds=PATIENCE,
    call_wait_seconds=PATIENCE,
    slow_seconds=PATIENCE,
)
CALL_LIMITS = CallLimits(
    call_seconds=PATIENCE,
    trace_seconds=PATIENCE,
    logs_seconds=PATIENCE,
    trace_filter_seconds=PATIENCE,
    search_seconds=PATIENCE,
    min_block_seconds=0.002,
)
KEY = KeyLimits(methods=("eth_*", "net_version", "wsnode_*"), contracts=tuple(ACCOUNTS[:3]))
_DRAWN = re.compile(rb'"0x[0-9a-f]{32}"')
"""Identities of subscriptions and filters, which are drawn anew in each run."""
_NUMBERED = re.compile(rb"request [0-9a-f]{8}")


class Keys:
    """One key, of which every other is a copy."""

    def __init__(self) -> None:
        self._key = ApiKey("limited", KEY)

    def lookup(self, key: str) -> ApiKey | None:
        return self._key


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator["Player"]:
    """Yield what plays conversations to a server of the chain of execution-apis, made in `folder`."""
    vectors = require_vectors("execution-apis")
    genesis = (vectors / "genesis.json").read_bytes()
    with Chain.open(folder, genesis, writer=True, durable=False) as chain:
        await import_files(chain, [str(vectors / "chain.rlp")], NullProgress())
        with chain.snapshot() as view:
            higher = view.number + 3
        server = Server(
            [
                _network("plain", chain),
                _network("behind", chain, lambda: higher),
                _network("keyed", chain, keys=Keys()),
            ],
            LIMITS,
        )
        async with trio.open_nursery() as nursery:
            reactor = Reactor()
            nursery.start_soon(server.hand_out)
            nursery.start_soon(reactor.run)
            yield Player(server, reactor, nursery)
            nursery.cancel_scope.cancel()
        reactor.close()


def _network(
    name: str, chain: Chain, announced: Announced = nothing_known, keys: KeyStore | None = None
) -> Network:
    hub = Hub(chain)
    registry = build_registry(
        chain,
        limits=CALL_LIMITS,
        hub=hub,
        pool=TransactionPool(chain),
        announced=announced,
        timer=stopped,
        unavailable={"alt_": {"network": name}},
    )
    return Network(
        name,
        registry,
        chain.snapshot,
        (name,),
        keys=keys,
        fan_out=hub.fan_out,
        versioned_cache=VersionedCache(chain),
        barrier=registry.barrier,
    )


class Player:
    """Plays one conversation after another."""

    def __init__(self, server: Server, reactor: Reactor, nursery: trio.Nursery) -> None:
        self._server = server
        self._reactor = reactor
        self._nursery = nursery

    async def play(self, conversation: Conversation) -> list[list[str]]:
        """Return the replies to each burst; those of one that may be sent in any order are sorted."""
        if conversation.transport == "HTTP":
            return [await self._exchange(conversation)]
        return [each async for each in self._converse(conversation)]

    def _connect(self) -> trio.SocketStream:
        ours, theirs = socket.socketpair()
        transport = SocketTransport(theirs, self._reactor)
        self._nursery.start_soon(self._server.serve_transport, transport)
        ours.setblocking(False)
        return trio.SocketStream(trio.socket.from_stdlib_socket(ours))

    async def _converse(self, conversation: Conversation) -> AsyncIterator[list[str]]:
        peer = Peer(self._connect(), deflate=conversation.compressed)
        peer.protocol.uri = parse_uri(f"ws://{conversation.network}{_path(conversation, '/ws')}")
        response = await peer.open()
        assert response.status_code == 101, response
        for burst in conversation.bursts:
            yield await self._say(peer, b"".join(masked(0x81, text) for text in burst))
        if conversation.end:
            yield await self._say(peer, conversation.end)
        await peer.stream.aclose()
        await self._settle()

    async def _say(self, peer: Peer, data: bytes) -> list[str]:
        """Send frames, and return the replies, and the code of a close."""
        replies: list[bytes] = []
        is_open = await _send(peer, data) and await self._read_to_mark(peer, replies)
        if is_open:
            await self._settle()
            is_open = await self._read_to_mark(peer, replies)
        said = sorted(map(shown, replies))
        if not is_open:
            code = peer.protocol.close_rcvd
            said.append(f"closed: {None if code is None else int(code.code)}")
        return said

    async def _read_to_mark(self, peer: Peer, replies: list[bytes]) -> bool:
        """Ask for a mark, and read replies up to it; return False if the connection has ended."""
        mark = masked(0x81, json.dumps(request("net_version", [], "mark")).encode())
        if not await _send(peer, mark):
            return False
        while True:
            try:
                text = await peer.message()
            except trio.EndOfChannel:
                return False
            if b'"id":"mark"' in text:
                return True
            replies.append(text)

    async def _settle(self) -> None:
        """Wait until no call is in flight, nor is about to begin."""
        await trio.testing.wait_all_tasks_blocked()
        await until(lambda: not self._server.shared.executor.in_flight)

    async def _exchange(self, conversation: Conversation) -> list[str]:
        stream, said = self._connect(), list[str]()
        for (body,) in conversation.bursts:
            client = h11.Connection(h11.CLIENT)
            headers = [("Host", conversation.network), ("Content-Type", "application/json")]
            headers.append(("Content-Length", str(len(body))))
            if conversation.min_block is not None:
                headers.append(("wsnode-min-block", conversation.min_block))
            target = _path(conversation, "")
            asked = client.send(h11.Request(method="POST", target=target, headers=headers)) or b""
            asked += client.send(h11.Data(data=body)) or b""
            await stream.send_all(asked + (client.send(h11.EndOfMessage()) or b""))
            said.append(await _read_response(client, stream))
        await stream.aclose()
        await self._settle()
        return said


def _path(conversation: Conversation, prefix: str) -> str:
    # Without a key in the path replies have the node's plain form.
    return "/" if conversation.network == "behind" else f"{prefix}/v3/key"


async def _send(peer: Peer, data: bytes) -> bool:
    """Send bytes; return False if the other side has ended."""
    try:
        await peer.send_raw(data)
    except trio.BrokenResourceError:
        # It may have said why before.
        while not peer.protocol.reader.eof:
            peer.frames += [each for each in await peer.receive() if isinstance(each, Frame)]
        return False
    return peer.protocol.close_rcvd is None and not any(each.opcode is Opcode.CLOSE for each in peer.frames)


async def _read_response(client: h11.Connection, stream: trio.SocketStream) -> str:
    status, headers, body = 0, dict[str, str](), b""
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            client.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode(): value.decode() for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += event.data
    kept = {name: headers[name] for name in ("wsnode-block", "retry-after", "connection") if name in headers}
    return f"{status} {json.dumps(kept)} {shown(body)}"


def shown(reply: bytes) -> str:
    """Return the text of a reply without what is drawn anew in each run."""
    return _NUMBERED.sub(b"request N", _DRAWN.sub(b'"drawn"', reply)).decode()


async def played(folder: Path, conversations: Iterable[Conversation]) -> list[Any]:
    """Return the replies to conversations."""
    async with opened(folder) as player:
        return [await player.play(each) for each in conversations]
