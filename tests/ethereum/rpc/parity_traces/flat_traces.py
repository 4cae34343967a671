"""Traces of geth's flatCallTracer and Parity's in one form, to be compared."""

from typing import Any, Final

FLAT: Final = {"tracer": "flatCallTracer", "tracerConfig": {"convertParityErrors": True}}


def comparable(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace as both forms have it: geth's counts the whole transaction's gas, and knows no null."""
    shown = {name: value for name, value in trace.items() if value is not None}
    if not trace["traceAddress"]:
        shown["action"] = {name: value for name, value in trace["action"].items() if name != "gas"}
        result = trace.get("result") or {}
        shown["result"] = {name: value for name, value in result.items() if name != "gasUsed"}
    return shown


def words(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace with Parity's words where geth's tracer keeps its own."""
    error = trace.get("error")
    if error == "Reverted" and "code" in trace["result"]:
        trace["result"]["output"] = trace["result"].pop("code")
    known = {
        "write protection": "Mutable Call In Static Context",
        "insufficient balance for transfer": "Insufficient balance for transfer",
        "contract address collision": "Contract address collision",
        "max call depth exceeded": "Max call depth exceeded",
        "invalid code: must not begin with 0xef": "Invalid code",
    }
    if error is not None:
        trace["error"] = known.get(error, error)
    return trace


def differing(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[int]:
    """Return the places where the errors of two lists differ."""
    pairs = zip(some, others, strict=True)
    return [place for place, (one, other) in enumerate(pairs) if one.get("error") != other.get("error")]
