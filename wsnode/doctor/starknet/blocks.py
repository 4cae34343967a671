"""Check of Starknet's blocks: links, roots, and the histories that follow from their state diffs.

Counting shows that a history has no other rows, as with an EVM chain's look-ups.
"""

from typing import Final

import zstandard

from wsnode.doctor.faults import FaultCollector
from wsnode.starknet.block import StarknetHeader, StateDiff, UnverifiedStarknetBlock
from wsnode.starknet.body import decode_body
from wsnode.starknet.diff_json import decode_flat, state_diff
from wsnode.starknet.felt import ZERO
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.storage.event_bloom import body_bloom
from wsnode.starknet.storage.tables import (
    BLOCKS,
    BODIES,
    DIFFS,
    EVENT_BLOOMS,
    HISTORIES,
    META,
    NUMBER_BYTES,
    NUMBERS,
    TRANSACTIONS,
    WINDOW_KEY,
    BlockRow,
    decode_block,
    decompress,
    key_number,
    number_key,
)
from wsnode.starknet.storage.writing import histories, transaction_places
from wsnode.store.environment import Reader
from wsnode.store.table import scan
from wsnode.untrusted.decoding import decode_json

_COUNTED: Final = (BLOCKS, DIFFS, NUMBERS, BODIES, EVENT_BLOOMS, TRANSACTIONS, *HISTORIES)
UNREADABLE: Final = (zstandard.ZstdError, ValueError)


