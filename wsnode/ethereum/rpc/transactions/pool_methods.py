"""txpool_… and eth_pendingTransactions: the transactions of the pool, in geth's form."""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

import msgspec

from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.codec.transactions import PooledTransaction, render_pooled_transaction
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.common.schemas import QUANTITY, TRANSACTION
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import STRING, Schema, list_of, mapping_of, record
from wsnode.jsonrpc.work import JsonText, ReplyChunks

NOTHING: Final = b'{"pending":{},"queued":{}}'
_BY_NONCE: Final = mapping_of(TRANSACTION, "[0-9]+")
_ACCOUNT: Final = "0x[0-9a-fA-F]{40}"
NONE: Final = b'{"pending":"0x0","queued":"0x0"}'

SLICE: Final = 64
"""Transactions and names written in one slice: about a millisecond."""
SLICE_BYTES: Final = 256 * 1024
"""Bytes written in one slice."""

Render = Callable[[PooledTransaction], bytes]
Slices = Generator[int, None, bytes | ReplyChunks]
Writing = Generator[int, None, None]
Named = Sequence[tuple[bytes, Sequence[PoolEntry]]]
"""The transactions of each account, by address."""


class SenderParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address]`."""

    address: Address


class PoolMethods:
    """Handlers that read the pool; without a pool their results are empty."""

    def __init__(self, pool: TransactionPool | None, accounts: Collection[bytes]) -> None:
        self._pool = pool
        self._accounts = accounts

    def status(self) -> JsonText:
        """Return `{pending, queued}`: the number of executable transactions and of those that wait."""
        pool = self._pool
        return NONE if pool is None else b'{"pending":"0x%x","queued":"0x%x"}' % (pool.pending, pool.queued)

    def content(self) -> Slices:
        """Return `{pending, queued}`: the pool's transactions by account and nonce."""
        return (yield from self._by_account(render_pooled_transaction))

    def inspect(self) -> Slices:
        """Return `{pending, queued}`: a line of text for each of the pool's transactions, by account and
        nonce.
        """
        return (yield from self._by_account(_line))

    def content_from(self, params: SenderParameters) -> Slices:
        """Return `{pending, queued}`: an account's transactions in the pool, by nonce."""
        sender = None if self._pool is None else self._pool.sender(params.address)
        if sender is None:
            return NOTHING
        held = tuple(sender.pending), tuple(sender.queued.values())
        written = _Written(render_pooled_transaction)
        written.pieces.append(b'{"pending":')
        yield from _by_nonce(held[0], written)
        written.pieces.append(b',"queued":')
        yield from _by_nonce(held[1], written)
        written.pieces.append(b"}")
        return written.pieces

    def pending_transactions(self) -> Slices:
        """Return the list of executable transactions whose senders are the node's own accounts."""
        senders = () if self._pool is None else self._pool.senders
        entries = [entry for each in senders if each.address in self._accounts for entry in each.pending]
        written = _Written(render_pooled_transaction)
        for number, entry in enumerate(entries):
            if written.add(b"," if number else b"[", entry):
                yield written.size
        written.pieces.append(b"]" if entries else b"[]")
        return written.pieces

    def _by_account(self, render: Render) -> Slices:
        senders = () if self._pool is None else self._pool.senders
        # The pool changes between slices: the result is its state at the start.
        held = [(each.address, tuple(each.pending), tuple(each.queued.values())) for each in senders]
        named: list[tuple[bytes, Sequence[PoolEntry], Sequence[PoolEntry]]] = []
        for count, (address, pending, queued) in enumerate(held, 1):
            named.append((checksummed(address).encode(), pending, queued))
            if count % SLICE == 0:
                yield 0
        # Go writes the members of a map in the order of their names.
        named.sort(key=itemgetter(0))
        written = _Written(render)
        written.pieces.append(b'{"pending":')
        yield from _accounts([(name, pending) for name, pending, _ in named if pending], written)
        written.pieces.append(b',"queued":')
        yield from _accounts([(name, queued) for name, _, queued in named if queued], written)
        written.pieces.append(b"}")
        return written.pieces


class _Written:
    """JSON text of a long result so far, in pieces, and its bytes and entries since the last pause for other
    calls.
    """

    def __init__(self, render: Render) -> None:
        self.pieces = ReplyChunks()
        self.size = self._entries = self._bytes = self._joined = 0
        self._render = render

    def add(self, before: bytes, entry: PoolEntry) -> bool:
        """Write `before` and one more entry; return True if the slice is full."""
        text = self._render(entry.transaction)
        self.pieces += (before, text)
        size = len(text)
        self.size += size
        self._bytes += size
        self._entries += 1
        if self._entries < SLICE and self._bytes < SLICE_BYTES:
            return False
        self._entries = self._bytes = 0
        # The slice is joined into one piece, because each small `bytes` object takes as much memory again as
        # its text.
        self.pieces[self._joined :] = [b"".join(self.pieces[self._joined :])]
        self._joined = len(self.pieces)
        return True


def _accounts(named: Named, written: _Written) -> Writing:
    for number, (name, entries) in enumerate(named):
        written.pieces.append(b'%b"%b":' % (b"," if number else b"{", name))
        yield from _by_nonce(entries, written)
    written.pieces.append(b"}" if named else b"{}")


def _by_nonce(entries: Iterable[PoolEntry], written: _Written) -> Writing:
    # The nonces are in order of their text, as Go writes the members of a map.
    named = sorted(((b"%d" % entry.nonce, entry) for entry in entries), key=itemgetter(0))
    for number, (nonce, entry) in enumerate(named):
        if written.add(b'%b"%b":' % (b"," if number else b"{", nonce), entry):
            yield written.size
    written.pieces.append(b"}" if named else b"{}")


def _line(transaction: PooledTransaction) -> JsonText:
    to = transaction.to
    target = "contract creation" if to is None else checksummed(to)
    price = f"{transaction.value} wei + {transaction.gas} gas × {transaction.max_fee} wei"
    return msgspec.json.encode(f"{target}: {price}")


def _of_each(transactions: Schema) -> Schema:
    return record(dict.fromkeys(("pending", "queued"), transactions))


def add_methods(registry: Registry, pool: TransactionPool | None, accounts: Collection[bytes] = ()) -> None:
    """Register this module's methods; `accounts` are the node's own."""
    methods = PoolMethods(pool, accounts)
    method = partial(registry.method, view=False)
    method("txpool_status", result=_of_each(QUANTITY))(methods.status)
    method("txpool_contentFrom", result=_of_each(_BY_NONCE))(methods.content_from)
    method("txpool_content", result=_of_each(mapping_of(_BY_NONCE, _ACCOUNT)))(methods.content)
    texts = mapping_of(mapping_of(STRING, "[0-9]+"), _ACCOUNT)
    method("txpool_inspect", result=_of_each(texts))(methods.inspect)
    method("eth_pendingTransactions", result=list_of(TRANSACTION))(methods.pending_transactions)
