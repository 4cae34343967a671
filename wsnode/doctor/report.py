"""Report of an examination, for people and for programs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from wsnode.doctor.faults import FaultCollector


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
