"""Transactions of one account: executable ones with consecutive nonces, and queued ones."""

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

import msgspec

from wsnode.ethereum.pool.entry import PoolEntry

Nonce: TypeAlias = int


class AccountState(msgspec.Struct, frozen=True, gc=False):
    """Account in the state after the head; balance in wei, `code_hash` None without code."""

    nonce: Nonce
    balance: int
    code_hash: bytes | None = None
    is_delegated: bool = False


class SenderQueue:
    """Transactions of one account. `pending` has consecutive nonces from the account's on, all affordable.

    `queued` has the others, by nonce.
    """

    __slots__ = ("account", "address", "beat", "pending", "queued", "spent")

    def __init__(self, address: bytes, account: AccountState, now: float) -> None:
        self.address = address
        self.account = account
        self.pending: list[PoolEntry] = []
        self.queued: dict[Nonce, PoolEntry] = {}
        self.spent = 0
        """Highest total cost of all pending transactions, in wei."""
        self.beat = now
        """Time of its last executable transaction, or of its first transaction."""

    def __len__(self) -> int:
        return len(self.pending) + len(self.queued)

    @property
    def next_nonce(self) -> Nonce:
        return self.account.nonce + len(self.pending)

    @property
    def transactions(self) -> Iterator[PoolEntry]:
        return chain(self.pending, self.queued.values())

    @property
    def blob_transactions(self) -> int:
        return sum(entry.is_blob for entry in self.transactions)

    def has_others(self, entry: PoolEntry) -> bool:
        """Return True if its first transaction has blobs and `entry` has none, or the reverse."""
        first = next(self.transactions, entry)
        return first.is_blob != entry.is_blob

    def is_pending(self, nonce: Nonce) -> bool:
        return self.account.nonce <= nonce < self.next_nonce

    def at(self, nonce: Nonce) -> PoolEntry | None:
        if self.is_pending(nonce):
            return self.pending[nonce - self.account.nonce]
        return self.queued.get(nonce)

    def fills_up(self, nonce: Nonce) -> bool:
        """Return True if all nonces before this one are taken."""
        return all(before in self.queued for before in range(self.next_nonce, nonce))

    def put(self, entry: PoolEntry) -> PoolEntry | None:
        """Add a transaction; return the one with the same nonce that it replaces, None if there was none."""
        if not self.is_pending(entry.nonce):
            old = self.queued.get(entry.nonce)
            self.queued[entry.nonce] = entry
            return old
        index = entry.nonce - self.account.nonce
        replaced, self.pending[index] = self.pending[index], entry
        self.spent += entry.cost - replaced.cost
        return replaced

    def promote(self) -> list[PoolEntry]:
        """Move queued transactions that have become executable to `pending`, and return them."""
        promoted = []
        while (entry := self.queued.get(self.next_nonce)) is not None:
            if self.spent + entry.cost > self.account.balance:
                break
            del self.queued[entry.nonce]
            self.pending.append(entry)
            self.spent += entry.cost
            promoted.append(entry)
        return promoted

    def remove(self, entry: PoolEntry) -> None:
        """Remove a transaction; pending ones after it become queued."""
        if not self.is_pending(entry.nonce):
            del self.queued[entry.nonce]
            return
        self._demote(entry.nonce - self.account.nonce)
        del self.queued[entry.nonce]

    def settle(self, account: AccountState, gas_limit: int) -> tuple[list[PoolEntry], list[PoolEntry]]:
        """Move to a new state; return the dropped transactions, and the newly executable ones."""
        before = {entry.hash for entry in self.pending}
        self._demote(0)
        self.account = account
        dropped = [
            entry
            for entry in self.queued.values()
            if entry.nonce < account.nonce or entry.cost > account.balance or entry.gas > gas_limit
        ]
        for entry in dropped:
            del self.queued[entry.nonce]
        return dropped, [entry for entry in self.promote() if entry.hash not in before]

    def _demote(self, index: int) -> None:
        for entry in self.pending[index:]:
            self.spent -= entry.cost
            self.queued[entry.nonce] = entry
        del self.pending[index:]
