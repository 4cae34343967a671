"""A reader of a journal, which makes every change again and looks for its place after a loss."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import trio

from tests.cluster.replaying import Replayed, standing_of
from wsnode.cluster.address import JournalAddress
from wsnode.cluster.journal import Journal, JournalUnavailableError
from wsnode.cluster.records import BrokenLinkError, Record, RecordId
from wsnode.cluster.redis_journal import open_journal
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import Address

PATIENCE = 120.0
STRANGER = Address(b"\xaa" * 20)


class Reading:
    """Records read so far, and the chain that they make."""

    def __init__(self, url: str, chain: Chain) -> None:
        self._address = JournalAddress.parse(url)
        self._chain = chain
        self.replayed = Replayed(chain)
        self.records: list[Record] = []
        self.breaks = 0
        self._last: RecordId | None = None

    @classmethod
    @contextmanager
    def of(cls, url: str, folder: Path, genesis: bytes) -> Iterator[Self]:
        """Yield a reading that has nothing but the genesis block."""
        with Chain.open(folder, genesis, writer=True, durable=False) as chain:
            yield cls(url, chain)

    async def follow(self, number: int, block_hash: str, balance: int | None = None) -> None:
        """Read until the chain has a head, and the account that tests change that many wei."""

        def is_there() -> bool:
            head = self._chain.head
            is_head = (head.number, f"0x{head.hash.hex()}") == (number, block_hash)
            return is_head and balance in (None, self._balance())

        with trio.fail_after(PATIENCE):
            while not is_there():
                try:
                    async with open_journal(self._address, self._chain.spec.genesis_hash) as journal:
                        while not is_there():
                            await self._read(journal)
                except JournalUnavailableError:
                    await trio.sleep(0.1)

    def _balance(self) -> int:
        account = self._chain.state.account(STRANGER, self._chain.state.committed_head)
        return 0 if account is None else account[1]

    async def _read(self, journal: Journal) -> None:
        try:
            records = await journal.read(self._last, 1.0)
        except BrokenLinkError:
            self.breaks += 1
            self._last = await self._place(journal)
        else:
            for record in records:
                self._take(record)

    def _take(self, record: Record) -> None:
        self._last = record.id
        self.records.append(record)
        assert record.before.agrees_with(standing_of(self._chain))
        self.replayed.apply(record.change, record.after)

    async def _place(self, journal: Journal) -> RecordId | None:
        """Go back to the last record's standing that the chain has had, or to the journal's beginning."""
        last = None
        while records := await journal.read_back(last, 8):
            for record in records:
                if self.replayed.go_back(record.after):
                    return record.id
            last = records[-1].id
            beginning = records[-1].before
        assert self.replayed.go_back(beginning)
        return None
