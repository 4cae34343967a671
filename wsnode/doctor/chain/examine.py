"""Check of an EVM chain's folder and of the chain's ends, in one snapshot of its store."""

from typing import Final, NamedTuple

from wsnode.doctor.chain.contents import AccessListCheck, ContentCheck, check_side_blocks
from wsnode.doctor.chain.lookups import LogIndexCheck, LookupCheck
from wsnode.doctor.chain.rows import stored_blocks
from wsnode.doctor.chain.state import check_state
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import CorruptRowError, header_fields
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage import meta, state_patches, window
from wsnode.ethereum.storage.folder import IMPORT
from wsnode.ethereum.storage.tables import BODIES, HEADERS, META, RECEIPTS, number_from, number_key
from wsnode.store.environment import Reader
from wsnode.store.table import last_key, scan

NUMBER_BYTES: Final = 8
META_KEYS: Final = frozenset(
    (
        b"schema",
        b"genesis",
        b"head",
        b"safe",
        b"finalized",
        b"window",
        b"window_seconds",
        b"first",
        b"chain_ids",
        meta.LIGHT_CLIENT,
    )
)


class ChainEnds(NamedTuple):
    """Numbers of the first and the last canonical block."""

    first: int
    last: int


def find_ends(reader: Reader, first: int, findings: FaultCollector) -> ChainEnds:
    """Return the numbers of the first and the last block; a mark that contradicts the blocks is a fault."""
    first, highest = _rows(reader, first, findings)
    head = meta.marked_head(reader, meta.HEAD)
    last = head.number if head is not None and _is_there(reader, head.number) else highest
    if head is not None and head.number != last:
        findings.fault("meta", f"the head is block {head.number}, which is not there; the last is {last}")
    for name, mark in (("head", meta.HEAD), ("safe", meta.SAFE), ("finalized", meta.FINALIZED)):
        marked = meta.marked_head(reader, mark)
        if marked is not None and first <= marked.number and _hash(reader, marked.number) != marked.hash:
            findings.fault("meta", f"the {name} block is not canonical", marked.number, marked.hash)
        if marked is not None and head is not None and marked.number > head.number:
            findings.fault("meta", f"the {name} block is above the head", marked.number, marked.hash)
    for key, _ in scan(reader, META, b""):
        if key not in META_KEYS and not state_patches.is_key(key):
            findings.fault("meta", f"the key {key.hex()} is unknown")
    findings.begins_and_ends(first, last, _hash(reader, last) or b"")
    return ChainEnds(first, last)


def _is_there(reader: Reader, number: int) -> bool:
    return any(reader.get(table, number_key(number)) is not None for table in (HEADERS, BODIES, RECEIPTS))


def _rows(reader: Reader, first: int, findings: FaultCollector) -> ChainEnds:
    """Return the first and the last block's number by the headers; malformed keys do not count."""
    lowest = next(
        (number_from(key) for key, _ in scan(reader, HEADERS, b"") if len(key) == NUMBER_BYTES), first
    )
    if lowest != first:
        findings.fault("meta", f"the first block is to be {first}, and the first header is that of {lowest}")
        first = first if reader.get(HEADERS, number_key(first)) else lowest
    greatest = last_key(reader, HEADERS)
    behind = first + max(reader.entries(HEADERS), 1) - 1
    return ChainEnds(
        first,
        behind if greatest is None or len(greatest) != NUMBER_BYTES else min(number_from(greatest), behind),
    )


def check_beginning(view: Snapshot, first: int, findings: FaultCollector) -> None:
    """Check that the first block is the genesis; a folder with a window may begin with any block."""
    if window.window(view.reader) is not None and first != view.spec.first_number:
        return
    found, genesis = _hash(view.reader, first), view.spec.genesis_hash
    if found != genesis:
        text = f"the genesis file is that of 0x{genesis.hex()}"
        findings.fault("headers", text, first, found)


def _hash(reader: Reader, number: int) -> bytes | None:
    row = reader.get(HEADERS, number_key(number))
    try:
        return None if row is None else header_fields(row).hash
    except CorruptRowError:
        return None


def examine(chain: Chain, findings: FaultCollector) -> None:
    """Check all tables in a chain's folder.

    Raises:
        EngineError, StoreError: The store cannot be read at all.
    """
    with findings.up_to_damage("blocks and state"):
        with chain.store.read() as reader:
            if meta.marked_head(reader, meta.HEAD) is None:
                findings.fault("meta", "there is no head, so nothing else can be checked")
                return
        with chain.snapshot() as view:
            ends = find_ends(view.reader, view.earliest, findings)
            check_beginning(view, ends.first, findings)
            _check_contents(view, ends, findings, impersonates=chain.folder.maker() != IMPORT)
        with findings.up_to_damage("the state"):
            check_state(chain, ends.first, ends.last, findings)


def _check_contents(view: Snapshot, ends: ChainEnds, findings: FaultCollector, *, impersonates: bool) -> None:
    with findings.up_to_damage("blocks"):
        _check_blocks(view, ends.first, ends.last, findings, impersonates=impersonates)
    with findings.up_to_damage("side blocks"):
        check_side_blocks(view, findings, impersonates=impersonates)


def _check_blocks(
    view: Snapshot, first: int, last: int, findings: FaultCollector, *, impersonates: bool
) -> None:
    contents = ContentCheck(view.spec, findings, impersonates=impersonates)
    lookups = LookupCheck(view.reader, findings, first, last)
    log_index = LogIndexCheck(view.reader, findings)
    access_lists = AccessListCheck(view.reader, findings, is_light=view.is_light)
    for batch in stored_blocks(view.reader, first, last):
        contents.check(batch)
        for block in batch:
            log_index.add(block, lookups.check(block))
            access_lists.check(block)
        findings.progress.advanced("blocks", batch[-1].number + 1 - first, last + 1 - first)
    lookups.finish()
    log_index.finish()
    access_lists.finish()
