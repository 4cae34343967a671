"""Command `wsnode status`: the status of a running node."""

from typing import Any

import click

from wsnode.cli.options import checked_addresses
from wsnode.cli.terminal import one_line_failures, say

SECONDS = 10.0
MAX_BYTES = 1 << 20
MAX_SHOWN = 200
OWN_VERSION = "wsnode/"
"""Part of the version of every wsnode; on a development chain it follows anvil's."""


@click.command()
@click.argument("url", metavar="URL")
def status(*, url: str) -> None:
    """Show how a node grows: its head, and each upstream that it follows.

    URL is http:// or ws://, as `ready` printed it, with a key.
    """
    from wsnode.cli.status.report import lines_of

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
        raise ConfigurationError(f"the node is not wsnode but {version[:MAX_SHOWN]}")
    raise ConfigurationError(f"the node does not give its status: {_message_of(answer) or 'no result'}")


def _answer(url: str, method: str) -> dict[str, Any]:
    """Return the reply of a node to a call without parameters.

    Raises:
        ConfigurationError: The node cannot be asked, or answers with something else than JSON-RPC.
    """
    import json
    from http import HTTPStatus

    from wsnode.node.config import ConfigurationError
    from wsnode.untrusted.decoding import MalformedError, decode_json
    from wsnode.verify.posting import post

    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
    try:
        reply = post(url, text, seconds=SECONDS, most_bytes=MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"the node cannot be asked: {error}") from None
    try:
        answer = decode_json(reply.body)
    except MalformedError:
        answer = None
    if reply.status != HTTPStatus.OK:
        # The reply's message says more than its HTTP status, such as that the API key is wrong.
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
