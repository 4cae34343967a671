"""The table of all cases, in Markdown."""

import os
import time
from collections.abc import Sequence

from bench.lib.load import Load
from bench.lib.nodes import Node

Row = tuple[str, Sequence[Load | None]]


def table_text(nodes: Sequence[Node], rows: Sequence[Row], memory: Sequence[float | None]) -> str:
    """Return a Markdown table of all cases, with its date and the ratios of the first node to the others.

    Behind the CPU of a median, the least and the most of its runs stand in brackets.
    """
    others = [f"{nodes[0].name} / {node.name}" for node in nodes[1:]]
    names = ["case", "reply B"]
    names += [f"{node.name} CPU us, req/s, p50/p99 ms" for node in nodes]
    names += [f"CPU {pair}" for pair in others]
    lines = [f"Measured on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores{_busyness(rows)}.", ""]
    lines += [_line(names), _line(["---"] * len(names))]
    lines += [_line(_cells(name, loads)) for name, loads in rows]
    if any(kib is not None for kib in memory):
        cells = ["-" if kib is None else f"{kib:.1f} KiB" for kib in memory]
        ratios = [_ratio(memory[0], kib) for kib in memory[1:]]
        lines.append(_line(["idle connection", "", *cells, *ratios]))
    return "\n".join(lines) + "\n"


def _busyness(rows: Sequence[Row]) -> str:
    """Return a warning if other programs ran meanwhile."""
    most = max((load.others for _name, loads in rows for load in loads if load is not None), default=0.0)
    return f", other programs used up to {most:.2f} cores" if most >= 0.1 else ""


def _cells(name: str, loads: Sequence[Load | None]) -> list[str]:
    first = loads[0]
    size = next((f"{load.bytes:,.0f}" for load in loads if load is not None), "-")
    ratios = [_ratio(first and first.cpu, load and load.cpu) for load in loads[1:]]
    return [name, size, *map(_load_cell, loads), *ratios]


def _load_cell(load: Load | None) -> str:
    if load is None:
        return "-"
    cpu = "" if load.cpu is None else f"{_short(load.cpu * 1000)}{_spread(load)}, "
    return f"{cpu}{_short(load.rate)}, {load.p50:.2f}/{load.p99:.2f}"


def _spread(load: Load) -> str:
    if load.spread is None:
        return ""
    least, most = load.spread
    return f" ({_short(least * 1000)}-{_short(most * 1000)})"


def _ratio(mine: float | None, theirs: float | None) -> str:
    return f"{mine / theirs:.2f}" if mine and theirs else "-"


def _short(value: float) -> str:
    """Return a number with three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def ratio_text(first: Load, other: Load) -> str:
    """Return how many times another node's CPU and rate those of the first one are."""
    cpu = f"CPU {first.cpu / other.cpu:.2f}, " if first.cpu and other.cpu else ""
    return f"{cpu}rate {first.rate / other.rate:.2f}"
