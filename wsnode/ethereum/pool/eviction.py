"""Eviction: transactions dropped for a new one, and those dropped beyond the pool's limits."""

from collections.abc import Iterator

from wsnode.ethereum.pool import errors
from wsnode.ethereum.pool.entry import PoolEntry
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.pool.price_heap import worth
from wsnode.ethereum.pool.sender import SenderQueue
from wsnode.ethereum.pool.transaction_index import TransactionIndex


def leaving_for(
    contents: TransactionIndex, sender: SenderQueue, entry: PoolEntry, limits: PoolLimits
) -> list[PoolEntry]:
    """Return the lower-paying transactions to drop so that this one fits.

    Raises:
        PoolError: No transaction pays less, or too little would be gained.
    """
    old = sender.at(entry.nonce)
    slots = contents.slots + entry.slots - (old.slots if old else 0) - limits.slots
    size = contents.bytes + entry.size - (old.size if old else 0) - limits.bytes
    leaving: list[PoolEntry] = []
    if slots <= 0 and size <= 0:
        return leaving
    for cheap in contents.cheapest:
        if cheap is old:
            continue
        if worth(cheap, contents.cheapest.base_fee) >= worth(entry, contents.cheapest.base_fee):
            raise errors.pool_full() if leaving else errors.underpriced()
        leaving.append(cheap)
        slots, size = slots - cheap.slots, size - cheap.size
        if slots <= 0 and size <= 0:
            break
    else:
        raise errors.pool_full()
    _check_order(contents, sender, entry, leaving)
    return leaving


def _check_order(
    contents: TransactionIndex, sender: SenderQueue, entry: PoolEntry, leaving: list[PoolEntry]
) -> None:
    """Check that no executable transaction is evicted for one to be queued."""
    if sender.fills_up(entry.nonce):
        return
    if any(contents.senders[other.sender].is_pending(other.nonce) for other in leaving):
        raise errors.future_replaces_pending()


def beyond_queue(sender: SenderQueue, entry: PoolEntry, limits: PoolLimits) -> list[PoolEntry]:
    """Return the last of an account's queued transactions if this one exceeds the queue's limit, else
    nothing.

    Raises:
        PoolError: This one itself is the last.
    """
    queued = sender.queued
    waits = entry.nonce > sender.next_nonce and entry.nonce not in queued
    if not waits or len(queued) < limits.account_queue:
        return []
    last = max(queued)
    if entry.nonce > last:
        raise errors.account_limit(len(queued))
    return [queued[last]]


def surplus(contents: TransactionIndex, limits: PoolLimits) -> Iterator[PoolEntry]:
    """Yield transactions to drop until no limit is exceeded; the caller drops each before the next."""
    while contents.pending > limits.global_slots:
        biggest = max(contents.senders.values(), key=lambda sender: len(sender.pending))
        if len(biggest.pending) <= limits.account_slots:
            break
        yield biggest.pending[-1]
    if contents.queued > limits.global_queue:
        for sender in list(contents.waiting()):
            for nonce in sorted(sender.queued, reverse=True):
                if contents.queued <= limits.global_queue:
                    return
                yield sender.queued[nonce]


def expired(contents: TransactionIndex, now: float, limits: PoolLimits) -> list[PoolEntry]:
    """Return the transactions that have been queued for longer than the limit."""
    return [
        entry
        for sender in contents.senders.values()
        for entry in sender.queued.values()
        if _age(sender, entry, now) > (limits.gapped_blob_seconds if entry.is_blob else limits.queue_seconds)
    ]


def _age(sender: SenderQueue, entry: PoolEntry, now: float) -> float:
    return now - (entry.since if entry.is_blob else sender.beat)
