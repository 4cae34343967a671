"""Check of the chains of a data folder, one after another, and the report of its findings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from wsnode.doctor.chain import examine as ethereum
from wsnode.doctor.faults import FaultCollector
from wsnode.doctor.starknet import examine as starknet
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.ethereum.storage.tables import TABLES as ETHEREUM_TABLES
from wsnode.starknet.chain import FOLDER as STARKNET
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import TABLES as STARKNET_TABLES
from wsnode.store.table import Progress, check_rows


def examine(data: Path, progress: Progress) -> dict[str, FaultCollector]:
    """Return the findings of each family with a chain in the folder, without writing anything.

    Raises:
        ChainError, EngineError, StarknetError, StoreError: There is no chain, or a store cannot be opened.
    """
    found: dict[str, FaultCollector] = {}
    if (data / ETHEREUM).exists():
        with Chain.open(data / ETHEREUM, writer=False, is_examined=True) as chain:
            found[ETHEREUM] = FaultCollector(progress)
            check_rows(chain.store, ETHEREUM_TABLES, progress, found[ETHEREUM].fault)
            ethereum.examine(chain, found[ETHEREUM])
    if (data / STARKNET).exists():
        with StarknetChain.open(data, writer=False) as other:
            found[STARKNET] = FaultCollector(progress)
            check_rows(other.store, STARKNET_TABLES, progress, found[STARKNET].fault)
            with found[STARKNET].up_to_damage("blocks and classes"):
                starknet.examine(other, found[STARKNET])
    if not found:
        raise NoChainError(data)
    return found


def lines_of(found: Mapping[str, FaultCollector]) -> Iterator[str]:
    """Yield a report as lines without newlines; `found` has the findings by chain folder, `eth` or `alt`."""
    for family, findings in found.items():
        yield f"{family}: {_range(findings)}; checked {_checked(findings)}"
        for note in findings.notes:
            yield f"  note: {note}"
        for table, count in sorted(findings.counts.items()):
            yield f"  {table}: {count} fault" + ("" if count == 1 else "s")
            kept = findings.faults[table]
            yield from (f"    {fault}" for fault in kept)
            if count > len(kept):
                yield f"    … and {count - len(kept)} more"
    faults = sum(findings.counts.total() for findings in found.values())
    yield "sound" if not faults else f"not sound: {faults} fault" + ("" if faults == 1 else "s")


def document(data: Path, found: Mapping[str, FaultCollector]) -> dict[str, Any]:
    """Return a report as a JSON object."""
    return {
        "data": str(data),
        "sound": all(findings.is_sound for findings in found.values()),
        "families": {family: _members(findings) for family, findings in found.items()},
    }


def _members(findings: FaultCollector) -> dict[str, Any]:
    faults = {
        table: {"count": count, "first": msgspec.to_builtins(findings.faults[table])}
        for table, count in sorted(findings.counts.items())
    }
    return {**findings.range, "checked": dict(findings.checked), "notes": findings.notes, "faults": faults}


def _range(findings: FaultCollector) -> str:
    if not findings.range:
        return "no blocks"
    head = findings.range["head"]
    return f"blocks {findings.range['first']} to {head['number']} {head['hash']}"


def _checked(findings: FaultCollector) -> str:
    return ", ".join(f"{count} {what}" for what, count in findings.checked.items()) or "nothing"
