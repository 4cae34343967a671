"""Check of a Starknet chain's folder, in one snapshot."""

from typing import Final

import zstandard

from wsnode.doctor.faults import FaultCollector
from wsnode.doctor.starknet.blocks import StarknetBlockCheck
from wsnode.starknet.block import StateDiff
from wsnode.starknet.chain import KNOWN_CHAINS, StarknetChain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import NotAClassError
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import (
    BLOCKS,
    CLASSES,
    DIFFS,
    DROPPED,
    FIRST_BLOCK_KEY,
    FIRST_NAMED,
    META,
    MISSING,
    NUMBERS,
    STORAGE_AT,
    WINDOW_KEY,
    decompress,
    key_number,
    number_key,
)
from wsnode.store.environment import Reader
from wsnode.store.table import last_key, scan

_DROPPED_ROW: Final = 40


class ClassCheck:
    """Check of `wsnode doctor` that each contract class named by a Starknet block is stored or listed as
    missing, and has the right first block in the look-up table.
    """

    def __init__(self, reader: Reader, findings: FaultCollector) -> None:
        self._reader = reader
        self._findings = findings
        self._named = self._missing = 0
        self._is_interrupted = False

    def check(self, number: int, diff: StateDiff | None) -> None:
        if diff is None:
            self._is_interrupted = True
            return
        for class_hash in diff.named_classes():
            first = self._reader.get(FIRST_NAMED, class_hash)
            if first is None or first > number_key(number):
                text = f"class 0x{class_hash.hex()} is not listed as named here"
                self._findings.fault("first_named", text, number)
            elif first == number_key(number):
                self._named += 1
                self._check_definition(number, class_hash)

    def finish(self) -> None:
        """Check the definitions, and report look-ups that belong to no block."""
        # A light folder keeps classes of blocks that it no longer has, so its rows cannot be counted.
        if not self._is_interrupted and self._reader.get(META, WINDOW_KEY) is None:
            for table, found in ((FIRST_NAMED, self._named), (MISSING, self._missing)):
                if (entries := self._reader.entries(table)) > found:
                    self._findings.fault(table.name, f"{entries - found} rows belong to no block")
        self._check_classes()
        self._check_dropped()

    def _check_definition(self, number: int, class_hash: bytes) -> None:
        missing = self._reader.get(MISSING, class_hash)
        self._missing += missing is not None
        is_there = self._reader.get(CLASSES, class_hash) is not None
        if is_there == (missing is not None):
            text = f"class 0x{class_hash.hex()} is " + (
                "there, and missing" if is_there else "neither there nor missing"
            )
            self._findings.fault("missing" if is_there else "classes", text, number)
        elif missing is not None and missing != number_key(number):
            text = f"class 0x{class_hash.hex()} is listed as missing from another block"
            self._findings.fault("missing", text, number)

    def _check_classes(self) -> None:
        entries = self._reader.entries(CLASSES)
        for done, (class_hash, row) in enumerate(scan(self._reader, CLASSES, b""), 1):
            self._findings.progress.advanced("classes", done, entries)
            self._findings.checked["classes"] += 1
            if text := _damage(class_hash, row):
                self._findings.fault("classes", f"class 0x{class_hash.hex()}: {text}")

    def _check_dropped(self) -> None:
        for block_hash, row in scan(self._reader, DROPPED, b""):
            self._findings.checked["dropped blocks"] += 1
            if len(row) != _DROPPED_ROW:
                self._findings.fault("dropped", "the row has another length", None, block_hash)
            elif self._reader.get(NUMBERS, block_hash) is not None:
                self._findings.fault("dropped", "the block is on the chain", None, block_hash)


def _damage(class_hash: bytes, row: bytes) -> str | None:
    try:
        found = decode_class(decompress(memoryview(row)[1:]))
    except (NotAClassError, zstandard.ZstdError, ValueError) as error:
        return f"cannot be read: {error}"
    if found.class_hash != class_hash:
        return f"has the hash 0x{found.class_hash.hex()}"
    return None if row[:1] == bytes([found.kind]) else "is of another kind"


SLOT_BYTES: Final = 370
"""Bytes of memory of a slot while roots are computed again."""
MEMORY: Final = 1 << 30
"""Maximum number of bytes of memory for slots."""


def examine(chain: StarknetChain, findings: FaultCollector) -> None:
    """Check all tables in a Starknet chain's folder.

    Raises:
        StoreError: The store cannot be read.
    """
    with chain.reader() as reader:
        if (key := max(last_key(reader, table) or b"" for table in (BLOCKS, DIFFS))) == b"":
            findings.note("there is no block yet")
            return
        first = _first(reader, findings)
        # The number of rows bounds the last block, so that a row with a wrong number cannot make the chain
        # longer.
        last = min(key_number(key), first + max(map(reader.entries, (BLOCKS, DIFFS))) - 1)
        blocks, classes = (
            StarknetBlockCheck(reader, findings, _roots(reader, first, findings)),
            ClassCheck(reader, findings),
        )
        for number in range(first, last + 1):
            classes.check(number, blocks.check(number))
            if number == first:
                _check_name(reader, first, blocks.last_hash, findings)
            findings.progress.advanced("Starknet blocks", number + 1 - first, last + 1 - first)
        findings.begins_and_ends(first, last, blocks.last_hash)
        blocks.finish()
        classes.finish()


def _check_name(reader: Reader, first: int, block_hash: bytes, findings: FaultCollector) -> None:
    known, name = KNOWN_CHAINS.get(block_hash), StarknetSnapshot(reader).chain_id
    if known is not None and name != known:
        findings.fault("meta", f"the chain is named {name}, but its first block is that of {known}", first)


def _first(reader: Reader, findings: FaultCollector) -> int:
    stored = reader.get(META, FIRST_BLOCK_KEY)
    lowest = next((key_number(key) for key, _ in scan(reader, BLOCKS, b"")), 0)
    first = 0 if stored is None else key_number(stored)
    if first != lowest:
        findings.fault("meta", f"the first block is to be {first}, and the first row is of block {lowest}")
    return first if reader.get(BLOCKS, number_key(first)) is not None else lowest


def _roots(reader: Reader, first: int, findings: FaultCollector) -> StateRoots | None:
    """Return the tries to which the first block's changes are applied, None if its state is not known."""
    keeps_state = StarknetSnapshot(reader).keeps_state
    if first > 0 and not keeps_state:
        findings.note(f"state roots were not computed: the state before block {first} is not known")
        return None
    if (needed := reader.entries(STORAGE_AT) * SLOT_BYTES) > MEMORY:
        findings.note(f"state roots were not computed: that would take up to {needed >> 20} MiB of memory")
        return None
    if first == 0:
        return StateRoots()
    try:
        # The values that the first block replaced are not stored, so the tries begin with the state after it.
        # Its changes are then applied a second time, which leaves the state as it is.
        return StateRoots.of_head(reader, first)
    except ValueError as error:
        findings.fault("roots", f"the state before the window cannot be read: {error}", first)
        return None
