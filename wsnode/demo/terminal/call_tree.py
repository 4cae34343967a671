"""Calls of a transaction as a tree, from the trace of geth's callTracer."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from wsnode.demo.terminal.blocks import address, printable
from wsnode.demo.terminal.console_log import CONSOLE, line_of

MAX_LINES: Final = 1000
MAX_DEPTH: Final = 128
SHOWN_BYTES: Final = 4 + 4 * 32
"""Maximum bytes of input or output that are shown: a function's selector and four values."""
_KINDS: Final = {"CALL": "", "CREATE": "", "STATICCALL": " [staticcall]", "DELEGATECALL": " [delegatecall]"}


class TracedLog(msgspec.Struct, frozen=True):
    """Event emitted during a call, as callTracer returns it; `position` is the number of subcalls made before
    it in the same call, in hex.
    """

    address: str
    topics: Sequence[str] = ()
    data: str = "0x"
    position: str = "0x0"


class TracedCall(msgspec.Struct, rename="camel", frozen=True):
    """Call of a transaction with its subcalls and events, as callTracer returns it: numbers, addresses and
    bytes in hex.
    """

    type: str
    gas_used: str = "0x0"
    to: str | None = None
    value: str | None = None
    input: str = "0x"
    output: str = "0x"
    error: str | None = None
    revert_reason: str | None = None
    calls: Sequence["TracedCall"] = ()
    logs: Sequence[TracedLog] = ()


read_call = msgspec.json.Decoder(TracedCall).decode


def tree_lines(root: TracedCall) -> Iterator[str]:
    """Yield the lines of a tree, at most `MAX_LINES`."""
    yield "Traces"
    lines = _lines(root, "  ", "  ")
    yield from islice(lines, MAX_LINES)
    if next(lines, None) is not None:
        yield "  … further calls left out"


def _lines(call: TracedCall, first: str, indent: str, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a call; the first begins with `first`, the others with `indent`."""
    if depth == MAX_DEPTH:
        yield f"{first}… deeper calls left out"
        return
    yield f"{first}[{int(call.gas_used, 16)}] {_head(call)}"
    logs = sorted(call.logs, key=lambda log: int(log.position, 16))
    placed = 0
    for place, inner in enumerate(call.calls):
        while placed < len(logs) and int(logs[placed].position, 16) <= place:
            yield from _log_lines(logs[placed], indent)
            placed += 1
        yield from _lines(inner, f"{indent}├─ ", f"{indent}│  ", depth + 1)
    for log in logs[placed:]:
        yield from _log_lines(log, indent)
    yield f"{indent}└─ ← {_end(call)}"


def _head(call: TracedCall) -> str:
    if call.type.startswith("CREATE"):
        return f"new {address(call.to or 'a contract')}, {len(call.input) // 2 - 1} bytes of init code"
    if call.to == CONSOLE and (text := line_of(bytes.fromhex(call.input[2:]))) is not None:
        return printable(f"console.log {text}")
    value = int(call.value or "0x0", 16)
    paid = f" {{{value} wei}}" if value else ""
    kind = _KINDS.get(call.type, f" [{call.type.lower()}]")
    return f"{address(call.to or '0x')}{paid} {_bytes(call.input)}{kind}"


def _end(call: TracedCall) -> str:
    if call.error is not None:
        reason = call.revert_reason
        said = f": {reason}" if reason else f": {_bytes(call.output)}" if len(call.output) > 2 else ""
        return printable(f"{call.error}{said}")
    if call.type.startswith("CREATE"):
        return f"{len(call.output) // 2 - 1} bytes of code"
    return _bytes(call.output)


def _log_lines(log: TracedLog, indent: str) -> Iterator[str]:
    for place, topic in enumerate(log.topics):
        yield f"{indent}├─ {f'emit {address(log.address)}' if not place else '    '} topic {place} {topic}"
    begins = "" if log.topics else f"emit {address(log.address)} "
    yield f"{indent}│  {begins}      data {_bytes(log.data)}"


def _bytes(text: str) -> str:
    """Return bytes in hex; long ones are cut, and followed by their number."""
    most = 2 + 2 * SHOWN_BYTES
    return text if len(text) <= most else f"{text[:most]}… ({len(text) // 2 - 1} bytes)"
