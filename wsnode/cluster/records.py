"""The records of a journal: each leads a chain from one standing to the next.

A record is a byte for its version, then a zstd frame with a checksum, around MessagePack. Decoding is bounded
by `MOST_BYTES`.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Self, TypeAlias

import msgspec
import zstandard

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Address, Hash32, hexadecimal
from wsnode.untrusted.decoding import MalformedError, MsgpackDecoder

VERSION: Final = b"\x01"
MOST_BYTES: Final = 32 << 20
"""Of a record before it is compressed; a block has at most 8 MiB, a patch as much as a request."""
_LEVEL: Final = 3


class UnreadableRecordError(Exception):
    """Bytes in the journal are no record."""

    def __init__(self, reason: str, place: str | None = None) -> None:
        """`place` is the id under which the journal has them."""
        which = "a record" if place is None else f"record {place}"
        super().__init__(f"{which} of the journal cannot be read: {reason}")
        self.reason, self.place = reason, place


class RecordTooLargeError(Exception):
    """A change has more bytes than a record may have."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a record of {size} bytes; {MOST_BYTES} is the most")
        self.size = size


class ChainMismatchError(Exception):
    """A record is of a chain with another first block."""

    def __init__(self, expected: bytes, found: bytes) -> None:
        super().__init__(
            f"a record of the chain whose first block is {hexadecimal(found)}; "
            f"here that is {hexadecimal(expected)}"
        )
        self.expected, self.found = expected, found


class BrokenLinkError(Exception):
    """A record does not follow the one before: records between them are lost, or trimmed."""

    def __init__(self, expected: object, found: object) -> None:
        super().__init__(f"the journal continues after {found}, not after {expected}")
        self.expected, self.found = expected, found


_ID: Final = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")
"""As Redis has them: two numbers of 64 bits."""


