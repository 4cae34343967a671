"""Calls that are answered where a socket is read, and all that is left to the reader instead."""

import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from tests.server.transport.test_poller import Sockets, Taker
from tests.server.websocket.test_frames import compressed, masked
from wsnode._native.wire import FastPath, NativeMethods, SocketQueue, VersionedCache
from wsnode.server.transport.poller import RECEIVE_BYTES, Reactor
from wsnode.server.websocket.frames import text_frame
from wsnode.store.environment import Environment
from wsnode.store.table import Table

TABLE = Table("table")
CALL = masked(0x81, b'{"jsonrpc":"2.0","id":1,"method":"constant","params":[]}')
REPLY = text_frame(b'{"jsonrpc":"2.0","id":1,"result":"c"}')
HEIGHT = masked(0x81, b'{"jsonrpc":"2.0","id":2,"method":"height"}')
OTHER = masked(0x81, b'{"jsonrpc":"2.0","id":3,"method":"other"}')


class StoredChain(msgspec.Struct):
    """A chain that is a store alone."""

    store: Environment


class Plain:
    """A connection that may be at rest, and counts."""

    def __init__(self, versioned_cache: VersionedCache | None) -> None:
        methods = NativeMethods([])
        self.fast_path = versioned_cache and FastPath(
            versioned_cache, methods, are_frames=True, is_plain=True
        )
        self.burst_bytes = 100_000
        self.largest = 1000
        self.asked = 0
        self.counted: list[tuple[Mapping[str, int], int]] = []
        self.posted = b""

    def fast_reply_limit(self) -> int:
        self.asked += 1
        return self.largest

    def count_answered(self, counts: Mapping[str, int], size: int, seconds: float, longest: float) -> None:
        assert 0 < longest <= seconds < 60
        self.counted.append((counts, size))

    def post(self, frames: bytes) -> None:
        self.posted += frames


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    found = Environment(tmp_path_factory.mktemp("store"), [TABLE], writer=True)
    found.write(lambda writer: writer.put(TABLE, b"key", b"value"))
    yield found
    found.close()


@pytest.fixture
def versioned_cache(store: Environment) -> VersionedCache:
    results = VersionedCache(StoredChain(store))
    results.keep("constant", b'"c"', None)
    with store.read() as reader:
        results.keep("height", b"1", reader.version)
    return results


@pytest.fixture
async def sockets() -> AsyncIterator[Sockets]:
    reactor = Reactor()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reactor.run)
            found = Sockets(reactor, nursery)
            yield found
            nursery.cancel_scope.cancel()
    for client in found.clients:
        client.close()
    for transport in found.transports:
        await transport.aclose()
    reactor.close()


class Connected:
    """A socket with a reader that is plain."""

    def __init__(self, sockets: Sockets, versioned_cache: VersionedCache | None) -> None:
        self.client, transport = sockets.pair()
        self.plain, self.taker = Plain(versioned_cache), Taker()
        self.more: list[bool] = []
        self._sockets = sockets

        async def read() -> None:
            self.more.append(await transport.feed(self.taker, None, self.plain))

        sockets.nursery.start_soon(read)

    async def send(self, data: bytes) -> bytes:
        """Send something, and return what comes back."""
        self.client.send(data)
        await self._sockets.settle()
        try:
            return self.client.recv(1 << 20)
        except BlockingIOError:
            return b""


