"""What an examination has found: counts of what was looked at, faults by table, and notes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import DamagedStateError
from wsnode.store.errors import DamagedRowError
from wsnode.store.progress import Progress

MOST_SHOWN: Final = 20
"""Faults of one table that are kept; the others are counted."""


class FolderFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something in a table that is not as it must be."""

    text: str
    number: int | None = None
    hash: str | None = None

    def __str__(self) -> str:
        where = "" if self.number is None else f"block {self.number}"
        if self.hash is not None:
            where = f"{where or 'block'} {self.hash}"
        return f"{where}: {self.text}" if where else self.text


class FaultCollector:
    """What was found of one chain; it stays small whatever is found."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.checked: Counter[str] = Counter()
        """How many blocks, transactions, logs … were looked at."""
        self.faults: dict[str, list[FolderFault]] = {}
        """The first faults of each table."""
        self.counts: Counter[str] = Counter()
        """All faults of each table."""
        self.notes: list[str] = []
        """What was not checked, and why; and what is no fault but worth knowing."""
        self.range: dict[str, Any] = {}

    @property
    def is_sound(self) -> bool:
        """Return whether there was no fault."""
        return not self.counts

    def fault(
        self, table: str, text: str, number: int | None = None, block_hash: bytes | None = None
    ) -> None:
        """Take note of a fault."""
        self.counts[table] += 1
        kept = self.faults.setdefault(table, [])
        if len(kept) < MOST_SHOWN:
            kept.append(FolderFault(text, number, None if block_hash is None else hexadecimal(block_hash)))

    def note(self, text: str) -> None:
        """Take note of what is no fault."""
        if text not in self.notes:
            self.notes.append(text)

    @contextmanager
    def up_to_damage(self, subject: str) -> Iterator[None]:
        """Check a subject; a damaged row, which is counted elsewhere, ends that and no other check."""
        try:
            yield
        except (DamagedRowError, DamagedStateError):
            self.note(f"{subject}: not all was checked, because of damaged rows")

    def begins_and_ends(self, first: int, last: int, head: bytes) -> None:
        """Take note of which blocks there are."""
        self.range = {"first": first, "head": {"number": last, "hash": hexadecimal(head)}}