class RecordId(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A record's name: the epoch of its writer, and its number in that epoch, from 1 on."""

    epoch: int
    sequence: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the id that `EPOCH-SEQUENCE` names.

        Raises:
            UnreadableRecordError: It names none.
        """
        if (match := _ID.fullmatch(text)) is None:
            raise UnreadableRecordError(f"its id is {text!r:.60}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.epoch}-{self.sequence}"


class ChainState(msgspec.Struct, frozen=True, array_like=True):
    """Everything that a chain is at a moment, beyond the blocks below its head."""

    head: Head
    state_root: Hash32
    """Of the state after the head, patches included."""
    chain_id: int
    """The id of the blocks after the head; 0 of a Starknet chain, whose id never changes."""
    safe: Head | None = None
    finalized: Head | None = None
    late: int = 0
    """Of a Starknet chain: the number of class definitions that came after their blocks, as its writer
    counts them."""

    def agrees_with(self, other: Self) -> bool:
        """Return whether the next block is the same on top of both; only their marks may differ.

        A journal that was emptied has marks with its last block alone, so this is how a reader finds its
        place.
        """
        return (self.head, self.state_root, self.chain_id) == (other.head, other.state_root, other.chain_id)

    def __str__(self) -> str:
        return f"{self.head}, state {hexadecimal(self.state_root)}, chain id {self.chain_id}"


class BlockRecord(msgspec.Struct, frozen=True, tag="block"):
    """The block that follows the head and becomes it."""

    rlp: bytes
    senders: dict[int, Address] = msgspec.field(default_factory=dict)
    """The impersonated senders of unsigned transactions, by index; only development chains have them."""
    is_free: bool = False
    """Whether its maker chose gas limit and base fee, against the rules, as development chains may."""


class Rollback(msgspec.Struct, frozen=True, tag="down"):
    """The blocks above the head after the record leave the chain, and that block's patches are undone.

    They are undone until its state has the root after the record, which is that of its header.
    """


class FinalityRecord(msgspec.Struct, frozen=True, tag="marks"):
    """Nothing but the safe and the finalized block changes."""


class PatchRecord(msgspec.Struct, frozen=True, tag="patch"):
    """Accounts of the head's state are changed in place."""

    accounts: bytes
    """JSON, as state overrides are."""


class ChainIdRecord(msgspec.Struct, frozen=True, tag="chain-id"):
    """The blocks to come are of another chain id, which the standing after the record has."""


class StarknetBlockRecord(msgspec.Struct, frozen=True, tag="alt-block"):
    """The Starknet chain's block that follows the head and becomes it."""

    document: bytes
    """JSON: its header and state update, as an import reads them."""
    chain_id: str = ""
    """The chain's name, with its first block alone, if it is known."""


class ClassesRecord(msgspec.Struct, frozen=True, tag="classes"):
    """Definitions of classes that the next block of a Starknet chain names, or an earlier one."""

    document: bytes
    """JSON: the definitions by hash, in the form of results."""


Change: TypeAlias = (
    BlockRecord
    | Rollback
    | FinalityRecord
    | PatchRecord
    | ChainIdRecord
    | StarknetBlockRecord
    | ClassesRecord
)
BLOCKS: Final = (BlockRecord, StarknetBlockRecord)
"""Changes that add a block to the chain."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A step of a chain from `before` to `after`, which differ in whatever `change` says, or in the marks."""

    genesis: Hash32
    """The hash of the chain's first block."""
    id: RecordId
    previous: RecordId | None
    """The record before this one; None in the first of a journal that was empty."""
    before: ChainState
    after: ChainState
    change: Change
    is_latest: bool = False
    """Whether the chain stood like `after` when this was written, by the only node that makes it.

    A reader that has more than that is wrong then; otherwise what it has may be about to be told again.
    """

    def require_next_to(self, previous: Self) -> None:
        """Check that this record follows `previous` at once.

        Raises:
            BrokenLinkError: It follows another one.
        """
        if self.previous != previous.id:
            raise BrokenLinkError(previous.id, self.previous)
        if self.before != previous.after:
            raise BrokenLinkError(previous.after, self.before)


def require_linked(after: RecordId | None, records: Sequence[Record]) -> None:
    """Check that records follow the one with an id, unless that is None, and one another.

    Raises:
        BrokenLinkError: One does not.
    """
    if after is not None and records and records[0].previous != after:
        raise BrokenLinkError(after, records[0].previous)
    for previous, record in pairwise(records):
        record.require_next_to(previous)


def encode_record(record: Record) -> bytes:
    """Return the bytes of a record.

    Raises:
        RecordTooLargeError: They could not be decoded again.
    """
    packed = _encoder.encode(record)
    if len(packed) > MOST_BYTES:
        raise RecordTooLargeError(len(packed))
    return VERSION + zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(packed)


def decode_record(content: bytes, genesis: bytes) -> Record:
    """Return the record of these bytes.

    Raises:
        UnreadableRecordError: They are none, of an unknown version, or of more than `MOST_BYTES`.
        ChainMismatchError: It is of a chain with another first block.
    """
    if content[:1] != VERSION:
        raise UnreadableRecordError(f"its version is {content[:1].hex() or 'missing'}")
    try:
        record = _decoder.decode(_unpacked(content[1:]))
    except (MalformedError, zstandard.ZstdError) as error:
        raise UnreadableRecordError(str(error)) from None
    if record.genesis != genesis:
        raise ChainMismatchError(genesis, record.genesis)
    return record


def _unpacked(frame: bytes) -> bytes:
    size = zstandard.get_frame_parameters(frame).content_size
    # A frame that does not say its size says one beyond every bound.
    if size > MOST_BYTES:
        raise UnreadableRecordError(f"it has {size} bytes; {MOST_BYTES} is the most")
    return zstandard.ZstdDecompressor().decompress(frame, max_output_size=MOST_BYTES)


def _of_bytes(wanted: type, content: object) -> object:
    sizes = {Hash32: 32, Address: 20}
    if wanted in sizes and isinstance(content, bytes) and len(content) == sizes[wanted]:
        return wanted(content)
    raise ValueError(f"no {wanted.__name__}")


_encoder = msgspec.msgpack.Encoder(enc_hook=bytes)
_decoder: MsgpackDecoder[Record] = MsgpackDecoder(Record, dec_hook=_of_bytes)
