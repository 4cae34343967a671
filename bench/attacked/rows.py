"""Results of attacks on nodes: one line for each attack, and a Markdown table that compares the nodes."""

import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.attacked.probe import Probe
from bench.lib.attackers import Outcome

PARTS = (0.5, 0.99, 1.0)
SHOWN_STALL = 5.0
"""Milliseconds; a shorter one explains no wait that is worth explaining."""
HEADING = (
    f"  {'':22} {'p50':>8} {'p99':>9} {'longest':>9} {'stalled':>8} {'errors':>7} {'before':>8} "
    f"{'peak':>8} {'after':>8} {'snapshots':>10} {'sent MB':>8} {'closed':>7} {'open':>7}"
)


class Seen(NamedTuple):
    """What was seen of a node under attack; memory in MiB, nan where its process is unknown.

    `stalled` are the milliseconds of the probe's longest wait in which a core stood still, nan if unknown.
    """

    before: float
    peak: float
    after: float
    snapshots: int | None
    was_stopped: bool
    stalled: float


class Row(NamedTuple):
    """One attack on one node: what it did, or why nothing is known of that."""

    name: str
    measured: tuple[Probe, Seen, Outcome | None] | None
    not_ready_reason: str = ""

    @property
    def is_worn(self) -> bool:
        """Return whether the node should begin anew before it is attacked again."""
        return self.measured is None or self.measured[1].was_stopped

    def line(self) -> str:
        """Return a line of the table of one node; what is unknown is a dash."""
        if self.measured is None:
            return f"  {self.name:22} {self.not_ready_reason}"
        probe, seen, outcome = self.measured
        waits = (
            f"{probe.percentile(part):>{width}.1f}" for part, width in zip(PARTS, (8, 9, 9), strict=True)
        )
        sizes = (f"{'-' if math.isnan(size) else format(size, '.0f'):>8}" for size in seen[:3])
        snapshots = "-" if seen.snapshots is None else seen.snapshots
        label = self.name + " *" * seen.was_stopped
        stalled = "-" if math.isnan(seen.stalled) else format(seen.stalled, ".1f")
        line = (
            f"  {label:22} {' '.join(waits)} {stalled:>8} {probe.errors:>7} {' '.join(sizes)} {snapshots:>10}"
        )
        if outcome is None:
            return f"{line} {'-':>8} {'-':>7} {'-':>7}"
        return f"{line} {outcome.megabytes:>8,.1f} {outcome.closed:>7,} {outcome.open:>7,}"

    def cell(self) -> str:
        """Return what the table of all nodes says of it."""
        if self.measured is None:
            return self.not_ready_reason
        probe, seen, _outcome = self.measured
        waits = "/".join(f"{probe.percentile(part):.1f}" for part in PARTS)
        stalled = f" (stalled {seen.stalled:.1f})" if seen.stalled >= SHOWN_STALL else ""
        errors = f", {probe.errors} errors" if probe.errors else ""
        memory = "" if math.isnan(seen.peak) else f", {seen.before:,.0f} to {seen.peak:,.0f} MiB"
        return f"{waits}{' *' * seen.was_stopped}{stalled}{errors}{memory}"


def table_text(names: Sequence[str], columns: Mapping[str, Sequence[Row]]) -> str:
    """Return a Markdown table with a row for each attack of `names`, and a column for each node."""
    heads = [f"{node}: p50/p99/longest ms, memory before and at most" for node in columns]
    lines = [f"Measured on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores.", ""]
    lines += [_line(["attack", *heads]), _line(["---"] * (len(heads) + 1))]
    for number, name in enumerate(names):
        cells = [rows[number].cell() if number < len(rows) else "-" for rows in columns.values()]
        lines.append(_line([name, *cells]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
