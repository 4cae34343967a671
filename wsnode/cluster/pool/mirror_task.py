"""Task that reads the contents of the writer's pool, and copies them into the pool of this node."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import trio

from wsnode.cluster.journal import JournalUnavailableError
from wsnode.cluster.pool.mirror import Mirror
from wsnode.cluster.pool.stream import MAX_TRANSACTIONS, Encoded, OpenStream, PoolStream, RecordedChange
from wsnode.cluster.records import RecordId, UnreadableRecordError
from wsnode.ethereum.codec.transactions import PooledTransaction

READ_SECONDS: Final = 0.5
"""Seconds to wait for a change before the mirror compares this node's head."""
REPAIR_SECONDS: Final = 3.0
"""Seconds after which missing transactions are asked for, even if the head has not moved."""
REPAIRED_AT_ONCE: Final = 256
SLICE: Final = 32
"""Transactions that are checked in a row, in some 3 ms."""
AWAY_SECONDS: Final = 0.5

Sliced = TypeVar("Sliced")
OnChange = Callable[[list[Encoded], list[bytes]], object]

logger = logging.getLogger("wsnode.journal")


class MirrorTask:
    """Task that copies the writer's pool to this node's, from the stream of the pool's changes in Redis,
    while another process writes it; works while `run` is running.
    """

    def __init__(
        self,
        mirror: Mirror,
        head: Callable[[], object],
        open_stream: OpenStream,
        is_reader: Callable[[], bool] = lambda: True,
        is_own: Callable[[int], bool] = lambda _epoch: False,
    ) -> None:
        """Prepare to copy the pool; `head` returns this node's head.

        `is_reader` returns True while another process writes, or may. `is_own` returns True for an epoch in
        which this process wrote: its own changes are no news to it.
        """
        self.mirror = mirror
        self._head = head
        self.open = open_stream
        self._is_reader = is_reader
        self._is_own = is_own
        self._position: RecordId | None = None
        self.is_reachable = False
        self._is_away = False
        self._repaired: tuple[object, float] = None, 0.0
        """Head and time of the last repair."""
        self._looked = 0.0
        self._is_lost = False
        self.on_change: list[OnChange] = []
        """Called with the added transactions, and the hashes of the dropped ones."""

    def has_heard(self, epoch: int) -> bool:
        """Return True if all transactions of the writer of an epoch are known here."""
        return self.mirror.is_whole and self.mirror.epoch == epoch

    async def run(self) -> None:
        """Read for ever; while the journal is away the pool keeps its contents."""
        while True:
            if not self._is_reader():
                await trio.sleep(READ_SECONDS)
                continue
            try:
                async with self.open() as stream:
                    await self._follow(stream)
            except (JournalUnavailableError, UnreadableRecordError) as error:
                self._note_away(error)
                await trio.sleep(AWAY_SECONDS)

    async def _follow(self, stream: PoolStream) -> None:
        """Read while another process writes this journal."""
        open_stream = self.open
        if self._position is None:
            await self._read_anew(stream)
        while self._is_reader() and self.open is open_stream:
            try:
                said = await stream.read(self._position, READ_SECONDS)
                self._note_there()
                is_linked = await self._are_taken(said)
            except UnreadableRecordError as error:
                logger.debug("%s; the writer's whole pool is read again", error)
                is_linked = False
            if not is_linked:
                await self._read_anew(stream)
            await self._repair(stream)

    async def _are_taken(self, said: Sequence[RecordedChange]) -> bool:
        """Apply changes to the mirror; return True if each one follows the one before, False at the first
        that does not.
        """
        for each in said:
            if self._is_own(each.id.epoch):
                self._position = each.id
                continue
            if each.previous is None:
                self.mirror.begin(each.id.epoch)
            elif each.previous != self._position:
                return False
            await self._take(each.change.added)
            self._tell([], self.mirror.drop(each.change.dropped))
            self._complete(each)
        return True

    def _complete(self, said: RecordedChange) -> None:
        if said.change.is_whole:
            self.mirror.complete()
        self._position = said.id

    async def _read_anew(self, stream: PoolStream) -> None:
        """Read the whole contents of the writer's pool; later changes name those dropped meanwhile."""
        tip = await stream.tip()
        if tip is None or self._is_own(tip.id.epoch):
            self._position = None if tip is None else tip.id
            return
        encoded: list[Encoded] = []
        async for part in stream.contents():
            encoded += part
        self.mirror.begin(tip.id.epoch)
        await self._take(encoded[:MAX_TRANSACTIONS], in_order=False)
        self._complete(tip)

    async def _take(self, encoded: Sequence[Encoded], *, in_order: bool = True) -> None:
        transactions: list[PooledTransaction] = []
        for part in _slices(encoded):
            transactions += self.mirror.note(part)
            await trio.lowlevel.checkpoint()
        if not in_order:
            transactions.sort(key=lambda transaction: transaction.nonce)
        for taken in _slices(transactions):
            self._tell(self.mirror.take(taken), [])
            await trio.lowlevel.checkpoint()

    async def _repair(self, stream: PoolStream) -> None:
        """Try again to add missing transactions: a block may have brought the funds for them."""
        head, now = self._head(), trio.current_time()
        if head == self._repaired[0] and now < self._repaired[1] + REPAIR_SECONDS:
            return
        self._repaired = head, now
        await self._look(stream, now)
        lacked = self.mirror.lacked(REPAIRED_AT_ONCE)
        for part in _slices(lacked):
            self._tell(self.mirror.take_again(part, await stream.find(part)), [])

    async def _look(self, stream: PoolStream, now: float) -> None:
        """Check every `REPAIR_SECONDS` if Redis has lost changes that were read already.

        The writer notices such a loss within a second, and publishes its pool anew from an earlier id. If no
        writer does, the contents in Redis are read again.
        """
        if now < self._looked + REPAIR_SECONDS:
            return
        self._looked, tip = now, await stream.tip()
        was_lost = self._is_lost
        self._is_lost = tip is not None and self._position is not None and tip.id < self._position
        if was_lost and self._is_lost:
            await self._read_anew(stream)

    def _tell(self, taken: list[Encoded], dropped: list[bytes]) -> None:
        if taken or dropped:
            for listener in self.on_change:
                listener(taken, dropped)

    def _note_there(self) -> None:
        self.is_reachable = True
        if self._is_away:
            self._is_away = False
            logger.info("the writer's pending transactions are received again")

    def _note_away(self, error: Exception) -> None:
        self.is_reachable = False
        if not self._is_away:
            self._is_away = True
            logger.warning("the writer's pending transactions are not received for now: %s", error)


def _slices(whole: Sequence[Sliced]) -> Iterator[Sequence[Sliced]]:
    for start in range(0, len(whole), SLICE):
        yield whole[start : start + SLICE]