class StarknetBlockCheck:
    """Check of `wsnode doctor` that each Starknet block agrees with its predecessor, its state root and the
    look-up tables; it takes the blocks in order.
    """

    def __init__(self, reader: Reader, findings: FaultCollector, roots: StateRoots | None) -> None:
        self._reader = reader
        self._findings = findings
        self._roots = roots
        self._before: BlockRow | None = None
        self._is_interrupted = False
        """True if a row is missing, so that the rows of look-ups cannot be counted."""
        self._found = dict.fromkeys(_COUNTED, 0)

    @property
    def last_hash(self) -> bytes:
        """Return the hash of the last checked block, empty if it cannot be read."""
        return b"" if self._before is None else self._before.hash

    def check(self, number: int) -> StateDiff | None:
        """Check the next block; return its diff, None if it cannot be read."""
        row, diff = self._row(number), self._diff(number)
        self._is_interrupted |= row is None or diff is None
        self._findings.checked["blocks"] += 1
        if row is None:
            self._before, self._roots = None, None
            return diff
        self._check_links(number, row)
        self._check_lookup(number, row)
        self._check_body(number, row)
        if diff is None:
            self._roots = None
        else:
            self._check_histories(number, row, diff)
            self._check_root(number, row, diff)
        self._before = row
        return diff

    def finish(self) -> None:
        """Report tables with more rows than the blocks account for."""
        self._check_places()
        # A light folder keeps the last values from before its window, but no longer the blocks that set them.
        # So the rows of its histories cannot be counted.
        is_light = self._reader.get(META, WINDOW_KEY) is not None
        for table, found in self._found.items():
            if is_light and table in HISTORIES:
                continue
            if table not in (BLOCKS, DIFFS) and self._is_interrupted:
                continue
            if (entries := self._reader.entries(table)) > found:
                self._findings.fault(table.name, f"{entries - found} rows belong to no block")

    def _row(self, number: int) -> BlockRow | None:
        stored = self._reader.get(BLOCKS, number_key(number))
        self._found[BLOCKS] += stored is not None
        try:
            if stored is not None:
                row = decode_block(stored)
                decode_json(row.more or b"null")
                return row
            text = "there is no row"
        except UNREADABLE as error:
            text = f"the row cannot be read: {error}"
        self._findings.fault("blocks", text, number)
        return None

    def _diff(self, number: int) -> StateDiff | None:
        frame = self._reader.get(DIFFS, number_key(number))
        self._found[DIFFS] += frame is not None
        try:
            if frame is not None:
                return state_diff(decode_flat(decompress(frame)))
            text = "there is no row"
        except UNREADABLE as error:
            text = f"the row cannot be read: {error}"
        self._findings.fault("diffs", text, number)
        return None

    def _check_links(self, number: int, row: BlockRow) -> None:
        parent, root = (ZERO, ZERO) if number == 0 else (None, None)
        if self._before is not None:
            parent, root = self._before.hash, self._before.new_root
        # A state update without its block does not name its parent; its old root links it nevertheless.
        if parent is not None and (row.parent_hash or parent) != parent:
            text = f"its parent is 0x{(row.parent_hash or ZERO).hex()}, and no such block is before it"
            self._findings.fault("links", text, number, row.hash)
        if root is not None and row.old_root != root:
            self._findings.fault("links", "its old root is not the root before it", number, row.hash)

    def _check_lookup(self, number: int, row: BlockRow) -> None:
        key = self._reader.get(NUMBERS, row.hash)
        self._found[NUMBERS] += key is not None
        if key != number_key(number):
            text = "its hash is not listed" if key is None else f"its hash leads to {key.hex()}"
            self._findings.fault("numbers", text, number, row.hash)

    def _check_body(self, number: int, row: BlockRow) -> None:
        """Check the transactions of a block if they are stored, and their look-ups by hash."""
        if (frame := self._reader.get(BODIES, number_key(number))) is None:
            return
        self._found[BODIES] += 1
        try:
            body = decode_body(decompress(frame))
            places, bloom = list(transaction_places(number_key(number), body)), body_bloom(body)
        except UNREADABLE as error:
            self._findings.fault("bodies", f"the row cannot be read: {error}", number, row.hash)
            return
        self._check_bloom(number, row, bloom)
        for transaction_hash, place in places:
            stored = self._reader.get(TRANSACTIONS, transaction_hash)
            self._found[TRANSACTIONS] += stored is not None
            if stored != place:
                text = f"transaction 0x{transaction_hash.hex()} " + (
                    "is not listed" if stored is None else f"leads to {stored.hex()}"
                )
                self._findings.fault("transactions", text, number, row.hash)

    def _check_bloom(self, number: int, row: BlockRow, bloom: bytes) -> None:
        stored = self._reader.get(EVENT_BLOOMS, number_key(number))
        self._found[EVENT_BLOOMS] += stored is not None
        if stored != bloom:
            text = "there is no row" if stored is None else "the row is not that of the block's events"
            self._findings.fault("event_blooms", text, number, row.hash)

    def _check_places(self) -> None:
        """Check that transactions lead to stored blocks."""
        if self._reader.entries(TRANSACTIONS) == self._found[TRANSACTIONS]:
            return
        for _, place in scan(self._reader, TRANSACTIONS, b""):
            number = key_number(place[:NUMBER_BYTES])
            if self._reader.get(BODIES, number_key(number)) is None:
                text = "there is no row, and transactions lead to it"
                self._findings.fault("bodies", text, number)

    def _check_histories(self, number: int, row: BlockRow, diff: StateDiff) -> None:
        for table, subject, value in histories(diff):
            stored = self._reader.get(table, subject + number_key(number))
            self._found[table] += stored is not None
            self._findings.checked["changes"] += 1
            if stored != value:
                text = f"the value that its diff sets at {subject.hex()} is " + (
                    "missing" if stored is None else "another one"
                )
                self._findings.fault(table.name, text, number, row.hash)

    def _check_root(self, number: int, row: BlockRow, diff: StateDiff) -> None:
        if self._roots is None:
            return
        header = StarknetHeader(hash=row.hash, version=row.version)
        block = UnverifiedStarknetBlock(
            number=number, header=header, old_root=row.old_root, new_root=row.new_root, diff=diff
        )
        found = self._roots.after(block)
        self._findings.checked["state roots"] += 1
        if found != row.new_root:
            text = f"its state root is 0x{row.new_root.hex()}, and the stored changes make 0x{found.hex()}"
            self._findings.fault("roots", text, number, row.hash)
            # Every later root would differ too, so no more roots are checked.
            self._roots = None
