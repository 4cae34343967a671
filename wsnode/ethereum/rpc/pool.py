"""txpool_… and eth_pendingTransactions: what waits for a block, in geth's shapes."""

from collections.abc import Callable, Collection, Iterable
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

Render = Callable[[PooledTransaction], bytes]


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

    def content(self) -> bytes:
        """Return the transactions by account and nonce."""
        return self._by_account(render_pooled_transaction)

    def inspect(self) -> bytes:
        """Return the transactions by account and nonce, each as a line of text."""
        return self._by_account(_line)

    def content_from(self, params: SenderParameters) -> bytes:
        """Return the transactions of an account by nonce."""
        sender = None if self._pool is None else self._pool.sender(params.address)
        if sender is None:
            return NOTHING
        pending = _by_nonce(sender.pending, render_pooled_transaction)
        queued = _by_nonce(sender.queued.values(), render_pooled_transaction)
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

    def _by_account(self, render: Render) -> bytes:
        senders = () if self._pool is None else self._pool.senders
        named = [(checksummed(sender.address).encode(), sender) for sender in senders]
        # Go writes the members of a map in the order of their names.
        named.sort(key=lambda pair: pair[0])
        pending = [(name, sender.pending) for name, sender in named if sender.pending]
        queued = [(name, sender.queued.values()) for name, sender in named if sender.queued]
        groups = (
            _object((name, _by_nonce(entries, render)) for name, entries in group)
            for group in (pending, queued)
        )
        return b'{"pending":%b,"queued":%b}' % tuple(groups)


def _by_nonce(entries: Iterable[Entry], render: Render) -> bytes:
    named = sorted(((b"%d" % entry.nonce, entry.transaction) for entry in entries), key=lambda pair: pair[0])
    return _object((name, render(transaction)) for name, transaction in named)


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
