"""Latency of cheap calls beside heavy ones, on one connection and on another."""

import msgspec

from wsnode.load.connection import LoadConnection
from wsnode.load.frames import request_frame
from wsnode.load.interference.steady import FIRST_OTHER_ID, SteadyConnection, ask_steadily
from wsnode.load.latencies import percentiles
from wsnode.load.replies import error_text, outcome

CONTRACT = "0x00000000000000000000000000000000c0ffee00"
LOOP = "0x5b600056"
"""Code JUMPDEST, PUSH1 0, JUMP: it ends when its gas is used up."""
GAS = 50_000_000
CALLS = 16
MAX_SECONDS = 30.0


class HeadOfLineResult(msgspec.Struct, frozen=True):
    """Percentiles of cheap calls in milliseconds: alone, beside heavy calls, and on another connection."""

    alone: list[float]
    beside: list[float]
    elsewhere: list[float]
    heavy_answered: int
    heavy_seconds: float
    heavy_says: str


def measure_head_of_line(url: str, seconds: float) -> HeadOfLineResult:
    """Return the latencies of cheap calls before and while one connection has heavy `eth_call`s in flight.

    Raises:
        ConnectionError: The node refused or closed a connection.
    """
    alone, loaded, other = (SteadyConnection(LoadConnection(url)) for _ in range(3))
    try:
        ask_steadily([alone], lambda: False, seconds)
        loaded.connection.send(heavy_calls())
        taken = ask_steadily([loaded, other], lambda: len(loaded.others) >= CALLS, MAX_SECONDS)
    finally:
        for each in (alone, loaded, other):
            each.connection.close()
    return HeadOfLineResult(
        percentiles(alone.latencies),
        percentiles(loaded.latencies),
        percentiles(other.latencies),
        len(loaded.others),
        taken,
        said(loaded.others[0]) if loaded.others else "no reply",
    )


def said(message: bytes) -> str:
    """Return the outcome of a heavy call as text, from which its weight can be seen."""
    return error_text(message) if outcome(message)[1] else "a result"


def heavy_calls() -> bytes:
    """Return frames of calls to a contract of a state override, so any chain will do."""
    call = {"to": CONTRACT, "gas": hex(GAS)}
    params = [call, "latest", {CONTRACT: {"code": LOOP}}]
    return b"".join(request_frame(FIRST_OTHER_ID + number, "eth_call", params) for number in range(CALLS))
