"""Records of a journal: each leads a chain from one state to the next.

A record is a byte for its version, then a zstd frame with a checksum, around MessagePack. Decoding is bounded
by `MAX_BYTES`.
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

VERSION: Final = b"\x02"
MAX_BYTES: Final = 32 << 20
"""Maximum number of bytes of a record before it is compressed; a block has at most 8 MiB, a patch as much as
a request.
"""
_LEVEL: Final = 3


class UnreadableRecordError(Exception):
    """Error of bytes in the journal that cannot be decoded as a record: `reason`, and `place`, the record's
    id or None if unknown.
    """

    def __init__(self, reason: str, place: str | None = None) -> None:
        which = "a record" if place is None else f"record {place}"
        super().__init__(f"{which} of the journal cannot be read: {reason}")
        self.reason, self.place = reason, place


class RecordTooLargeError(Exception):
    """Error of a change that cannot be published, because its record is larger than the maximum; `size` is in
    bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"a record has {size} bytes, and {MAX_BYTES} at most are allowed")
        self.size = size


class ChainMismatchError(Exception):
    """Error of a record from another chain than this one; `found` and `expected` are the hashes of their
    first blocks.
    """

    def __init__(self, expected: bytes, found: bytes) -> None:
        super().__init__(
            f"a record of the chain whose first block is {hexadecimal(found)}; "
            f"here that is {hexadecimal(expected)}"
        )
        self.expected, self.found = expected, found


class BrokenLinkError(Exception):
    """Error of a record that does not follow the previous one: records between them were lost, or trimmed.
    `found` is the predecessor's id or state as the record has it, `expected` the actual one.
    """

    def __init__(self, expected: object, found: object) -> None:
        super().__init__(f"the journal continues after {found}, not after {expected}")
        self.expected, self.found = expected, found


_ID: Final = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")
"""Id as in Redis: two numbers of 64 bits."""


class RecordId(msgspec.Struct, frozen=True, order=True, array_like=True):
    """Name of a record: the epoch of its writer, and its number in that epoch, from 1 on."""

    epoch: int
    sequence: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the id that `EPOCH-SEQUENCE` names.

        Raises:
            UnreadableRecordError: The text is no id.
        """
        if (match := _ID.fullmatch(text)) is None:
            raise UnreadableRecordError(f"its id is {text!r:.60}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.epoch}-{self.sequence}"


class ChainState(msgspec.Struct, frozen=True, array_like=True):
    """State of a chain at its head: the head, its state root, the chain id of the next blocks, and the safe
    and finalized blocks, None if not set.
    """

    head: Head
    state_root: Hash32
    """Root of the state after the head, patches included."""
    chain_id: int
    """Chain id of the blocks after the head."""
    safe: Head | None = None
    finalized: Head | None = None

    def agrees_with(self, other: Self) -> bool:
        """Return True if the next block is the same on top of both; only their marks may differ.

        A journal that was emptied has marks with its last block alone, so a reader finds its place by this.
        """
        return (self.head, self.state_root, self.chain_id) == (other.head, other.state_root, other.chain_id)

    def __str__(self) -> str:
        return f"{self.head}, state {hexadecimal(self.state_root)}, chain id {self.chain_id}"


class BlockRecord(msgspec.Struct, frozen=True, tag="block"):
    """Record of a block that extends the head: `rlp` is the encoded block."""

    rlp: bytes
    senders: dict[int, Address] = msgspec.field(default_factory=dict)
    """Impersonated senders of unsigned transactions, by index; only development chains have them."""
    is_free: bool = False
    """True if the block's maker chose gas limit and base fee against the rules, as development chains may."""


class Rollback(msgspec.Struct, frozen=True, tag="down"):
    """Removal of all blocks above the head after the record, and of the patches of that head.

    The state then has the root in the header of that block.
    """


class FinalityRecord(msgspec.Struct, frozen=True, tag="marks"):
    """Record of new safe and finalized blocks without another change; `Record.after` has them."""


class PatchRecord(msgspec.Struct, frozen=True, tag="patch"):
    """Record of accounts changed without a transaction in the head's state, on a development chain."""

    accounts: bytes
    """JSON of the accounts, in the form of state overrides."""


