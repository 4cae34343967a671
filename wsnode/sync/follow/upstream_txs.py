"""Pending transactions of the upstreams: fetched once each, checked, and announced to subscribers."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import trio

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError
from wsnode.sync.follow.upstream import Upstream
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError
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
                    # It is in a block by now, or no transaction.
                    continue
                transaction = PooledTransaction(self._spec, bytes.fromhex(found.removeprefix("0x")))
                if transaction.hash == wanted:
                    self.announced += 1
                    for listener in self.on_heard:
                        listener([transaction])
