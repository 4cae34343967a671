"""What a journal does for the pool of its writer, and for the nodes that read of it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

import msgspec

from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.pool_changes import Encoded, RecordedChange
from wsnode.cluster.records import RecordId


class StreamMovedError(Exception):
    """The stream, or the contents, are not as the writer has left them: something is lost."""

    def __init__(self, expected: RecordId | None, found: RecordId | None) -> None:
        super().__init__(f"the pool's stream ends at {found}, not at {expected}")
        self.expected, self.found = expected, found


class StreamState(msgspec.Struct, frozen=True):
    """The stream and the contents as a writer has left them."""

    tip: RecordId | None
    """The last change; None has both begin anew."""
    count: int = 0
    """Of transactions in the contents."""


class PoolStream(Protocol):
    """The last changes of a pool, and its contents; every method raises JournalUnavailableError."""

    async def append(
        self,
        lease: Lease,
        before: StreamState,
        said: RecordedChange | None,
        added: Mapping[bytes, Encoded],
        removed: Sequence[bytes],
    ) -> None:
        """Change the contents, and append what readers are to do, which may be nothing.

        `added` is by hash, `removed` are hashes. After JournalUnavailableError it may have been done.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            StreamMovedError: Something was not as `before`; nothing is changed then.
        """

    async def tip(self) -> RecordedChange | None:
        """Return the last change, None if there is none.

        Raises:
            UnreadableRecordError: It is no change.
        """

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[RecordedChange]:
        """Return changes after one, oldest first; wait up to `seconds` for the first of them.

        Raises:
            UnreadableRecordError: One is no change.
        """

    def contents(self) -> AsyncIterator[Sequence[Encoded]]:
        """Yield the contents in parts and in no order: all that is there from the beginning to the end."""

    async def find(self, hashes: Sequence[bytes]) -> Sequence[Encoded | None]:
        """Return transactions of the contents, None for each that is not there."""


OpenStream: TypeAlias = Callable[[], AbstractAsyncContextManager[PoolStream]]
