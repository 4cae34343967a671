"""Check of Starknet's classes against their hashes, and of the look-ups of named classes."""

from typing import Final

import zstandard

from wsnode.doctor.faults import FaultCollector
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import NotAClassError
from wsnode.starknet.state_diff import StateDiff
from wsnode.starknet.storage.rows import decompress
from wsnode.starknet.storage.tables import (
    CLASSES,
    DROPPED,
    FIRST_NAMED,
    META,
    MISSING,
    NUMBERS,
    WINDOW_KEY,
    number_key,
)
from wsnode.store.environment import Reader
from wsnode.store.table import scan

_DROPPED_ROW: Final = 40


class ClassCheck:
    """Check of the classes that each block names, in order."""

    def __init__(self, reader: Reader, findings: FaultCollector) -> None:
        self._reader = reader
        self._findings = findings
        self._named = self._missing = 0
        self._is_interrupted = False

    def check(self, number: int, diff: StateDiff | None) -> None:
        """Check the look-ups of the classes that a block names."""
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
        # A light folder has classes of blocks that it has no more.
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
