"""Selection of a block's receipts for subscriptions: all, or those of the named transactions."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, TypeAlias

from wsnode.ethereum.codec.rendering import render_receipts, stored_receipt
from wsnode.ethereum.codec.rows import transaction_hashes
from wsnode.ethereum.snapshot import Snapshot

HASH_BYTES: Final = 32

Hashes: TypeAlias = frozenset[bytes]
"""Hashes of the transactions that a subscriber names; empty for all."""
ALL_RECEIPTS: Final[Hashes] = frozenset()


class ReceiptIndex:
    """Index of sets of hashes by the hashes, to find those that a block concerns, however many there are."""

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
