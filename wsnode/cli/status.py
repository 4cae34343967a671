"""Command `wsnode status`: the status of a running node, as lines for people."""

from typing import Any

import click
import msgspec

from wsnode.cli.options import checked_addresses
from wsnode.cli.terminal import one_line_failures, say
from wsnode.untrusted.decoding import MalformedError, decode_json, decode_quantity, one_error

SECONDS = 10.0
MOST_BYTES = 1 << 20
MOST_SHOWN = 200
OWN_VERSION = "wsnode/"
"""Part of the version of every wsnode; on a development chain it follows anvil's."""


@click.command()
@click.argument("url", metavar="URL")
def status(*, url: str) -> None:
    """Show how a node grows: its head, and each upstream that it follows.

    URL is http:// or ws://, as `ready` printed it, with a key.
    """
    address = checked_addresses(url).http
    with one_line_failures():
        for line in lines_of(asked(address)):
            say(line)


def asked(url: str) -> dict[str, Any]:
    """Return the result of `wsnode_status`.

    Raises:
        ConfigurationError: The node cannot be asked, has no such method, or is another kind of node.
    """
    from wsnode.node.config import ConfigurationError

    answer = _answer(url, "wsnode_status")
    if isinstance(result := answer.get("result"), dict):
        return result
    version = _answer(url, "web3_clientVersion").get("result")
    if isinstance(version, str) and OWN_VERSION not in version:
        raise ConfigurationError(f"the node is not wsnode but {version[:MOST_SHOWN]}")
    raise ConfigurationError(f"the node does not give its status: {_message_of(answer) or 'no result'}")


def _answer(url: str, method: str) -> dict[str, Any]:
    """Return the reply of a node to a call without parameters.

    Raises:
        ConfigurationError: The node cannot be asked, or answers with something else than JSON-RPC.
    """
    import json
    from http import HTTPStatus

    from wsnode.node.config import ConfigurationError
    from wsnode.verify.posting import post

    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
    try:
        reply = post(url, text, seconds=SECONDS, most_bytes=MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(f"the node cannot be asked: {error}") from None
    try:
        answer = decode_json(reply.body)
    except MalformedError:
        answer = None
    if reply.status != HTTPStatus.OK:
        # Besides the status, such as that a key is wrong.
        reason = f": {message}" if (message := _message_of(answer)) else ""
        raise ConfigurationError(f"the node answers with HTTP {reply.status}{reason}")
    if not isinstance(answer, dict):
        raise ConfigurationError("the answer is not JSON-RPC, so the URL is not a node's")
    return answer


def _message_of(answer: Any) -> str | None:
    """Return the message of an error reply, None if it has none."""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else None


class _Head(msgspec.Struct):
    number: str
    hash: str = ""


class _Score(msgspec.Struct):
    announce_delay: float = msgspec.field(name="announceDelay")
    read_p95: float = msgspec.field(name="readP95")
    error_share: float = msgspec.field(name="errorShare")


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
    """Chain that is followed."""

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
    """Status of a Starknet chain that is followed beside the other one."""


def lines_of(told: dict[str, Any]) -> list[str]:
    """Return the lines of a status.

    Raises:
        MalformedError: The result is no status.
    """
    with one_error():
        status = msgspec.convert(told, _Status)
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
        f"reads in {score.read_p95 * 1000:.0f} ms (p95), {score.error_share:.0%} errors"
    )
