"""The stream of a journal's pool in memory, beside a `MemoryJournal`, whose last changes can be lost."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import trio

from tests.cluster.memory_journal import MemoryJournal
from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.stream import (
    STREAM_CHANGES,
    Encoded,
    PoolStreamChangedError,
    PublishedState,
    RecordedChange,
    decode_change,
    encode_change,
)
from wsnode.cluster.records import RecordId

Entry = tuple[RecordId, bytes]


class MemoryPool:
    """Implements `PoolStream` as a server that is asked by one task at a time."""

    def __init__(self, journal: MemoryJournal, most_changes: int = STREAM_CHANGES) -> None:
        self._journal = journal
        self._most_changes = most_changes
        self._history: list[tuple[list[Entry], dict[bytes, Encoded]]] = [([], {})]
        """The stream and the contents after each thing that was done."""
        self._appended = trio.Event()
        self.contents_read = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator["MemoryPool"]:
        yield self

    def lose(self, done: int) -> None:
        """Lose what was done last, as a failover does."""
        del self._history[max(1, len(self._history) - done) :]

    def forget(self) -> None:
        """Lose everything, as a server does that keeps nothing."""
        self._history = [([], {})]

    def put(self, name: RecordId, content: bytes, contents: Sequence[Encoded] = ()) -> None:
        """Put anything into the stream, as a stranger could who may write to the server."""
        entries, before = self._history[-1]
        strange = {bytes([number]) * 32: each for number, each in enumerate(contents)}
        self._history.append(([*entries, (name, content)], {**before, **strange}))
        self._tell()

    @property
    def kept(self) -> set[bytes]:
        """Return the hashes of the contents."""
        return set(self._history[-1][1])

    @property
    def changes(self) -> int:
        return len(self._history[-1][0])

    async def append(
        self,
        lease: Lease,
        before: PublishedState,
        said: RecordedChange | None,
        added: Mapping[bytes, Encoded],
        removed: Sequence[bytes],
    ) -> None:
        await self._journal._ask(lease)
        entries, contents = ([], {}) if before.tip is None else self._history[-1]
        last = entries[-1][0] if entries else None
        if (last, len(contents)) != (before.tip, before.count):
            raise PoolStreamChangedError(before.tip, last)
        contents = {name: each for name, each in contents.items() if name not in removed}
        contents.update(added)
        if said is not None:
            assert last is None or said.id > last
            entries = [*entries, (said.id, encode_change(said.change))][-self._most_changes :]
        elif not (added or removed):
            return
        self._history.append((entries, contents))
        self._tell()

    async def tip(self) -> RecordedChange | None:
        await self._journal._ask()
        entries = self._history[-1][0]
        return self._said(entries[-1]) if entries else None

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[RecordedChange]:
        await self._journal._ask()
        with trio.move_on_after(seconds):
            while not self._after(after):
                await self._appended.wait()
        return [self._said(entry) for entry in self._after(after)[:16]]

    async def contents(self) -> AsyncIterator[Sequence[Encoded]]:
        self.contents_read += 1
        names = sorted(self._history[-1][1])
        for name in names:
            await self._journal._ask()
            # What has left since may be missing, as what a cursor comes by later.
            if (encoded := self._history[-1][1].get(name)) is not None:
                yield [encoded]

    async def find(self, hashes: Sequence[bytes]) -> Sequence[Encoded | None]:
        await self._journal._ask()
        return [self._history[-1][1].get(name) for name in hashes]

    def _after(self, after: RecordId | None) -> list[Entry]:
        return [entry for entry in self._history[-1][0] if after is None or entry[0] > after]

    def _said(self, entry: Entry) -> RecordedChange:
        return decode_change(str(entry[0]), entry[1])

    def _tell(self) -> None:
        appended, self._appended = self._appended, trio.Event()
        appended.set()
