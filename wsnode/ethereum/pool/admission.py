"""Admission of transactions to the pool, by themselves and by its contents, and eviction of others.

Rules and their order are geth's: ValidateTransactionWithState, validateAuth, blobpool's validateTx.
"""

from collections.abc import Iterator
from math import log10

from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.pool import errors
from wsnode.ethereum.pool.entry import PoolEntry, check_replacement
from wsnode.ethereum.pool.limits import DEFAULT_POOL_RULES, ETHER, PoolLimits, PoolRules
from wsnode.ethereum.pool.sender import SenderQueue
from wsnode.ethereum.pool.transaction_index import TransactionIndex, worth
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError


def decode_sent(
    spec: ChainSpec, encoded: bytes, limits: PoolLimits, rules: PoolRules = DEFAULT_POOL_RULES
) -> PooledTransaction:
    """Return the transaction in `encoded`, sent by a user; its fee must not exceed the cap for mistakes.

    Raises:
        PoolError: The bytes are no transaction, or it is refused.
    """
    try:
        transaction = PooledTransaction(spec, encoded)
    except InvalidTransactionError as error:
        raise errors.PoolError(str(error)) from None
    fee = transaction.max_fee * transaction.gas
    if 0 < limits.fee_cap < fee:
        raise errors.fee_above_cap(fee / ETHER, limits.fee_cap / ETHER)
    if not (transaction.is_replay_protected or rules.allows_unprotected):
        raise errors.unprotected()
    return transaction


def check_following(
    spec: ChainSpec,
    header: bytes,
    transaction: PooledTransaction,
    limits: PoolLimits,
    *,
    gas_limit: int | None = None,
    keeps_blobs: bool = False,
    needs_blobs: bool = True,
) -> None:
    """Check that a transaction can be included in a block after `header`, apart from the state.

    `gas_limit` is that of the next block, None to derive it. With `keeps_blobs` the transaction keeps its
    blobs; unless it `needs_blobs`, it may come without them.

    Raises:
        PoolError: No block after the header could include it.
    """
    try:
        check_transaction(
            spec,
            header,
            transaction,
            minimum_tip=limits.tip,
            was_included=not needs_blobs,
            keeps_blobs=keeps_blobs,
            gas_limit=gas_limit,
        )
    except InvalidTransactionError as error:
        raise errors.PoolError(str(error)) from None


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
    """Return the last queued transaction of an account if this one exceeds the queue's limit, else [].

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


def check_admission(
    contents: TransactionIndex, sender: SenderQueue, entry: PoolEntry, limits: PoolLimits, rules: PoolRules
) -> None:
    """Check that the pool admits the transaction.

    Raises:
        PoolError: The pool refuses it.
    """
    if entry.nonce < sender.account.nonce:
        raise errors.nonce_too_low(sender.account.nonce, entry.nonce)
    if entry.is_blob:
        _check_gap(contents, sender, entry, limits)
    _check_funds(sender, entry)
    _check_code(sender, entry)
    is_new = sender.at(entry.nonce) is None
    if entry.is_blob and is_new and sender.blob_transactions >= limits.account_blob_transactions:
        raise errors.account_limit(len(sender))
    if rules.limits_delegated:
        _check_delegation(contents, sender, entry)
        _check_authorities(contents, entry)
    if rules.separates_blobs and sender.has_others(entry):
        raise errors.address_reserved()
    if (old := sender.at(entry.nonce)) is not None:
        check_replacement(old, entry, limits)


def _check_gap(contents: TransactionIndex, sender: SenderQueue, entry: PoolEntry, limits: PoolLimits) -> None:
    """Check a blob transaction's nonce: an account may leave a gap from nonce 9 on, two from 99 on."""
    if entry.nonce <= sender.next_nonce:
        return
    allowed = min(
        int(log10(sender.account.nonce + 1)), limits.account_blob_transactions - len(sender.pending)
    )
    if len(sender.queued) >= allowed or contents.gapped_blobs >= limits.gapped_blob_transactions:
        raise errors.nonce_too_high(sender.next_nonce, entry.nonce)


def _check_funds(sender: SenderQueue, entry: PoolEntry) -> None:
    balance = sender.account.balance
    if entry.cost > balance:
        raise errors.insufficient_funds(balance, entry.cost)
    if sender.is_pending(entry.nonce):
        bump = entry.cost - sender.pending[entry.nonce - sender.account.nonce].cost
        if sender.spent + bump > balance:
            raise errors.bumped_overdraft(balance, sender.spent, bump)
    elif sender.spent + entry.cost > balance:
        raise errors.overdraft(balance, sender.spent, entry.cost)


def _check_code(sender: SenderQueue, entry: PoolEntry) -> None:
    """Refuse a sender with code (EIP-3607); geth finds that only when it builds a block."""
    account = sender.account
    if account.code_hash is None or account.is_delegated or entry.transaction.is_impersonated:
        return
    raise errors.sender_has_code(sender.address, account.code_hash)


def _check_delegation(contents: TransactionIndex, sender: SenderQueue, entry: PoolEntry) -> None:
    """Check that an account with code able to spend its funds has one transaction: each may void the next."""
    if not sender.account.is_delegated and not contents.authorities[sender.address]:
        return
    if not sender.pending:
        if entry.nonce != sender.next_nonce:
            raise errors.delegated_gap()
    elif not sender.is_pending(entry.nonce):
        raise errors.delegated_limit()


def _check_authorities(contents: TransactionIndex, entry: PoolEntry) -> None:
    for authority in entry.transaction.authorities:
        other = contents.senders.get(authority)
        if other is not None and (len(other) > 1 or other.blob_transactions):
            raise errors.authority_reserved()
