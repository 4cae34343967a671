"""Changes of the pool of a journal's writer, as the other nodes read them."""

from typing import Final, TypeAlias

import msgspec

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
    """Change of the pool since the change before; nothing of it is believed."""

    previous: str | None
    """Id of the change before; None where the contents begin anew."""
    is_whole: bool
    """True if the contents are complete with this change."""
    added: list[Encoded]
    """Added transactions, in the order in which they came."""
    dropped: list[bytes]
    """Hashes of transactions that left for another reason than a block, replaced ones included."""


class RecordedChange(msgspec.Struct, frozen=True):
    """Change under its id."""

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
