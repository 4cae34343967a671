"""Contents of blocks for subscriptions: whole blocks, and selections of their receipts and transactions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_block, render_receipts, render_transaction, stored_receipt
from wsnode.ethereum.codec.rows import transaction_hashes, transaction_parties
from wsnode.ethereum.snapshot import Snapshot

BlockRows: TypeAlias = tuple[bytes, bytes, bytes]
"""Header, body and receipts row of a block."""


class BlockContentOptions(msgspec.Struct, frozen=True):
    """Members of each notification of a subscription to whole blocks."""

    transactions: bool = False
    """True for transaction objects, False for hashes."""
    receipts: bool = False
    """True if the block has a member with the receipts of all transactions."""

    def render(self, rows: BlockRows) -> bytes:
        """Return the JSON text of a block, as eth_getBlockByHash and eth_getBlockReceipts write it."""
        text = render_block(rows[0], rows[1], full=self.transactions)
        if not self.receipts:
            return text
        return b'%b,"receipts":%b}' % (text[:-1], render_receipts(*rows))


HASH_BYTES: Final = 32

Hashes: TypeAlias = frozenset[bytes]
"""Hashes of the transactions that a subscriber names; empty for all."""
ALL_RECEIPTS: Final[Hashes] = frozenset()


class ReceiptIndex:
    """Index from transaction hashes to the subscriptions to `transactionReceipts` that name them; the cost
    for a block does not depend on the number of subscriptions.
    """

    def __init__(self) -> None:
        self._naming: defaultdict[bytes, set[Hashes]] = defaultdict(set)

    def add(self, hashes: Hashes) -> None:
        for transaction_hash in hashes:
            self._naming[transaction_hash].add(hashes)

    def remove(self, hashes: Hashes) -> None:
        for transaction_hash in hashes:
            self._naming[transaction_hash].discard(hashes)
            if not self._naming[transaction_hash]:
                del self._naming[transaction_hash]

    def matching(self, body: bytes) -> dict[Hashes, list[bytes]]:
        """Return each set that names transactions of a block, with those hashes in the block's order."""
        matched: defaultdict[Hashes, list[bytes]] = defaultdict(list)
        if self._naming:
            for transaction_hash in hashes_of(body):
                for hashes in self._naming.get(transaction_hash, ()):
                    matched[hashes].append(transaction_hash)
        return matched


def hashes_of(body: bytes) -> Iterator[bytes]:
    """Yield the hashes of a block's transactions."""
    joined = transaction_hashes(body)
    return (joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES))


def render_all(rows: tuple[bytes, bytes, bytes]) -> bytes | None:
    """Return the JSON array of a block's receipts; None for a block without transactions."""
    text = render_receipts(*rows)
    return None if text == b"[]" else text


def render_some(view: Snapshot, hashes: list[bytes]) -> bytes:
    """Return the JSON array of the receipts of canonical transactions."""
    receipts = (stored_receipt(view.reader, transaction_hash) for transaction_hash in hashes)
    return b"[%b]" % b",".join(receipt for receipt in receipts if receipt is not None)


class TransactionFilter(msgspec.Struct, frozen=True):
    """Filter of pending transactions by sender (one of `senders`) or receiver (one of `receivers`). If one of
    both is None, only the other selects transactions; if both are None, all are selected.
    """

    senders: frozenset[bytes] | None = None
    receivers: frozenset[bytes] | None = None

    @property
    def selects_all(self) -> bool:
        return self.senders is None and self.receivers is None

    @property
    def weight(self) -> int:
        """Return the number of addresses that it names."""
        return len(self.senders or ()) + len(self.receivers or ())

    def selects(self, sender: bytes, receiver: bytes | None) -> bool:
        """Return True if a transaction with these parties is selected; a creation has no receiver."""
        return self.selects_all or sender in (self.senders or ()) or receiver in (self.receivers or ())


class MinedFilter(msgspec.Struct, frozen=True):
    """Filter of transactions in blocks by pairs of sender and receiver; None in a pair stands for any."""

    pairs: frozenset[tuple[bytes | None, bytes | None]] | None = None
    """Pairs; None selects every transaction."""

    @property
    def weight(self) -> int:
        return sum((sender is not None) + (receiver is not None) for sender, receiver in self.pairs or ())

    def selects(self, sender: bytes, receiver: bytes | None) -> bool:
        if self.pairs is None or (sender, None) in self.pairs:
            return True
        return receiver is not None and ((None, receiver) in self.pairs or (sender, receiver) in self.pairs)

    def matching(self, body: bytes) -> list[int]:
        """Return the indices of a block's selected transactions, in order."""
        return [index for index, parties in enumerate(transaction_parties(body)) if self.selects(*parties)]


class PendingIndex:
    """Index from addresses to filters of pending transactions; a transaction is compared only with filters
    that name its sender or receiver.
    """

    def __init__(self) -> None:
        self._by_sender: defaultdict[bytes, set[TransactionFilter]] = defaultdict(set)
        self._by_receiver: defaultdict[bytes, set[TransactionFilter]] = defaultdict(set)

    def add(self, wanted: TransactionFilter) -> None:
        for by_address, address in self._entries(wanted):
            by_address[address].add(wanted)

    def remove(self, wanted: TransactionFilter) -> None:
        for by_address, address in self._entries(wanted):
            by_address[address].discard(wanted)
            if not by_address[address]:
                del by_address[address]

    def matching(self, sender: bytes, receiver: bytes | None) -> Iterable[TransactionFilter]:
        """Return the filters that select a transaction with these parties."""
        senders = self._by_sender.get(sender, set())
        receivers = set() if receiver is None else self._by_receiver.get(receiver, set())
        return senders | receivers if senders and receivers else senders or receivers

    def __bool__(self) -> bool:
        return bool(self._by_sender or self._by_receiver)

    def _entries(
        self, wanted: TransactionFilter
    ) -> Iterator[tuple[defaultdict[bytes, set[TransactionFilter]], bytes]]:
        yield from ((self._by_sender, address) for address in wanted.senders or ())
        yield from ((self._by_receiver, address) for address in wanted.receivers or ())


def render_mined(rows: BlockRows, index: int, *, hashes_only: bool, removed: bool) -> bytes:
    """Return a transaction of a block in the form of alchemy_minedTransactions."""
    if hashes_only:
        start = index * HASH_BYTES
        found = transaction_hashes(rows[1])[start : start + HASH_BYTES]
        text: bytes | None = b'{"hash":"0x%b"}' % found.hex().encode()
    else:
        text = render_transaction(rows[0], rows[1], index)
    assert text is not None
    return b'{"removed":%b,"transaction":%b}' % (b"true" if removed else b"false", text)
