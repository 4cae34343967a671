"""Findings of an examination: counts of checked items, faults by table, and notes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import DamagedStateError
from wsnode.store.environment import DamagedRowError
from wsnode.store.table import Progress

MAX_SHOWN: Final = 20
"""Maximum number of faults of one table that are kept; the others are counted."""


class FolderFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Fault found in a table by `wsnode doctor`: its description, and the number and hash (hex) of the block,
    None if unknown.
    """

    text: str
    number: int | None = None
    hash: str | None = None

    def __str__(self) -> str:
        where = "" if self.number is None else f"block {self.number}"
        if self.hash is not None:
            where = f"{where or 'block'} {self.hash}"
        return f"{where}: {self.text}" if where else self.text


class FaultCollector:
    """Findings of `wsnode doctor` on one chain; it keeps only the first faults of each table, and counts the
    others.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.checked: Counter[str] = Counter()
        """Number of checked blocks, transactions, logs and others, by kind."""
        self.faults: dict[str, list[FolderFault]] = {}
        """First faults of each table."""
        self.counts: Counter[str] = Counter()
        """Number of all faults of each table."""
        self.notes: list[str] = []
        """Notes on unfinished checks with the reason, and on findings that are no faults."""
        self.range: dict[str, Any] = {}

    @property
    def is_sound(self) -> bool:
        return not self.counts

    def fault(
        self, table: str, text: str, number: int | None = None, block_hash: bytes | None = None
    ) -> None:
        """Count a fault, and keep it if it is among the first of its table."""
        self.counts[table] += 1
        kept = self.faults.setdefault(table, [])
        if len(kept) < MAX_SHOWN:
            kept.append(FolderFault(text, number, None if block_hash is None else hexadecimal(block_hash)))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @contextmanager
    def up_to_damage(self, subject: str) -> Iterator[None]:
        """Run a check; a damaged row, which is counted elsewhere, ends this check and no other."""
        try:
            yield
        except (DamagedRowError, DamagedStateError):
            self.note(f"{subject}: not all was checked, because of damaged rows")

    def begins_and_ends(self, first: int, last: int, head: bytes) -> None:
        self.range = {"first": first, "head": {"number": last, "hash": hexadecimal(head)}}
