"""What the pool of a journal's writer took and dropped, as the other nodes read it."""

from typing import Final, TypeAlias

import msgspec

from wsnode.cluster.records import RecordId, UnreadableRecordError
from wsnode.untrusted.decoding import MalformedError, MsgpackDecoder

MOST_TRANSACTIONS: Final = 16_384
"""That a writer has others know of at once; those that came first."""
MOST_BYTES: Final = 32 << 20
"""Of those."""
STREAM_CHANGES: Final = 1_024
"""The last changes, which a reader can go on with; one further behind reads everything anew."""
STREAM_BYTES: Final = 8 << 20
"""Of those."""
ADDED_AT_ONCE: Final = 256
ADDED_BYTES_AT_ONCE: Final = 256 << 10
"""One more transaction may go beyond it."""
DROPPED_AT_ONCE: Final = 1_024
LARGEST_TRANSACTION: Final = 128 << 10
"""The most bytes that any pool takes, without blobs."""
MOST_CHANGE_BYTES: Final = 512 << 10

Encoded: TypeAlias = bytes
"""A signed transaction as blocks hold it, without blobs."""


class PoolChange(msgspec.Struct, frozen=True, array_like=True):
    """What changed since the change before; nothing of it is believed."""

    previous: str | None
    """The id of the change before; None where the contents begin anew."""
    is_whole: bool
    """Whether the contents are whole with it, as far as they are to be."""
    added: list[Encoded]
    """In the order in which they came."""
    dropped: list[bytes]
    """The hashes of those that left for another reason than a block: what was replaced, too."""


class RecordedChange(msgspec.Struct, frozen=True):
    """A change under its id."""

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
    """Return the change that is kept under an id.

    Raises:
        UnreadableRecordError: It is none.
    """
    if len(content) > MOST_CHANGE_BYTES:
        raise UnreadableRecordError(f"{len(content)} bytes of a pool's change", name)
    try:
        said = RecordedChange(RecordId.parse(name), _CHANGE.decode(content))
        _ = said.previous
    except (MalformedError, UnreadableRecordError) as error:
        raise UnreadableRecordError(str(error), name) from None
    return said
