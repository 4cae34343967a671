"""Transactions of the upstreams: pending ones are fetched once each and announced, and new ones are sent."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.client import Client
from wsnode.upstream.errors import SendFailedError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Link
from wsnode.upstream.messages import decode_result

KEPT: Final = 65_536
"""Maximum number of hashes that are remembered, so each transaction of several upstreams is announced once.
"""
WAITING: Final = 1_024
"""Maximum number of transactions that wait to be fetched; further ones are not announced."""
AT_ONCE: Final = 16
MAX_BYTES: Final = 1 << 20

logger = logging.getLogger("wsnode.follow")

Announce = Callable[[Sequence[PooledTransaction]], None]


class UpstreamTransactions:
    """Source of the upstreams' pending transactions for subscribers of this node."""

    def __init__(self, spec: ChainSpec, announce: Announce) -> None:
        self._spec = spec
        self.on_heard = [announce]
        """Called with the fetched transactions."""
        self._known: dict[bytes, None] = {}
        self._sender, self._receiver = trio.open_memory_channel[tuple[Upstream, Link, bytes]](WAITING)
        self.announced = 0
        self.dropped = 0
        """Number of transactions that came faster than they could be fetched."""

    def note(self, transactions: Sequence[PooledTransaction]) -> None:
        """Take note of transactions that are announced already."""
        for transaction in transactions:
            self._keep(transaction.hash)

    async def listen(self, upstream: Upstream, link: Link) -> None:
        """Subscribe to an upstream's pending transactions, if it announces them."""

        def hear(text: bytes) -> None:
            with suppress(UpstreamError, ValueError):
                result = upstream.client.read(decode_result, text)
                if isinstance(result, str):
                    self._hear(upstream, link, bytes.fromhex(result.removeprefix("0x")))

        with suppress(UpstreamRefusedError):
            await link.subscribe(["newPendingTransactions"], hear)

    def _hear(self, upstream: Upstream, link: Link, transaction_hash: bytes) -> None:
        if transaction_hash in self._known or len(transaction_hash) != 32:
            return
        try:
            self._sender.send_nowait((upstream, link, transaction_hash))
            self._keep(transaction_hash)
        except trio.WouldBlock:
            self.dropped += 1

    def _keep(self, transaction_hash: bytes) -> None:
        self._known[transaction_hash] = None
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch)

    async def _fetch(self) -> None:
        while True:
            upstream, link, wanted = await self._receiver.receive()
            with suppress(UpstreamError, InvalidTransactionError, ValueError):
                found = await upstream.client.ask(
                    "eth_getRawTransactionByHash", [f"0x{wanted.hex()}"], link=link
                )
                if not isinstance(found, str) or len(found) > 2 * MAX_BYTES:
                    # The transaction is in a block by now, or the result is no transaction.
                    continue
                transaction = PooledTransaction(self._spec, bytes.fromhex(found.removeprefix("0x")))
                if transaction.hash == wanted:
                    self.announced += 1
                    for listener in self.on_heard:
                        listener([transaction])


SENDING_SECONDS: Final = 10.0
_KNOWN: Final = ("already known", "already imported", "known transaction", "alreadyknown")
"""Parts of nodes' messages for a transaction that they have already: geth's, and others'."""


class _Outcome:
    """Answers of the upstreams to one sent transaction so far: the number still missing, whether one has
    taken it, and reasons of the others.
    """

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
        await client.ask_text("eth_sendRawTransaction", [hexadecimal(encoded)], seconds=SENDING_SECONDS)
    except UpstreamRefusedError as error:
        if not any(words in error.message.lower() for words in _KNOWN):
            raise


async def _send(upstream: Upstream, encoded: bytes, outcome: _Outcome) -> None:
    try:
        await send_to(upstream.client, encoded)
        outcome.is_taken = True
    except UpstreamRefusedError as error:
        # A refusal because of too many calls says nothing about the transaction.
        if not error.is_about_rate:
            outcome.refusal = outcome.refusal or error.message
        outcome.failure = outcome.failure or error.message
    except UpstreamError as error:
        outcome.failure = outcome.failure or f"{upstream}: {error}"
    outcome.missing -= 1
    if outcome.is_taken or not outcome.missing:
        outcome.is_clear.set()
