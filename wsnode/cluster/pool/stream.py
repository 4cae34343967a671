"""Changes of the pool of a journal's writer: the writer appends them, and other nodes read them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeAlias

import msgspec

from wsnode.cluster.journal import Lease
from wsnode.cluster.records import RecordId, UnreadableRecordError
from wsnode.untrusted.decoding import MalformedError, MsgpackDecoder

MAX_TRANSACTIONS: Final = 16_384
"""Maximum number of transactions in one list of a writer; of more, the first ones are listed."""
MAX_BYTES: Final = 32 << 20
"""Maximum number of bytes of listed transactions."""
STREAM_CHANGES: Final = 1_024
"""Maximum number of changes in the stream; a reader that is further behind reads everything anew."""
STREAM_BYTES: Final = 8 << 20
"""Maximum number of bytes of changes in the stream."""
ADDED_AT_ONCE: Final = 256
ADDED_BYTES_AT_ONCE: Final = 256 << 10
"""Bytes of added transactions in one change, beyond which one more may go."""
DROPPED_AT_ONCE: Final = 1_024
MAX_TRANSACTION_BYTES: Final = 128 << 10
"""Maximum number of bytes of a transaction that any pool accepts, without blobs."""
MAX_CHANGE_BYTES: Final = 512 << 10

Encoded: TypeAlias = bytes
"""Signed transaction as blocks hold it, without blobs."""


class PoolChange(msgspec.Struct, frozen=True, array_like=True):
    """Record of transactions added to the writer's pool and dropped from it; readers verify each transaction
    themselves.
    """

    previous: str | None
    """Id of the change before; None where the contents begin anew."""
    is_whole: bool
    """True if the contents are complete with this change."""
    added: list[Encoded]
    """Added transactions, in the order in which they came."""
    dropped: list[bytes]
    """Hashes of transactions that left for another reason than a block, replaced ones included."""


class RecordedChange(msgspec.Struct, frozen=True):
    """Change of the pool with the id of its record in the stream."""

    id: RecordId
    change: PoolChange

    @property
    def previous(self) -> RecordId | None:
        """Return the id of the change before, None where the contents begin anew.

        Raises:
            UnreadableRecordError: It is no id.
        """
        return None if self.change.previous is None else RecordId.parse(self.change.previous)


_CHANGE: Final = MsgpackDecoder(PoolChange)


def encode_change(change: PoolChange) -> bytes:
    """Return the bytes of a change."""
    return msgspec.msgpack.encode(change)


def decode_change(name: str, content: bytes) -> RecordedChange:
    """Return the change that is stored under an id.

    Raises:
        UnreadableRecordError: The bytes are no change.
    """
    if len(content) > MAX_CHANGE_BYTES:
        raise UnreadableRecordError(f"{len(content)} bytes of a pool's change", name)
    try:
        said = RecordedChange(RecordId.parse(name), _CHANGE.decode(content))
        _ = said.previous
    except (MalformedError, UnreadableRecordError) as error:
        raise UnreadableRecordError(str(error), name) from None
    return said


class PoolStreamChangedError(Exception):
    """Error of a pool's stream with another last entry than expected, or of other contents: changes were
    lost. `expected` and `found` are ids of records, None for none.
    """

    def __init__(self, expected: RecordId | None, found: RecordId | None) -> None:
        super().__init__(f"the pool's stream ends at {found}, not at {expected}")
        self.expected, self.found = expected, found


class PublishedState(msgspec.Struct, frozen=True):
    """End of the pool's stream and number of transactions in its contents after the writer's last change, to
    detect a loss.
    """

    tip: RecordId | None
    """Id of the last change; None to begin both anew."""
    count: int = 0
    """Number of transactions in the contents."""


class PoolStream(Protocol):
    """Published pool of the writer: a bounded stream of its last changes, and all its present transactions as
    the contents. Implemented by `RedisPoolStream`; every method raises JournalUnavailableError.
    """

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
