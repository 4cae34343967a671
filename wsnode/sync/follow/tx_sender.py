"""Sending of a transaction to all upstreams concurrently; the first that takes it is enough."""

from collections.abc import Sequence
from typing import Final

import trio

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.client import Client
from wsnode.upstream.errors import SendFailedError, UpstreamError, UpstreamRefusedError

SECONDS: Final = 10.0
_KNOWN: Final = ("already known", "already imported", "known transaction", "alreadyknown")
"""Parts of nodes' messages for a transaction that they have already: geth's, and others'."""


class _Outcome:
    """Answers of the upstreams so far."""

    def __init__(self, asked: int) -> None:
        self.missing = asked
        self.is_taken = False
        self.refusal: str | None = None
        self.failure: str | None = None
        self.is_clear = trio.Event()


async def send_to_all(upstreams: Sequence[Upstream], encoded: bytes, nursery: trio.Nursery) -> None:
    """Return once one of `upstreams` has taken a signed transaction; the others are asked in `nursery`.

    Raises:
        SendFailedError: No upstream has taken it; the message is of the first one that gave a reason.
    """
    outcome = _Outcome(len(upstreams))
    for upstream in upstreams:
        nursery.start_soon(_send, upstream, encoded, outcome)
    if upstreams:
        await outcome.is_clear.wait()
    if not outcome.is_taken:
        raise SendFailedError(
            outcome.refusal or f"no upstream can be asked: {outcome.failure or 'none is followed'}"
        )


async def send_to(client: Client, encoded: bytes) -> None:
    """Return once a node has taken a signed transaction, or says that it has it already.

    Raises:
        UpstreamRefusedError: The node does not take it.
        UpstreamError: The node gives no answer.
    """
    try:
        await client.ask_text("eth_sendRawTransaction", [hexadecimal(encoded)], seconds=SECONDS)
    except UpstreamRefusedError as error:
        if not any(words in error.message.lower() for words in _KNOWN):
            raise


async def _send(upstream: Upstream, encoded: bytes, outcome: _Outcome) -> None:
    try:
        await send_to(upstream.client, encoded)
        outcome.is_taken = True
    except UpstreamRefusedError as error:
        # That it is asked too often says nothing of the transaction.
        if not error.is_about_rate:
            outcome.refusal = outcome.refusal or error.message
        outcome.failure = outcome.failure or error.message
    except UpstreamError as error:
        outcome.failure = outcome.failure or f"{upstream}: {error}"
    outcome.missing -= 1
    if outcome.is_taken or not outcome.missing:
        outcome.is_clear.set()
