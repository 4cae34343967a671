"""The next request of a client that is quick and alone is polled for; nobody else's is."""

import trio

from tests.server.conftest import NUMBER, OpenSite, Site
from tests.server.http.test_connection import post
from wsnode.server.transport.transport import StreamTransport
from wsnode.server.turns.busy_poll import AWAKE_SECONDS, QUICK_SECONDS, TURN_SECONDS, Dialogue

REQUESTS = 100


class Client(StreamTransport):
    """Sends a piece each `pace` seconds of a clock that only it moves, and then leaves."""

    def __init__(self, pieces: list[bytes], pace: float) -> None:
        super().__init__(trio.testing.memory_stream_pair()[0])
        self.pieces, self.pace, self.now = pieces, pace, 0.0
        self.waits, self.polls, self.missed = 0, 0, 0
        self.answer = bytearray()

    def clock(self) -> float:
        return self.now

    def _next_piece(self) -> bytes:
        self.now += self.pace
        return self.pieces.pop(0) if self.pieces else b""

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint()
        self.waits += 1
        return self._next_piece()

    def receive_by(self, deadline: float) -> bytes | None:
        self.polls += 1
        if self.now + self.pace > deadline:
            self.now = deadline
            self.missed += 1
            return None
        return self._next_piece()

    def send_nowait(self, data: bytes | memoryview) -> int:
        self.answer += data
        return len(data)


async def served(site: Site, pieces: list[bytes], pace: float) -> Client:
    """A client that all requests of were answered."""
    client, shared = Client(pieces, pace), site.server.shared
    posts = b"".join(pieces).count(b"POST")
    shared.dialogue = Dialogue(shared.lane, client.clock)
    await site.server.serve_transport(client)
    assert client.answer.count(b"HTTP/1.1 200") == posts == shared.counters.http_requests
    assert not site.server.service.idle
    assert shared.counters.http_serving == 0
    return client


def posts(count: int) -> list[bytes]:
    return [post((NUMBER % number).encode()) for number in range(count)]


async def test_a_quick_client_is_polled_for_and_others_have_their_turn(open_site: OpenSite) -> None:
    async with open_site() as site:
        client = await served(site, posts(REQUESTS), pace=AWAKE_SECONDS / 2)
        assert client.polls > REQUESTS / 2
        assert not client.missed
        assert client.waits >= REQUESTS * client.pace / (TURN_SECONDS + 2 * client.pace)
        answered = [client.answer.index(b'"id":%d,' % number) for number in range(REQUESTS)]
        assert answered == sorted(answered)


async def test_a_slow_client_is_waited_for(open_site: OpenSite) -> None:
    async with open_site() as site:
        assert (await served(site, posts(REQUESTS), pace=QUICK_SECONDS * 2)).polls == 0


async def test_a_client_that_sends_several_requests_at_once_is_waited_for(open_site: OpenSite) -> None:
    async with open_site() as site:
        pairs = [b"".join(pair) for pair in zip(posts(REQUESTS), posts(REQUESTS), strict=True)]
        assert (await served(site, pairs, pace=AWAKE_SECONDS / 2)).polls == 0
