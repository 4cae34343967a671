"""The transactions of one account: those that can be executed, one nonce after the other, and the others."""

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

import msgspec

from wsnode.ethereum.pool.entry import PoolEntry

Nonce: TypeAlias = int


class AccountState(msgspec.Struct, frozen=True, gc=False):
    """An account in the state after the head; the balance in wei, `code_hash` None without code."""

    nonce: Nonce
    balance: int
    code_hash: bytes | None = None
    is_delegated: bool = False


class SenderQueue:
    """`pending` begins with the account's nonce, has no gap and can be paid; `queued` waits for that."""

    __slots__ = ("account", "address", "beat", "pending", "queued", "spent")

    def __init__(self, address: bytes, account: AccountState, now: float) -> None:
        self.address = address
        self.account = account
        self.pending: list[PoolEntry] = []
        self.queued: dict[Nonce, PoolEntry] = {}
        self.spent = 0
        """The highest cost of all pending transactions together."""
        self.beat = now
        """The time of its last executable transaction, or of its first one."""

    def __len__(self) -> int:
        return len(self.pending) + len(self.queued)

    @property
    def next_nonce(self) -> Nonce:
        """Return the nonce after the pending ones."""
        return self.account.nonce + len(self.pending)

    @property
    def transactions(self) -> Iterator[PoolEntry]:
        """Return all of its transactions."""
        return chain(self.pending, self.queued.values())

    @property
    def blob_transactions(self) -> int:
        """Return how many of its transactions have blobs."""
        return sum(entry.is_blob for entry in self.transactions)

    def has_others(self, entry: PoolEntry) -> bool:
        """Return whether its transactions, if all are of one kind, have blobs and this one has none, or the
        reverse.
        """
        first = next(self.transactions, entry)
        return first.is_blob != entry.is_blob

    def is_pending(self, nonce: Nonce) -> bool:
        """Return whether the transaction with that nonce is pending."""
        return self.account.nonce <= nonce < self.next_nonce

    def at(self, nonce: Nonce) -> PoolEntry | None:
        """Return the transaction with that nonce."""
        if self.is_pending(nonce):
            return self.pending[nonce - self.account.nonce]
        return self.queued.get(nonce)

    def fills_up(self, nonce: Nonce) -> bool:
        """Return whether all nonces before that one are taken."""
        return all(before in self.queued for before in range(self.next_nonce, nonce))

    def put(self, entry: PoolEntry) -> PoolEntry | None:
        """Add a transaction in the place of the one with its nonce, and return that."""
        if not self.is_pending(entry.nonce):
            old = self.queued.get(entry.nonce)
            self.queued[entry.nonce] = entry
            return old
        index = entry.nonce - self.account.nonce
        replaced, self.pending[index] = self.pending[index], entry
        self.spent += entry.cost - replaced.cost
        return replaced

    def promote(self) -> list[PoolEntry]:
        """Make those pending that have become executable, and return them."""
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
        """Take a transaction out; pending ones after it wait for another with its nonce."""
        if not self.is_pending(entry.nonce):
            del self.queued[entry.nonce]
            return
        self._demote(entry.nonce - self.account.nonce)
        del self.queued[entry.nonce]

    def settle(self, account: AccountState, gas_limit: int) -> tuple[list[PoolEntry], list[PoolEntry]]:
        """Update to a new state; return the transactions that it rules out, and those that became
        executable.
        """
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
