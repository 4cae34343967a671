"""A long way to an upstream's head: blocks by number, fetched ahead, decoded and executed beside that."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.state import ChainSpec
from wsnode.sync.follow.blocks.fetching import block_of_number, decoded
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.upstream.hedging import first_answer

AT_ONCE: Final = 32
"""Questions on the way together."""
AHEAD_BLOCKS: Final = 512
AHEAD_BYTES: Final = 32 << 20
"""What is fetched and not decoded yet."""
BATCH_BLOCKS: Final = 128
BATCH_BYTES: Final = 4 << 20
TRIES: Final = 5
PAUSE_SECONDS: Final = 0.5


class Batch(msgspec.Struct, frozen=True):
    """Blocks that follow one another, and who gave each."""

    blocks: list[UnverifiedBlock]
    givers: list[Upstream]


class Ranges:
    """Fetches blocks of a range of numbers, in their order."""

    def __init__(self, spec: ChainSpec, upstreams: Callable[[], Sequence[Upstream]]) -> None:
        self._spec = spec
        self._upstreams = upstreams
        self._fetched: dict[int, tuple[bytes, Upstream]] = {}
        self._bytes = 0
        self._next = 0
        self._changed = trio.Event()

    async def run(self, first: int, last: int, batches: "trio.MemorySendChannel[Batch]") -> None:
        """Send the blocks `first` to `last` in batches, and close the channel.

        Raises:
            UpstreamError: A block cannot be had.
        """
        async with batches, trio.open_nursery() as nursery:
            numbers = iter(range(first, last + 1))
            self._next = first
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch, numbers)
            while self._next <= last:
                encoded, givers = await self._next_batch()
                await batches.send(Batch(await decoded(self._spec, encoded), givers))

    async def _fetch(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            while number - self._next >= AHEAD_BLOCKS or (self._bytes > AHEAD_BYTES and number != self._next):
                await self._changed.wait()
            found = await self._block(number)
            self._fetched[number] = found
            self._bytes += len(found[0])
            self._wake()

    async def _block(self, number: int) -> tuple[bytes, Upstream]:
        for attempt in range(1, TRIES + 1):
            try:
                return await self._tried(number)
            except UpstreamError:
                if attempt == TRIES:
                    raise
                await trio.sleep(PAUSE_SECONDS * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _tried(self, number: int) -> tuple[bytes, Upstream]:
        upstreams = {upstream.client: upstream for upstream in self._upstreams()}

        async def ask(client: Client) -> bytes:
            return await block_of_number(upstreams[client], number)

        client, encoded = await first_answer(list(upstreams), ask)
        return encoded, upstreams[client]

    async def _next_batch(self) -> tuple[list[bytes], list[Upstream]]:
        """Return the next blocks that are there, once there are some."""
        batch: list[bytes] = []
        givers: list[Upstream] = []
        size = 0
        while not batch:
            while len(batch) < BATCH_BLOCKS and size < BATCH_BYTES and self._next in self._fetched:
                encoded, upstream = self._fetched.pop(self._next)
                batch.append(encoded)
                givers.append(upstream)
                size += len(encoded)
                self._next += 1
            if not batch:
                await self._changed.wait()
        self._bytes -= size
        self._wake()
        return batch, givers

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()
