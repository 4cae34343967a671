"""Lines of `wsnode status`.

`--help` loads no msgspec, so this module is imported when the command runs.
"""

from typing import Any

import msgspec

from wsnode.untrusted.decoding import decode_quantity, one_error


class _Head(msgspec.Struct):
    number: str
    hash: str = ""


class _Score(msgspec.Struct):
    announce_delay: float = msgspec.field(name="announceDelay")
    read_p95: float = msgspec.field(name="readP95")
    error_rate: float = msgspec.field(name="errorShare")


class _Upstream(msgspec.Struct):
    url: str
    state: str
    score: _Score
    reason: str | None = None
    head: _Head | None = None


class _Journal(msgspec.Struct):
    leading: bool
    error: str | None = None
    epoch: int | None = None
    lag: int | None = None


class _Replica(msgspec.Struct):
    journal: str
    reachable: bool
    position: str | None = None
    error: str | None = None
    writer: bool | None = None


class _Chain(msgspec.Struct):
    id: int
    family: str
    name: str | None = None


class _Status(msgspec.Struct):
    mode: str
    upstreams: list[_Upstream]
    head: _Head | None = None
    state: str | None = None
    lag: int | None = None
    chain: _Chain | str | None = None
    trust: str | None = None
    journal: _Journal | None = None
    replica: _Replica | None = None
    starknet: "_Status | None" = None
    """Status of the followed Starknet chain of a network with two chains."""


def lines_of(result: dict[str, Any]) -> list[str]:
    """Return the lines of a status.

    Raises:
        MalformedError: The result is no status.
    """
    with one_error():
        status = msgspec.convert(result, _Status)
    if (starknet := status.starknet) is None:
        return _chain_lines(status)
    return [*_chain_lines(status), *(f"Starknet {line}" for line in _chain_lines(starknet))]


def _chain_lines(status: _Status) -> list[str]:
    lines = [_head_line(status.mode, status)]
    if status.lag is not None:
        lines[0] += f", {status.lag} blocks behind"
    if isinstance(chain := status.chain, _Chain):
        lines.append(f"chain: {chain.name or chain.id}, of the family {chain.family}")
    elif chain is not None:
        lines.append(f"chain: {chain}")
    if status.trust is not None:
        lines.append(f"trust: {status.trust}")
    if status.journal is not None:
        lines.append(_journal_line(status.journal))
    if status.replica is not None:
        lines.append(_replica_line(status.replica))
    return lines + [_upstream_line(upstream) for upstream in status.upstreams]


def _head_line(name: str, status: _Status) -> str:
    state = "" if status.state is None else f", {status.state}"
    if (head := status.head) is None:
        return f"{name}{state}: no block"
    return f"{name}{state}: head {decode_quantity(head.number)} {head.hash}"


def _journal_line(journal: _Journal) -> str:
    if not journal.leading:
        return f"journal: not published to: {journal.error or 'not reached yet'}"
    return f"journal: published in epoch {journal.epoch}, {journal.lag or 0} blocks behind"


def _replica_line(replica: _Replica) -> str:
    if replica.error is not None:
        return f"journal: {replica.error}"
    if not replica.reachable:
        return f"journal: {replica.journal} was not reached yet"
    line = f"journal: {replica.journal}, followed up to record {replica.position or 'none'}"
    return line if replica.writer is not False else f"{line}, and no process writes it now"


def _upstream_line(upstream: _Upstream) -> str:
    line = f"{upstream.url}: {upstream.state}"
    if upstream.reason:
        line += f" ({upstream.reason})"
    if upstream.head is not None:
        line += f", head {decode_quantity(upstream.head.number)}"
    score = upstream.score
    return line + (
        f", announces {score.announce_delay * 1000:.0f} ms behind the first, "
        f"reads in {score.read_p95 * 1000:.0f} ms (p95), {score.error_rate:.0%} errors"
    )
