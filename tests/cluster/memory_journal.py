"""A journal in memory, of which any end can be lost, and whose clock stands until it is moved."""

from collections.abc import Sequence

import trio

from wsnode.cluster.journal import (
    LEASE_SECONDS,
    JournalLimits,
    JournalUnavailableError,
    Lease,
    LeaseHeldError,
    LeaseLostError,
    TipMovedError,
)
from wsnode.cluster.records import (
    Record,
    RecordId,
    decode_record,
    encode_record,
    require_linked,
)


class MemoryJournal:
    """Implements `Journal` as a server that is asked by one task at a time."""

    def __init__(self, genesis: bytes, bounds: JournalLimits | None = None) -> None:
        self.place = "memory"
        self._genesis = genesis
        self._bounds = bounds or JournalLimits()
        self._entries: list[tuple[RecordId, bytes, int]] = []
        self._holder: str | None = None
        self._expires = 0.0
        self._epoch = 0
        self._kept: bytes | None = None
        self._appended = trio.Event()
        self.now = 1.0
        """The server's clock, in seconds."""
        self.is_away = False
        self.longest_wait = 0.0
        """How long a reader has waited for records at once, in seconds: until then it hears of no outage."""
        self.given: list[Lease] = []
        """All leases that there have been."""
        self.written: list[Record] = []
        """All records that there have been, lost ones too."""

    def lose(self, records: int) -> None:
        """Lose the last records, as a failover does, and who may write with them."""
        if records:
            del self._entries[-records:]
            self._holder = None
            self._epoch = self._entries[-1][0].epoch if self._entries else 0

    @property
    def entries(self) -> int:
        return len(self._entries)

    async def claim(self, holder: str, floor: int = 0) -> Lease:
        await self._ask()
        if self._owner() not in (None, holder):
            raise LeaseHeldError(str(self._holder))
        last = self._entries[-1][0].epoch if self._entries else 0
        # A clock moves between any two questions.
        self.now += 0.001
        self._epoch = max(round(self.now * 1000), self._epoch + 1, floor + 1, last + 1)
        self._holder, self._expires = holder, self.now + LEASE_SECONDS
        lease = Lease(holder, self._epoch)
        self.given.append(lease)
        return lease

    async def renew(self, lease: Lease) -> RecordId | None:
        await self._ask(lease)
        self._expires = self.now + LEASE_SECONDS
        return self._last()

    async def release(self, lease: Lease) -> None:
        await self._ask()
        if self._is_held(lease):
            self._holder = None

    async def append(self, lease: Lease, record: Record) -> None:
        content = encode_record(record)
        await self._ask(lease)
        if self._last() != record.previous:
            raise TipMovedError(record.previous, self._last())
        assert record.previous is None or record.id > record.previous
        self._entries.append((record.id, content, record.blocks))
        self.written.append(record)
        self._trim()
        appended, self._appended = self._appended, trio.Event()
        appended.set()

    async def tip(self) -> Record | None:
        return next(iter(await self.read_back(None, 1)), None)

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[Record]:
        await self._ask()
        self.longest_wait = max(self.longest_wait, seconds)
        start = RecordId(0, 0) if after is None else after
        with trio.move_on_after(seconds):
            while (last := self._last()) is None or last <= start:
                await self._appended.wait()
        records = [decode_record(entry[1], self._genesis) for entry in self._entries if entry[0] > start][:8]
        require_linked(after, records)
        return records

    async def read_back(self, before: RecordId | None, most: int) -> Sequence[Record]:
        await self._ask()
        found = [entry[1] for entry in self._entries if before is None or entry[0] < before]
        return [decode_record(content, self._genesis) for content in reversed(found[-most:])]

    async def keep_genesis(self, lease: Lease, genesis: bytes) -> None:
        await self._ask(lease)
        self._kept = genesis

    async def genesis(self) -> bytes | None:
        await self._ask()
        return self._kept

    async def _ask(self, lease: Lease | None = None) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_away:
            raise JournalUnavailableError("memory", "it was taken away")
        if lease is not None and not self._is_held(lease):
            raise LeaseLostError(lease)

    def _owner(self) -> str | None:
        return self._holder if self.now < self._expires else None

    def _is_held(self, lease: Lease) -> bool:
        return self._owner() == lease.holder and self._epoch == lease.epoch

    def _last(self) -> RecordId | None:
        return self._entries[-1][0] if self._entries else None

    def _trim(self) -> None:
        while self._is_beyond() and self._blocks(self._entries[1:]) >= self._bounds.blocks:
            del self._entries[0]

    def _is_beyond(self) -> bool:
        size = sum(len(content) for _id, content, _blocks in self._entries)
        return size > self._bounds.bytes or len(self._entries) > self._bounds.records

    def _blocks(self, entries: Sequence[tuple[RecordId, bytes, int]]) -> int:
        return sum(blocks for _id, _content, blocks in entries)
