"""txpool_… and eth_pendingTransactions: what waits for a block, in geth's shapes."""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from typing import Final

import msgspec

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.transactions import PooledTransaction, render_pooled_transaction
from wsnode.ethereum.pool.entry import Entry
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address
from wsnode.jsonrpc.registry import Registry

NOTHING: Final = b'{"pending":{},"queued":{}}'
NONE: Final = b'{"pending":"0x0","queued":"0x0"}'

SLICE: Final = 64
"""Transactions and names written in a row: about a millisecond."""
SLICE_BYTES: Final = 256 * 1024
"""Bytes that are written between two looks at other callers."""

Render = Callable[[PooledTransaction], bytes]
Slices = Generator[int, None, bytes]
Named = Sequence[tuple[bytes, Sequence[Entry]]]
"""The transactions of accounts, by address."""


class SenderParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address]`."""

    address: Address


class Pool:
    """The methods; without a pool nothing ever waits."""

    def __init__(self, pool: TransactionPool | None, accounts: Collection[bytes]) -> None:
        self._pool = pool
        self._accounts = accounts

    def status(self) -> bytes:
        """Return how many transactions can be executed, and how many wait for others."""
        pool = self._pool
        return NONE if pool is None else b'{"pending":"0x%x","queued":"0x%x"}' % (pool.pending, pool.queued)

    def content(self) -> Slices:
        """Return the transactions by account and nonce."""
        return (yield from self._by_account(render_pooled_transaction))

    def inspect(self) -> Slices:
        """Return the transactions by account and nonce, each as a line of text."""
        return (yield from self._by_account(_line))

    def content_from(self, params: SenderParameters) -> Slices:
        """Return the transactions of an account by nonce."""
        sender = None if self._pool is None else self._pool.sender(params.address)
        if sender is None:
            return NOTHING
        held = tuple(sender.pending), tuple(sender.queued.values())
        written = _Written()
        pending = yield from _by_nonce(held[0], render_pooled_transaction, written)
        queued = yield from _by_nonce(held[1], render_pooled_transaction, written)
        return b'{"pending":%b,"queued":%b}' % (pending, queued)

    def pending_transactions(self) -> bytes:
        """Return the executable transactions of the node's own accounts."""
        if self._pool is None:
            return b"[]"
        entries = (
            entry
            for sender in self._pool.senders
            if sender.address in self._accounts
            for entry in sender.pending
        )
        return b"[%b]" % b",".join(render_pooled_transaction(entry.transaction) for entry in entries)

    def _by_account(self, render: Render) -> Slices:
        senders = () if self._pool is None else self._pool.senders
        # Between two slices the pool changes: what is told is how it was.
        held = [(each.address, tuple(each.pending), tuple(each.queued.values())) for each in senders]
        named: list[tuple[bytes, Sequence[Entry], Sequence[Entry]]] = []
        for count, (address, pending, queued) in enumerate(held, 1):
            named.append((checksummed(address).encode(), pending, queued))
            if count % SLICE == 0:
                yield 0
        # Go writes the members of a map in the order of their names.
        named.sort(key=lambda each: each[0])
        written = _Written()
        first = yield from _accounts(
            [(name, pending) for name, pending, _ in named if pending], render, written
        )
        last = yield from _accounts([(name, queued) for name, _, queued in named if queued], render, written)
        return b'{"pending":%b,"queued":%b}' % (first, last)


class _Written:
    """How much there is of a result, and how much of it was written since others had a turn."""

    def __init__(self) -> None:
        self.size = self._entries = self._bytes = 0

    def add(self, size: int) -> bool:
        """Count one more entry; return whether others should have a turn."""
        self.size += size
        self._bytes += size
        self._entries += 1
        if self._entries < SLICE and self._bytes < SLICE_BYTES:
            return False
        self._entries = self._bytes = 0
        return True


def _accounts(named: Named, render: Render, written: _Written) -> Slices:
    members: list[tuple[bytes, bytes]] = []
    for name, entries in named:
        members.append((name, (yield from _by_nonce(entries, render, written))))
    return _object(members)


def _by_nonce(entries: Iterable[Entry], render: Render, written: _Written) -> Slices:
    named: list[tuple[bytes, bytes]] = []
    for entry in entries:
        text = render(entry.transaction)
        named.append((b"%d" % entry.nonce, text))
        if written.add(len(text)):
            yield written.size
    return _object(sorted(named, key=lambda pair: pair[0]))


def _object(members: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"{%b}" % b",".join(b'"%b":%b' % member for member in members)


def _line(transaction: PooledTransaction) -> bytes:
    to = transaction.to
    target = "contract creation" if to is None else checksummed(to)
    price = f"{transaction.value} wei + {transaction.gas} gas × {transaction.max_fee} wei"
    return msgspec.json.encode(f"{target}: {price}")


def add_methods(registry: Registry, pool: TransactionPool | None, accounts: Collection[bytes] = ()) -> None:
    """Register this module's methods; `accounts` are the node's own."""
    methods = Pool(pool, accounts)
    method = registry.method
    method("txpool_status", view=False)(methods.status)
    method("txpool_contentFrom", view=False)(methods.content_from)
    method("txpool_content", view=False)(methods.content)
    method("txpool_inspect", view=False)(methods.inspect)
    method("eth_pendingTransactions", view=False)(methods.pending_transactions)
