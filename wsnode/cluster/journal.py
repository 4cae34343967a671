"""What a journal does for the process that writes it, and for those that read it."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from wsnode.cluster.records import Record, RecordId
from wsnode.ethereum.head import Head

LEASE_SECONDS: Final = 5.0
"""How long a lease lasts without being renewed."""


class JournalUnavailableError(Exception):
    """The journal cannot be reached, or refuses what it is asked; it may be there again later."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"the journal at {place} is away: {reason}")
        self.place, self.reason = place, reason


class CorruptKeyError(JournalUnavailableError):
    """A key of the journal holds what no process of a writer puts there; an operator has to delete it."""

    def __init__(self, place: str, key: str) -> None:
        super().__init__(place, f"its key {key} holds what no writer has put there: delete that key")
        self.args = (f"the journal at {place} cannot be used: {self.reason}",)
        self.key = key


class LeaseHeldError(Exception):
    """Another process writes the journal."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"the journal is written by {holder}")
        self.holder = holder


class LeaseLostError(Exception):
    """The lease has expired, or is another process's by now."""

    def __init__(self, lease: "Lease") -> None:
        super().__init__(f"the lease of epoch {lease.epoch} is lost")
        self.lease = lease


class TipMovedError(Exception):
    """The journal's last record is another one than the writer knew: some are lost, or not its own."""

    def __init__(self, expected: RecordId | None, found: RecordId | None) -> None:
        super().__init__(f"the journal ends at {found}, not at {expected}")
        self.expected, self.found = expected, found


class UnrelatedJournalError(Exception):
    """No block of the journal is known here."""

    def __init__(self, tip: Head) -> None:
        super().__init__(
            f"the journal is at block {tip}, and nothing that it has is known here: "
            "delete its keys, or name another `network` in its URL"
        )
        self.tip = tip


class Lease(msgspec.Struct, frozen=True):
    """The right to write until it expires: nobody else has the epoch, nor has had it before."""

    holder: str
    """The name of the writer's process."""
    epoch: int


class JournalBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal keeps. It drops its first records beyond `records` or `bytes`, but never `blocks`."""

    records: int = 100_000
    bytes: int = 1 << 30
    """Of records as they are stored."""
    blocks: int = 128
    """The last blocks, which stay whatever their size; each has 8 MiB at most."""


class Journal(Protocol):
    """The records of one chain, each linked to the one before.

    Every method raises JournalUnavailableError.
    """

    place: str
    """Where it is, without secrets."""

    async def claim(self, holder: str, floor: int = 0) -> Lease:
        """Return a lease of a new epoch, above `floor` and all before, for a process that has it or may.

        Raises:
            LeaseHeldError: Another process has it.
        """

    async def renew(self, lease: Lease) -> RecordId | None:
        """Have the lease last `LEASE_SECONDS` from now, and return the id of the last record.

        Raises:
            LeaseLostError: It is not the holder's any more.
        """

    async def release(self, lease: Lease) -> None:
        """Let another process write at once; a lost lease is no error."""

    async def append(self, lease: Lease, record: Record) -> None:
        """Append a record of the lease's epoch, and drop first records beyond the bounds.

        Whether it was appended is unknown after JournalUnavailableError: go on with a new epoch.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
            TipMovedError: The last record is another one than that before this record.
            RecordTooLargeError: It has more bytes than a record may have.
        """

    async def tip(self) -> Record | None:
        """Return the last record, None from an empty journal.

        Raises:
            UnreadableRecordError, OtherChainError: It is no record of this chain.
        """

    async def read(self, after: RecordId | None, seconds: float) -> Sequence[Record]:
        """Return records after one, oldest first; wait up to `seconds` for the first of them.

        With None they are the first that the journal still has. No records after `seconds` do not say that
        the one before is still there: that shows with the next record.

        Raises:
            BrokenLinkError: The next record does not follow that one: those between are lost or trimmed.
            UnreadableRecordError, OtherChainError: One is no record of this chain.
        """

    async def read_back(self, before: RecordId | None, most: int) -> Sequence[Record]:
        """Return up to `most` records before one, or the last ones, latest first; none at the beginning.

        Raises:
            UnreadableRecordError, OtherChainError: One is no record of this chain.
        """

    async def keep_genesis(self, lease: Lease, genesis: bytes) -> None:
        """Keep the chain's genesis file for readers.

        Raises:
            LeaseLostError: The lease is not the holder's any more.
        """

    async def genesis(self) -> bytes | None:
        """Return the genesis file that the writer keeps, None before there is one."""
