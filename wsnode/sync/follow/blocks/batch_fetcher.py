"""Fetch of blocks by number, in batches from all upstreams ahead of use, decoded in their order."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import trio

from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.state import ChainSpec
from wsnode.sync.follow.blocks.any_upstream import block_of_any
from wsnode.sync.follow.blocks.block_client import UnknownForkError, blocks_of_numbers, decoded_first
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

AT_ONCE: Final = 6
"""Maximum number of batches on the way, over all upstreams."""
FIRST_BLOCKS: Final = 8
MAX_BLOCKS: Final = 100
"""Maximum number of blocks of a batch; nodes refuse larger ones (geth above 1,000, providers above 100)."""
ASKED_BYTES: Final = 1 << 20
"""Bytes of a batch to aim at, by the sizes of the blocks before it."""
AHEAD_BLOCKS: Final = 2048
AHEAD_BYTES: Final = 32 << 20
"""Maximum number of bytes of blocks that are fetched, or asked for, and not decoded yet."""
DECODED_BLOCKS: Final = 256
DECODED_BYTES: Final = 2 << 20
"""Bytes after which no more blocks are added to those decoded together, on all cores."""
TRIES: Final = 5
PAUSE_SECONDS: Final = 0.5
USUAL_SECONDS: Final = 0.25
"""Seconds that a batch of an upstream is taken to last before its first answer."""


class BlockBatch(msgspec.Struct, frozen=True):
    """Consecutive blocks, and in `givers` the upstream that sent each."""

    blocks: list[UnverifiedBlock]
    givers: list[Upstream]


class BatchFetcher:
    """Fetcher of the blocks of a range of numbers."""

    def __init__(self, spec: ChainSpec, upstreams: Callable[[], Sequence[Upstream]]) -> None:
        self._spec = spec
        self._upstreams = upstreams
        self._fetched: dict[int, tuple[bytes, Upstream]] = {}
        self._bytes = 0
        self._next = 0
        """Number of the first block that is not decoded yet."""
        self._asked = 0
        """Number of the first block that is not asked for yet."""
        self._count = FIRST_BLOCKS
        """Number of blocks in the next batch."""
        self._most = MAX_BLOCKS
        self._seconds: dict[Upstream, float] = {}
        """Seconds that the last batch of each upstream took."""
        self._busy: dict[Upstream, int] = {}
        """Number of batches that each upstream has to answer."""
        self._changed = trio.Event()

    async def run(self, first: int, last: int, batches: "trio.MemorySendChannel[BlockBatch]") -> None:
        """Send the blocks `first` to `last` decoded, in order, and close the channel.

        Raises:
            UnknownForkError: A block is of a fork that is not known here; the blocks before it were sent.
            UpstreamError: A block cannot be had.
        """
        self._next = self._asked = first
        async with batches, trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch, last)
            while self._next <= last:
                encoded, givers = await self._take()
                blocks, error = await decoded_first(self._spec, encoded)
                if blocks:
                    await batches.send(BlockBatch(blocks, givers[: len(blocks)]))
                if error is not None:
                    raise error

    async def _fetch(self, last: int) -> None:
        while self._asked <= last:
            if self._is_far_ahead:
                await self._changed.wait()
                continue
            numbers = range(self._asked, min(self._asked + self._count, last + 1))
            self._asked = numbers.stop
            for number, found in (await self._batch(numbers)).items():
                self._keep(number, found)
            # A block that its batch did not give is requested alone, from all upstreams.
            for number in numbers:
                if number >= self._next and number not in self._fetched:
                    self._keep(number, await self._block(number))

    @property
    def _is_far_ahead(self) -> bool:
        """Return True if no more may be fetched until the next blocks are decoded."""
        return self._asked - self._next >= AHEAD_BLOCKS or (
            self._bytes + AT_ONCE * ASKED_BYTES > AHEAD_BYTES and self._asked > self._next
        )

    def _keep(self, number: int, found: tuple[bytes, Upstream]) -> None:
        self._fetched[number] = found
        self._bytes += len(found[0])
        self._wake()

    async def _batch(self, numbers: Sequence[int]) -> dict[int, tuple[bytes, Upstream]]:
        """Return the blocks of one batch by number, each with its upstream; none if the batch fails."""
        upstream = self._least_busy()
        if upstream is None or len(numbers) < 2:
            return {}
        self._busy[upstream] = self._busy.get(upstream, 0) + 1
        began = trio.current_time()
        try:
            blocks = await blocks_of_numbers(upstream, numbers)
        except UpstreamError as error:
            self._shrink(upstream, len(numbers), error)
            return {}
        finally:
            self._busy[upstream] -= 1
            self._seconds[upstream] = trio.current_time() - began
        found = {number: (block, upstream) for number, block in zip(numbers, blocks, strict=True) if block}
        self._fit_count([len(block) for block, _ in found.values()])
        return found

    def _shrink(self, upstream: Upstream, count: int, error: UpstreamError) -> None:
        """Ask for fewer blocks in one batch after a batch that failed."""
        smaller = max(2, count // 2)
        self._count = min(self._count, smaller)
        if isinstance(error, UpstreamRefusedError) and not error.is_about_rate:
            # The upstream refused the batch because of its size, or refuses any batch.
            self._most = min(self._most, smaller)
            upstream.takes_batches = count > 2

    def _least_busy(self) -> Upstream | None:
        """Return the upstream that will probably answer first, None if none takes batches."""
        usable = [upstream for upstream in self._upstreams() if upstream.takes_batches]

        def seconds(upstream: Upstream) -> float:
            return (self._busy.get(upstream, 0) + 1) * self._seconds.get(upstream, USUAL_SECONDS)

        return min(usable, key=seconds, default=None)

    def _fit_count(self, sizes: Sequence[int]) -> None:
        """Set the size of the next batch by the sizes of these blocks, at most twice this one."""
        if sizes:
            fitting = ASKED_BYTES * len(sizes) // max(1, sum(sizes))
            self._count = max(2, min(2 * self._count, fitting, self._most))

    async def _block(self, number: int) -> tuple[bytes, Upstream]:
        for attempt in range(1, TRIES + 1):
            try:
                return await block_of_any(self._upstreams(), number)
            except UnknownForkError:
                raise
            except UpstreamError:
                if attempt == TRIES:
                    raise
                await trio.sleep(PAUSE_SECONDS * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _take(self) -> tuple[list[bytes], list[Upstream]]:
        """Return the next fetched blocks and the upstream of each, once there are any."""
        while self._next not in self._fetched:
            await self._changed.wait()
        encoded: list[bytes] = []
        givers: list[Upstream] = []
        size = 0
        while len(encoded) < DECODED_BLOCKS and size < DECODED_BYTES and self._next in self._fetched:
            block, upstream = self._fetched.pop(self._next)
            encoded.append(block)
            givers.append(upstream)
            size += len(block)
            self._next += 1
        self._bytes -= size
        self._wake()
        return encoded, givers

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()
