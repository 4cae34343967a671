"""A transaction in the pool with its cached values, and the check of replacements."""

import msgspec

from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.errors import replacement_underpriced
from wsnode.ethereum.pool.limits import SLOT_BYTES, PoolLimits
from wsnode.ethereum.state import GAS_PER_BLOB

BLOB_TYPE = 3
# Measured memory of the objects around a transaction, whose bytes are held twice: decoded and encoded.
OVERHEAD_BYTES = 1400
COPIES = 2


class PoolEntry(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Transaction in the pool with cached values; amounts are in wei.

    `cost` is the maximum that the sender can lose, in wei; `arrival` orders transactions of equal price.
    """

    transaction: PooledTransaction
    hash: bytes
    sender: bytes
    nonce: int
    gas: int
    max_fee: int
    max_priority_fee: int
    max_blob_fee: int | None
    blobs: int
    cost: int
    size: int
    slots: int
    arrival: int
    since: float

    @property
    def is_blob(self) -> bool:
        return self.max_blob_fee is not None

    def tip(self, base_fee: int | None) -> int:
        """Return the proposer's tip in wei for a unit of gas; negative if its fee is below the base fee."""
        if base_fee is None:
            return self.max_fee
        return min(self.max_priority_fee, self.max_fee - base_fee)

    def pays(self, base_fee: int | None, blob_fee: int | None) -> bool:
        """Return True if its fees suffice for a block with these fees."""
        if base_fee is not None and self.max_fee < base_fee:
            return False
        return self.max_blob_fee is None or self.max_blob_fee >= (blob_fee or 0)


def entry_of(transaction: PooledTransaction, arrival: int, now: float) -> PoolEntry:
    """Return the pool entry of a transaction, the `arrival`-th, received at the time `now`."""
    # `encoded` has no blobs: they are checked when the transaction arrives, and not kept in the entry.
    size = len(transaction.encoded)
    blobs, blob_fee = len(transaction.blob_hashes), transaction.max_blob_fee
    gas, max_fee = transaction.gas, transaction.max_fee
    return PoolEntry(
        transaction=transaction,
        hash=transaction.hash,
        sender=transaction.sender,
        nonce=transaction.nonce,
        gas=gas,
        max_fee=max_fee,
        max_priority_fee=transaction.max_priority_fee,
        max_blob_fee=blob_fee,
        blobs=blobs,
        cost=gas * max_fee + transaction.value + blobs * GAS_PER_BLOB * (blob_fee or 0),
        size=COPIES * size + OVERHEAD_BYTES,
        slots=-(-size // SLOT_BYTES),
        arrival=arrival,
        since=now,
    )


def check_replacement(old: PoolEntry, new: PoolEntry, limits: PoolLimits) -> None:
    """Check that `new` pays enough more than `old`, a transaction with the same nonce.

    Raises:
        PoolError: It does not.
    """
    if old.max_blob_fee is not None and new.max_blob_fee is not None:
        for shortfall in _shortfalls(old, new, limits.blob_price_bump):
            raise replacement_underpriced(shortfall)
        return
    pairs = ((old.max_fee, new.max_fee), (old.max_priority_fee, new.max_priority_fee))
    if any(after <= before or after < _bumped(before, limits.price_bump) for before, after in pairs):
        raise replacement_underpriced()


def _shortfalls(old: PoolEntry, new: PoolEntry, bump: int) -> list[str]:
    fees = (
        ("gas fee cap", old.max_fee, new.max_fee),
        ("gas tip cap", old.max_priority_fee, new.max_priority_fee),
        ("blob gas fee cap", old.max_blob_fee or 0, new.max_blob_fee or 0),
    )
    lower = [f"new tx {name} {new} <= {old} queued" for name, old, new in fees if new <= old]
    penalty = f"queued + {bump}% replacement penalty"
    return lower + [
        f"new tx {name} {new} < {old} {penalty}" for name, old, new in fees if new < _bumped(old, bump)
    ]


def _bumped(fee: int, percent: int) -> int:
    return fee * (100 + percent) // 100