class ChainIdRecord(msgspec.Struct, frozen=True, tag="chain-id"):
    """Record of another chain id for the blocks to come; `Record.after` has the new id."""


class ReorgRecord(msgspec.Struct, frozen=True, tag="reorg"):
    """Record of a reorganisation: the blocks above `ancestor` are replaced by `blocks` in one change."""

    ancestor: ChainState
    """State below the first block, with the patches of the writer's chain."""
    blocks: tuple[BlockRecord, ...]
    """Blocks after the ancestor, lowest first, at least one."""
    patches: tuple[PatchRecord, ...] = ()
    """Patches of the ancestor's state, oldest first, for a reader whose branch never had them."""


Change: TypeAlias = BlockRecord | Rollback | ReorgRecord | FinalityRecord | PatchRecord | ChainIdRecord
BLOCKS: Final = (BlockRecord, ReorgRecord)
"""Changes that add blocks to the chain."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """Entry of a journal: the chain's state `before`, one `change`, and the state `after` it, which may also
    have other safe and finalized blocks.
    """

    genesis: Hash32
    """Hash of the chain's first block."""
    id: RecordId
    previous: RecordId | None
    """Id of the record before this one; None in the first record of an empty journal."""
    before: ChainState
    after: ChainState
    change: Change
    is_latest: bool = False
    """True if `after` was the chain's state when this was written by the only node that makes the chain.

    A reader whose chain has more is wrong then; otherwise its surplus may be about to be published again.
    """

    @property
    def blocks(self) -> int:
        """Return the number of blocks that the record adds to the chain."""
        change = self.change
        return len(change.blocks) if isinstance(change, ReorgRecord) else int(isinstance(change, BLOCKS))

    @property
    def ancestor(self) -> ChainState | None:
        """Return the state below the blocks and patches that the record removes, None if it removes none."""
        if isinstance(self.change, ReorgRecord):
            return self.change.ancestor
        return self.after if isinstance(self.change, Rollback) else None

    def require_next_to(self, previous: Self) -> None:
        """Check that this record directly follows `previous`.

        Raises:
            BrokenLinkError: It follows another one.
        """
        if self.previous != previous.id:
            raise BrokenLinkError(previous.id, self.previous)
        if self.before != previous.after:
            raise BrokenLinkError(previous.after, self.before)


def require_linked(after: RecordId | None, records: Sequence[Record]) -> None:
    """Check that records follow one another, and the record with the id `after` unless it is None.

    Raises:
        BrokenLinkError: A record does not.
    """
    if after is not None and records and records[0].previous != after:
        raise BrokenLinkError(after, records[0].previous)
    for previous, record in pairwise(records):
        record.require_next_to(previous)


def encode_record(record: Record) -> bytes:
    """Return the bytes of a record.

    Raises:
        RecordTooLargeError: The bytes could not be decoded again.
    """
    packed = _encoder.encode(record)
    if len(packed) > MAX_BYTES:
        raise RecordTooLargeError(len(packed))
    return VERSION + zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(packed)


def decode_record(content: bytes, genesis: bytes) -> Record:
    """Return the record of these bytes.

    Raises:
        UnreadableRecordError: They are no record, of an unknown version, or of more than `MAX_BYTES`.
        ChainMismatchError: The record is of a chain with another first block.
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
    # For a frame without a size, zstandard returns 2^64 - 1, which exceeds the bound as well.
    if size > MAX_BYTES:
        raise UnreadableRecordError(f"it has {size} bytes, and {MAX_BYTES} at most are allowed")
    return zstandard.ZstdDecompressor().decompress(frame, max_output_size=MAX_BYTES)


def _of_bytes(wanted: type, content: object) -> object:
    sizes = {Hash32: 32, Address: 20}
    if wanted in sizes and isinstance(content, bytes) and len(content) == sizes[wanted]:
        return wanted(content)
    raise ValueError(f"no {wanted.__name__}")


_encoder = msgspec.msgpack.Encoder(enc_hook=bytes)
_decoder: MsgpackDecoder[Record] = MsgpackDecoder(Record, dec_hook=_of_bytes)
