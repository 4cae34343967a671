"""A measurement as a JSON object, for programs and for later comparison."""

import math
from collections.abc import Sequence
from typing import Any, Final

from wsnode.load.histogram import PARTS, Histogram
from wsnode.load.measured import Measured
from wsnode.load.report.text import NAMES
from wsnode.load.run import Outcome
from wsnode.upstream.address import shown

VERSION: Final = 1
"""Of the form of the object; members may be added without another."""


def document(outcome: Outcome) -> dict[str, Any]:
    """Return what was measured, latencies in milliseconds; addresses without paths, which may hold keys."""
    pattern = outcome.plan.pattern
    return {
        "version": VERSION,
        "load": {
            "connections": pattern.connections,
            "depth": pattern.depth if pattern.rate is None else None,
            "rate": pattern.rate,
            "seconds": pattern.seconds,
            "seed": outcome.plan.seed,
            "processes": outcome.plan.processes,
            "mix": outcome.plan.mix,
        },
        "nodes": [_node(outcome, number) for number in range(len(outcome.nodes))],
    }


def _node(outcome: Outcome, number: int) -> dict[str, Any]:
    node, measured = outcome.nodes[number], outcome.mix[number]
    found = {
        "name": NAMES[number],
        "address": shown(node.url),
        "client": node.version,
        "head": node.samples.head,
        "mix": _mix(measured),
    }
    if outcome.head_of_line:
        heavy = outcome.head_of_line[number]
        found["head_of_line"] = {
            "alone": _named(heavy.alone),
            "same_connection": _named(heavy.beside),
            "another_connection": _named(heavy.elsewhere),
            "heavy_answered": heavy.heavy_answered,
            "heavy_seconds": heavy.heavy_seconds,
            "heavy_result": heavy.heavy_says,
        }
    if outcome.slow_client:
        slow = outcome.slow_client[number]
        found["slow_client"] = {"before": _named(slow.before), "meanwhile": _named(slow.meanwhile)}
    return found


def _mix(measured: Measured) -> dict[str, Any]:
    return {
        "seconds": measured.seconds,
        **_row(measured, measured.all_latencies, measured.errors.total()),
        "unanswered": measured.unanswered,
        "client_limit": measured.is_client_the_limit,
        "client_cores": measured.busy,
        "machine": measured.machine or None,
        "methods": {
            method: {
                **_row(measured, latencies, measured.errors[method]),
                "first_error": measured.first_errors.get(method),
            }
            for method, latencies in sorted(measured.latencies.items())
        },
        "over_time": [
            {
                "from": place * measured.slice_seconds,
                "replies": len(piece.latencies),
                "errors": piece.errors,
                "p50": piece.latencies.percentile(0.5),
                "p99": piece.latencies.percentile(0.99),
            }
            for place, piece in sorted(measured.slices.items())
        ],
        "slice_seconds": measured.slice_seconds,
    }


def _row(measured: Measured, latencies: Histogram, errors: int) -> dict[str, Any]:
    return {
        "replies": len(latencies),
        "requests_per_second": _finite(len(latencies) / measured.seconds if measured.seconds else math.nan),
        "errors": errors,
        "latency": {**_named(latencies.percentiles()), "max": latencies.greatest / 1000},
        "histogram": [[low, high, count] for (low, high), count in latencies.buckets()],
    }


def _named(percentiles: Sequence[float]) -> dict[str, float | None]:
    return {f"p{part * 100:g}": _finite(value) for part, value in zip(PARTS, percentiles, strict=True)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
