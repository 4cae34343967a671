"""`wsnode status`: what a running node says of itself."""

from typing import Any

import click

from wsnode.cli.options import checked_addresses
from wsnode.cli.terminal import one_line_failures, say

SECONDS = 10.0
MOST_BYTES = 1 << 20


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
        ConfigurationError: The node cannot be asked, or has none.
    """
    import json
    import urllib.error
    import urllib.request

    from wsnode.node.config import ConfigurationError

    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "wsnode_status", "params": []}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            answer = json.loads(reply.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        raise ConfigurationError(f"the node answers with HTTP {error.code}") from None
    except OSError as error:
        raise ConfigurationError(f"the node cannot be asked: {getattr(error, 'reason', error)}") from None
    except ValueError:
        raise ConfigurationError("what answers there is no node") from None
    if not isinstance(answer, dict) or not isinstance(result := answer.get("result"), dict):
        reason = (
            answer.get("error", {}).get("message", "no result") if isinstance(answer, dict) else "no object"
        )
        raise ConfigurationError(f"the node does not tell its status: {reason}")
    return result


def lines_of(status: dict[str, Any]) -> list[str]:
    """Return a status as people read it."""
    lines = [_head_line(status["mode"], status)]
    if (lag := status.get("lag")) is not None:
        lines[0] += f", {lag} blocks behind"
    if "trust" in status:
        lines.append(f"trust: {status['trust']}")
    if (journal := status.get("journal")) is not None:
        lines.append(_journal_line(journal))
        if (alt := journal.get("alt")) is not None:
            lines.append(f"alt {_journal_line(alt)}")
    replica = status.get("replica") or {}
    if "journal" in replica:
        lines.append(_replica_line(replica))
    if (alt := replica.get("alt")) is not None:
        lines += [_head_line("alt", alt), f"alt {_replica_line(alt)}"]
    return lines + [_upstream_line(upstream) for upstream in status["upstreams"]]


def _head_line(name: str, status: dict[str, Any]) -> str:
    state = f", {status['state']}" if "state" in status else ""
    if (head := status["head"]) is None:
        return f"{name}{state}: no block"
    return f"{name}{state}: head {int(head['number'], 16)} {head['hash']}"


def _journal_line(journal: dict[str, Any]) -> str:
    if not journal["leading"]:
        return f"journal: not published to: {journal.get('error', 'not reached yet')}"
    return f"journal: published in epoch {journal['epoch']}, {journal['lag'] or 0} blocks behind"


def _replica_line(replica: dict[str, Any]) -> str:
    if (error := replica.get("error")) is not None:
        return f"journal: {error}"
    if not replica["reachable"]:
        return f"journal: {replica['journal']} was not reached yet"
    line = f"journal: {replica['journal']}, followed up to record {replica['position'] or 'none'}"
    return line if replica.get("writer") is not False else f"{line}, and no process writes it now"


def _upstream_line(upstream: dict[str, Any]) -> str:
    line = f"{upstream['url']}: {upstream['state']}"
    if reason := upstream.get("reason"):
        line += f" ({reason})"
    if head := upstream.get("head"):
        line += f", head {int(head['number'], 16)}"
    score = upstream["score"]
    return line + (
        f", announces {score['announceDelay'] * 1000:.0f} ms behind the first, "
        f"reads in {score['readP95'] * 1000:.0f} ms (p95), {score['errorShare']:.0%} errors"
    )
