"""Operations of a journal for its writer and its readers."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from wsnode.cluster.records import Record, RecordId
from wsnode.ethereum.head import Head

LEASE_SECONDS: Final = 5.0
"""Seconds for which a lease lasts without being renewed."""


class JournalUnavailableError(Exception):
    """Error of a request to a journal: it cannot be reached, or refuses the request; a later request may
    succeed. `place` is its address without secrets, `reason` the cause.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"the journal at {place} cannot be reached: {reason}")
        self.place, self.reason = place, reason


class CorruptKeyError(JournalUnavailableError):
    """Error of a Redis key of the journal with a value from another program; an operator has to delete it.
    `key` is its name.
    """

    def __init__(self, place: str, key: str) -> None:
        super().__init__(place, f"its key {key} was not written by a writer of the journal: delete that key")
        self.args = (f"the journal at {place} cannot be used: {self.reason}",)
        self.key = key


class LeaseHeldError(Exception):
    """Error of a process that claims the lease for writing a journal while another process has it; `holder`
    is the name of that process.
    """

    def __init__(self, holder: str) -> None:
        super().__init__(f"the journal is written by {holder}")
        self.holder = holder


class LeaseLostError(Exception):
    """Error of a write with a lease that has expired or has passed to another process; `lease` is the lost
    one.
    """

    def __init__(self, lease: "Lease") -> None:
        super().__init__(f"the lease of epoch {lease.epoch} is lost")
        self.lease = lease


class TipMovedError(Exception):
    """Error of a write to a journal whose last record is not the one last written by this process: records
    were lost, or another process has written. The fields are ids of records: `expected` and `found`, None for
    an empty journal.
    """

    def __init__(self, expected: RecordId | None, found: RecordId | None) -> None:
        super().__init__(f"the journal ends at {found}, not at {expected}")
        self.expected, self.found = expected, found


class UnrelatedJournalError(Exception):
    """Error of a journal without any block known to this node's chain; `tip` is the block at the journal's
    end.
    """

    def __init__(self, tip: Head) -> None:
        super().__init__(
            f"the journal is at block {tip}, and none of its blocks is known here: "
            "delete its keys, or name another `network` in its URL"
        )
        self.tip = tip


class Lease(msgspec.Struct, frozen=True):
    """Exclusive right of one process, the `holder`, to write a journal until it expires. `epoch` is the
    number of the lease, never used for another process.
    """

    holder: str
    """Name of the writer's process."""
    epoch: int


class JournalLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a journal: it drops its first records beyond `records` or `bytes`, but never the last
    `blocks`.
    """

    records: int = 100_000
    bytes: int = 1 << 30
    """Maximum number of bytes of records as they are stored."""
    blocks: int = 128
    """Number of last blocks that stay whatever their size; each has 8 MiB at most."""


class Journal(Protocol):
    """Log in Redis of one chain's changes, written by one process and read by the others; each record names
    its predecessor. Implemented by `RedisJournal`; every method raises JournalUnavailableError.
    """

    place: str
    """Address of the journal, without secrets."""

    async def claim(self, holder: str, floor: int = 0) -> Lease:
        """Return a lease with a new epoch, above `floor` and all earlier ones, for the holder of the lease or
        a new one.

        Raises:
            LeaseHeldError: Another process has it.
        """

    async def renew(self, lease: Lease) -> RecordId | None:
        """Have the lease last `LEASE_SECONDS` from now, and return the id of the last record, None for an
        empty journal.

        Raises:
            LeaseLostError: It is not the holder's any more.
        """

    async def release(self, lease: Lease) -> None:
        """Give up the lease, so that another process can write immediately; a lost lease is no error."""

    async def append(self, lease: Lease, record: Record) -> None:
        """Append a record of the lease's epoch, and drop first records beyond the bounds.

        Whether it was appended is unknown after JournalUnavailableError: go on with a new epoch.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            TipMovedError: The last record is not the one before this record.
            RecordTooLargeError: It has more bytes than a record may have.
        """

    async def tip(self) -> Record | None:
        """Return the last record, None for an empty journal.

        Raises:
            UnreadableRecordError, ChainMismatchError: It is no record of this chain.
        """

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[Record]:
        """Return records after the one with the id `after`, oldest first; wait up to `seconds` for the first
        of them.

        With None return the first records that the journal still has. An empty result does not say that the
        record `after` is still there: that shows with the next record.

        Raises:
            BrokenLinkError: The next record does not follow `after`: others are lost or trimmed.
            UnreadableRecordError, ChainMismatchError: A record is none of this chain.
        """

    async def read_back(self, before: RecordId | None, most: int) -> Sequence[Record]:
        """Return up to `most` records before one, or the last ones, latest first; none at the beginning.

        Raises:
            UnreadableRecordError, ChainMismatchError: A record is none of this chain.
        """

    async def keep_genesis(self, lease: Lease, genesis: bytes) -> None:
        """Keep the chain's genesis file for readers.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
        """

    async def genesis(self) -> bytes | None:
        """Return the genesis file that the writer keeps, None before there is one."""
