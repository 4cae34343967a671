"""Check of a Starknet chain's folder, in one snapshot."""

from typing import Final

from wsnode.doctor.faults import FaultCollector
from wsnode.doctor.starknet.blocks import StarknetBlockCheck
from wsnode.doctor.starknet.classes import ClassCheck
from wsnode.starknet.chain import KNOWN_CHAINS, StarknetChain
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import (
    BLOCKS,
    DIFFS,
    FIRST_BLOCK_KEY,
    META,
    STORAGE_AT,
    key_number,
    number_key,
)
from wsnode.store.environment import Reader
from wsnode.store.table import last_key, scan

SLOT_BYTES: Final = 370
"""Bytes of memory of a slot while roots are computed again."""
MEMORY: Final = 1 << 30
"""Most bytes of memory for slots."""


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
        # A row of a strange number makes the chain no longer.
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
    if first > 0:
        findings.note(f"state roots were not computed: the state before block {first} is not known")
        return None
    if (needed := reader.entries(STORAGE_AT) * SLOT_BYTES) > MEMORY:
        findings.note(f"state roots were not computed: that would take up to {needed >> 20} MiB of memory")
        return None
    return StateRoots()
