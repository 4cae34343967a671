"""`PoolStream`: a writer's pool in its journal; the writer appends its changes, other nodes read them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

import msgspec

from wsnode.cluster.journal import Lease
from wsnode.cluster.pool.pool_changes import Encoded, RecordedChange
from wsnode.cluster.records import RecordId


class PoolStreamChangedError(Exception):
    """Error of a pool's stream or contents that are not as the writer left them: changes are lost."""

    def __init__(self, expected: RecordId | None, found: RecordId | None) -> None:
        super().__init__(f"the pool's stream ends at {found}, not at {expected}")
        self.expected, self.found = expected, found


class PublishedState(msgspec.Struct, frozen=True):
    """Stream and contents as a writer has left them."""

    tip: RecordId | None
    """Id of the last change; None to begin both anew."""
    count: int = 0
    """Number of transactions in the contents."""


class PoolStream(Protocol):
    """Last changes of a pool, and its contents; every method raises JournalUnavailableError."""

    async def append(
        self,
        lease: Lease,
        before: PublishedState,
        said: RecordedChange | None,
        added: Mapping[bytes, Encoded],
        removed: Sequence[bytes],
    ) -> None:
        """Change the contents, and append the change for readers unless it is None.

        `added` is by hash, `removed` are hashes. After JournalUnavailableError the change may have been made.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            PoolStreamChangedError: The stream or the contents are not as `before`; nothing is changed then.
        """

    async def tip(self) -> RecordedChange | None:
        """Return the last change, None if there is none.

        Raises:
            UnreadableRecordError: The last entry is no change.
        """

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[RecordedChange]:
        """Return changes after one, oldest first; wait up to `seconds` for the first of them.

        Raises:
            UnreadableRecordError: An entry is no change.
        """

    def contents(self) -> AsyncIterator[Sequence[Encoded]]:
        """Yield the contents in parts and in no order: all entries that are there during the whole call."""

    async def find(self, hashes: Sequence[bytes]) -> Sequence[Encoded | None]:
        """Return transactions of the contents by their hashes, None for each that is not there."""


OpenStream: TypeAlias = Callable[[], AbstractAsyncContextManager[PoolStream]]