async def test_plain_calls_are_answered_without_the_reader(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    one, two = Connected(sockets, versioned_cache), Connected(sockets, versioned_cache)
    assert await one.send(CALL) == REPLY
    assert (
        await two.send(CALL + HEIGHT + CALL)
        == REPLY + text_frame(b'{"jsonrpc":"2.0","id":2,"result":1}') + REPLY
    )
    assert one.taker.taken == two.taker.taken == []
    assert one.plain.counted == [({"constant": 1}, len(CALL))]
    assert two.plain.counted == [({"constant": 2, "height": 1}, len(CALL + HEIGHT + CALL))]


async def test_bursts_of_one_visit_are_counted_together(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    # Each burst is as quick as that, however busy the machine is.
    queue, plain = SocketQueue(RECEIVE_BYTES, 60.0), Plain(versioned_cache)
    for number, (client, _) in enumerate([sockets.pair() for _ in range(20)]):
        client.send(CALL)
        descriptor = sockets.ends[number].fileno()
        queue.watch(descriptor, None, plain)
        queue.add(descriptor)
    assert queue.next(60.0) is None
    assert plain.counted == [({"constant": 20}, 20 * len(CALL))]


async def test_a_visit_that_runs_out_of_time_forgets_no_socket(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    queue, pairs = SocketQueue(RECEIVE_BYTES, 1.0), [sockets.pair() for _ in range(9)]
    for number, (client, _) in enumerate(pairs):
        client.send(CALL)
        descriptor = sockets.ends[number].fileno()
        queue.watch(descriptor, "odd" if number % 2 else None, Plain(versioned_cache))
        queue.add(descriptor)
    visits = 0
    while queue.waiting:
        assert queue.next(0.0) is None
        visits += 1
    assert [client.recv(1000) for client, _ in pairs] == [REPLY] * 9
    # One socket each, at least.
    assert visits == 9


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (OTHER, OTHER),
        (CALL[:-1], CALL[:-1]),
        (masked(0x89, b"ping"), masked(0x89, b"ping")),
        (masked(0x88, b"\x03\xe8"), masked(0x88, b"\x03\xe8")),
        (masked(0xC1, compressed(b"{}")), masked(0xC1, compressed(b"{}"))),
        (masked(0x01, b"{"), masked(0x01, b"{")),
        (b"\xff" * 9, b"\xff" * 9),
        (CALL + OTHER + CALL, OTHER + CALL),
        (CALL + CALL[:1], CALL[:1]),
        (CALL + masked(0x89, b"") + CALL, masked(0x89, b"") + CALL),
    ],
    ids=["other", "partial", "ping", "close", "compressed", "fragment", "broken", "rest", "begun", "control"],
)
async def test_what_is_not_plain_is_left_to_the_reader_with_all_that_follows(
    sockets: Sockets, versioned_cache: VersionedCache, data: bytes, left: bytes
) -> None:
    connected = Connected(sockets, versioned_cache)
    answered = data[: len(data) - len(left)]
    assert await connected.send(data) == len(answered) // len(CALL) * REPLY
    assert connected.taker.taken == [left]
    assert [size for _, size in connected.plain.counted] == [len(answered)] * bool(answered)


async def test_a_connection_that_is_not_at_rest_is_given_everything(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    connected = Connected(sockets, versioned_cache)
    connected.plain.largest = 0
    assert await connected.send(CALL) == b""
    assert (connected.taker.taken, connected.plain.counted, connected.plain.asked) == ([CALL], [], 1)


async def test_a_connection_that_shares_no_results_is_not_asked(sockets: Sockets) -> None:
    connected = Connected(sockets, None)
    assert await connected.send(CALL) == b""
    assert (connected.taker.taken, connected.plain.asked) == ([CALL], 0)


async def test_a_reply_that_is_too_long_is_left(sockets: Sockets, versioned_cache: VersionedCache) -> None:
    connected = Connected(sockets, versioned_cache)
    connected.plain.largest = len(REPLY) - 3
    assert await connected.send(CALL) == b""
    assert connected.taker.taken == [CALL]


async def test_results_are_given_until_the_store_changes(
    sockets: Sockets, versioned_cache: VersionedCache, store: Environment
) -> None:
    connected = Connected(sockets, versioned_cache)
    assert await connected.send(HEIGHT)
    store.write(lambda writer: writer.put(TABLE, b"key", b"another"))
    assert await connected.send(CALL + HEIGHT) == REPLY
    assert connected.taker.taken == [HEIGHT]


async def test_of_a_closed_store_nothing_is_given(sockets: Sockets, tmp_path: Path) -> None:
    store = Environment(tmp_path / "store", [TABLE], writer=True)
    results = VersionedCache(StoredChain(store))
    results.keep("constant", b'"c"', None)
    store.close()
    connected = Connected(sockets, results)
    assert await connected.send(CALL) == b""
    assert connected.taker.taken == [CALL]


async def test_a_reader_that_must_act_is_given_what_arrives_when_it_is_back(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    connected = Connected(sockets, versioned_cache)
    assert await connected.send(b"!") == b""
    assert (connected.taker.taken, connected.more) == ([b"!"], [True])
    assert await connected.send(CALL) == b""
    assert connected.plain.asked == 1
    plain = Plain(versioned_cache)
    sockets.nursery.start_soon(sockets.transports[0].feed, Taker(), None, plain)
    await sockets.settle()
    assert connected.client.recv(1000) == REPLY
    assert plain.counted == [({"constant": 1}, len(CALL))]


async def test_a_cancelled_reader_is_not_plain_any_more(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    client, transport = sockets.pair()
    plain = Plain(versioned_cache)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.feed, Taker(), None, plain)
        await sockets.settle()
        nursery.cancel_scope.cancel()
    client.send(CALL)
    await sockets.settle()
    assert plain.asked == 0
    assert await transport.receive() == CALL


@pytest.mark.parametrize("is_reset", [False, True])
async def test_the_end_is_seen_behind_what_was_answered(
    sockets: Sockets, versioned_cache: VersionedCache, *, is_reset: bool
) -> None:
    connected = Connected(sockets, versioned_cache)
    assert await connected.send(CALL) == REPLY
    if is_reset:
        sockets.transports[0].send_nowait(b"never read")
    else:
        connected.client.send(CALL)
    connected.client.close()
    await sockets.settle()
    assert connected.more == [False]
    # What comes with the end is the reader's.
    assert connected.taker.taken == ([] if is_reset else [CALL])


async def test_a_full_read_is_left_to_the_reader(sockets: Sockets, versioned_cache: VersionedCache) -> None:
    connected = Connected(sockets, versioned_cache)
    data = (RECEIVE_BYTES // len(CALL) + 2) * CALL
    connected.client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * RECEIVE_BYTES)
    replies = await connected.send(data)
    assert connected.taker.taken[0] == data[:RECEIVE_BYTES]
    assert b"".join(connected.taker.taken) + len(replies) // len(REPLY) * CALL == data


async def test_replies_that_the_system_does_not_accept_are_posted(
    sockets: Sockets, versioned_cache: VersionedCache
) -> None:
    connected = Connected(sockets, versioned_cache)
    await sockets.settle()
    filled = 0
    while sent := sockets.transports[0].send_nowait(bytes(1000)):
        filled += sent
    connected.client.send(CALL + CALL + OTHER)
    await sockets.settle()
    assert connected.plain.posted == 2 * REPLY
    assert connected.taker.taken == [OTHER]
    assert connected.plain.counted == [({"constant": 2}, 2 * len(CALL))]
    assert not connected.more


async def test_a_failing_connection_loses_no_bytes(
    sockets: Sockets, versioned_cache: VersionedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = list[object]()
    monkeypatch.setattr("sys.unraisablehook", reported.append)
    connected = Connected(sockets, versioned_cache)
    connected.plain.largest = -1
    assert await connected.send(CALL) == b""
    assert connected.taker.taken == [CALL]
    assert len(reported) == 1


async def test_peers_take_turns_whether_their_calls_are_plain_or_not(versioned_cache: VersionedCache) -> None:
    reactor, order = Reactor(), list[bytes]()

    class Ordered(Plain):
        def fast_reply_limit(self) -> int:
            order.append(b"plain")
            return 0

    def take(data: bytes) -> bool:
        order.append(data)
        return True

    async with trio.open_nursery() as nursery:
        sockets = Sockets(reactor, nursery)
        for peer in ["many"] * 40 + ["one"]:
            client, transport = sockets.pair()
            client.send(peer.encode())
            plain = Ordered(versioned_cache) if peer == "many" else None
            nursery.start_soon(transport.feed, take, peer, plain)
        nursery.start_soon(reactor.run)
        await sockets.settle()
        nursery.cancel_scope.cancel()
    # What is not known yet is expected to take as long as ten quick turns.
    assert order[: order.index(b"one")].count(b"many") <= 10
    assert order.count(b"plain") == order.count(b"many") == 40
    for client, transport in zip(sockets.clients, sockets.transports, strict=True):
        client.close()
        await transport.aclose()
    reactor.close()
