"""Pool: transactions that wait for a block on the head of a chain, by geth's rules."""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.pool import admission, errors
from wsnode.ethereum.pool.admission import check_admission, check_following, decode_sent
from wsnode.ethereum.pool.blobs import Blob, Blobs
from wsnode.ethereum.pool.entry import PoolEntry, entry_of
from wsnode.ethereum.pool.limits import DEFAULT_POOL_LIMITS, DEFAULT_POOL_RULES, PoolLimits, PoolRules
from wsnode.ethereum.pool.queries import PoolView, standpoint
from wsnode.ethereum.pool.sender import SenderQueue
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError, ReorganisedError

DEEPEST: Final = 64
"""Maximum depth of a reorganisation whose transactions return, as in geth: a deeper one is another chain."""
_OTHER_CHAIN: Final = "chain_id"


def returned_transactions(view: Snapshot, blocks: Sequence[Head]) -> Iterator[PooledTransaction]:
    """Yield the transactions of blocks (given highest first) in the order of inclusion, without blobs."""
    if len(blocks) > DEEPEST:
        return
    for block in reversed(blocks):
        rows = view.block_rows(block.hash)
        for encoded in () if rows is None else block_transactions(*rows):
            transaction = _decoded(view.spec, encoded)
            if transaction is not None:
                yield transaction


def _decoded(spec: ChainSpec, encoded: bytes) -> PooledTransaction | None:
    """Return a transaction; None for one of a chain id that a development chain no longer has."""
    # Impersonated transactions are unsigned, and only a development chain with impersonation can include
    # them.
    for decode in (PooledTransaction, PooledTransaction.impersonated):
        try:
            return decode(spec, encoded)
        except InvalidTransactionError as error:
            if error.kind == _OTHER_CHAIN:
                return None
    raise AssertionError("a block holds what can be decoded")


SWEEP_SECONDS: Final = 60.0

OnAdded = Callable[[Sequence[PooledTransaction]], None]
OnHashes = Callable[[Sequence[bytes]], None]
Relay = Callable[[bytes], Awaitable[None]]
"""Function that sends a signed transaction to other nodes or processes; raises SendFailedError."""


class TransactionPool(PoolView):
    """Pool of transactions executable after the chain's head, or waiting; `advance` adapts it to a new head.
    For one thread, except `decode` and `check`.
    """

    def __init__(
        self,
        chain: Chain,
        limits: PoolLimits = DEFAULT_POOL_LIMITS,
        *,
        rules: PoolRules = DEFAULT_POOL_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.rules = rules
        self.on_added: list[OnAdded] = []
        """Callbacks with the transactions that have become executable."""
        self.catch_up: Callable[[], object] = _stay
        """Function that calls `advance` if the chain's head has changed."""
        self.takes_back = True
        """True if transactions of removed blocks return to the pool."""
        self.version = 0
        """Number that differs after every change."""
        self.on_dropped: list[OnHashes] = []
        """Callbacks with hashes of transactions dropped for any reason but inclusion, also by replacement."""
        self.on_returned: list[OnHashes] = []
        """Callbacks with hashes of transactions that returned from removed blocks."""
        self.on_version: list[Callable[[], None]] = []
        """Callbacks at each new version, perhaps in the middle of a change."""
        self.next_gas_limit: Callable[[Header], int] | None = None
        """Function that returns the gas limit of the block after a head; None for the head's own (geth)."""
        self.blobs: Blobs | None = None
        """Store of the transactions' blobs; None if blobs are only checked and then dropped."""
        super().__init__()
        self._chain = chain
        self._clock = clock
        self._returning: list[PooledTransaction] = []
        self._arrivals = 0
        self._swept = clock()
        with chain.snapshot() as view:
            self._stand_on(view)

    def add(self, encoded: bytes) -> Hash32:
        """Admit a transaction as sent by a local user, and return its hash.

        Raises:
            PoolError: The transaction is refused.
        """
        transaction = self.decode(encoded)
        self.check(transaction)
        return self.admit(transaction)

    def decode(self, encoded: bytes) -> PooledTransaction:
        """Return the transaction in `encoded`, sent by a user.

        Raises:
            PoolError: The bytes are no transaction, or it seems to be a mistake.
        """
        return decode_sent(self._chain.spec, encoded, self.limits, self.rules)

    def check(self, transaction: PooledTransaction, *, needs_blobs: bool = True) -> None:
        """Check that a block after the head could include the transaction, apart from the state.

        Unless it `needs_blobs`, a blob transaction may come without its blobs: another node has them.

        Raises:
            KnownError: The transaction is in the pool.
            PoolError: No block could include it.
        """
        if transaction.hash in self._contents.entries:
            raise errors.KnownError
        check_following(
            self._chain.spec,
            self.at.header,
            transaction,
            self.limits,
            gas_limit=self._gas_limit,
            keeps_blobs=self.blobs is not None,
            needs_blobs=needs_blobs,
        )

    def admit(self, transaction: PooledTransaction) -> Hash32:
        """Admit a checked transaction, and return its hash.

        Raises:
            PoolError: The transaction is refused.
        """
        self.catch_up()
        self._sweep()
        try:
            promoted = self._admit(transaction)
        except ReorganisedError:
            # Blocks are being replaced, and the change is not announced yet, so the pool first reads the new
            # head.
            self.refresh()
            promoted = self._admit(transaction)
        if self.blobs is not None:
            self.blobs.add(Blob(*blob) for blob in transaction.take_blobs())
        self._tell(promoted)
        return Hash32(transaction.hash)

    def drop(self, transaction_hash: bytes) -> bool:
        """Remove a transaction; return True if it was in the pool."""
        entry = self._contents.entries.get(transaction_hash)
        if entry is None:
            return False
        self._drop([entry])
        return True

    def clear(self) -> None:
        self._drop(list(self._contents.entries.values()))

    def put_back(self, transactions: Iterable[PooledTransaction]) -> list[PoolEntry]:
        """Add transactions that were here before, if admissible; return those that are executable."""
        promoted = []
        for transaction in transactions:
            try:
                promoted += self._put(transaction)
            except errors.PoolError:
                # The transaction has been replaced, or the present state no longer admits it.
                continue
        # Surplus is dropped only once all transactions are back: until then, very many may be queued behind
        # one that is still missing.
        self._drop_surplus()
        return promoted

    def look(self) -> None:
        """Read the accounts again if the state or the chain id changed without a new head."""
        with self._chain.snapshot() as view:
            is_another = standpoint(view) != self.at
        if is_another:
            self.refresh()

    def refresh(self) -> None:
        """Read the accounts again, after a change without a new head."""
        self.advance(HeadChange((), ()))

    def advance(self, change: HeadChange) -> None:
        """Move to the chain's head: drop included transactions, take back those of removed blocks.

        Transactions signed for a chain id other than that of new blocks are dropped as well.
        """
        chain_id = self.at.chain_id
        with self._chain.snapshot() as view:
            if self.takes_back:
                self._returning += returned_transactions(view, change.removed)
            self._stand_on(view)
        if self.at.chain_id != chain_id:
            self._drop_of_other_chains()
        promoted: list[PoolEntry] = []
        gas_limit = self._gas_limit
        try:
            for sender in list(self._contents.senders.values()):
                promoted += self._settle(sender, gas_limit)
            promoted += self.put_back(self._returning)
            self._tell_returned()
            self._returning.clear()
        except ReorganisedError:
            # The chain has moved on meanwhile, so another change will follow.
            pass
        self._drop_surplus()
        self._sweep()
        self._tell(promoted)

    @property
    def _gas_limit(self) -> int:
        """Return the maximum gas of a transaction in the next block."""
        if self.next_gas_limit is None:
            return self.at.space.gas_limit
        return self.next_gas_limit(header_fields(self.at.header))

    def _stand_on(self, view: Snapshot) -> None:
        self.at = standpoint(view)
        self._contents.cheapest.reprice(self.at.space.base_fee)
        self._note_change()

    def _settle(self, sender: SenderQueue, gas_limit: int) -> list[PoolEntry]:
        account = self.at.account(self._chain.state, sender.address)
        return self._contents.settle(sender, account, gas_limit)

    def _admit(self, transaction: PooledTransaction) -> list[PoolEntry]:
        promoted = self._put(transaction)
        self._drop_surplus()
        if transaction.hash not in self._contents.entries:
            raise errors.pool_full()
        return promoted

    def _drop_of_other_chains(self) -> None:
        entries = list(self._contents.entries.values())
        self._drop([entry for entry in entries if not self._is_of_chain(entry.transaction)])

    def _is_of_chain(self, transaction: PooledTransaction) -> bool:
        return transaction.chain_id in {None, self._chain.spec.chain_id}

    def _put(self, transaction: PooledTransaction) -> list[PoolEntry]:
        contents, limits, now = self._contents, self.limits, self._clock()
        if not self._is_of_chain(transaction):
            raise errors.other_chain(transaction.chain_id, self._chain.spec.chain_id)
        if transaction.hash in contents.entries:
            raise errors.KnownError
        self._arrivals += 1
        entry = entry_of(transaction, self._arrivals, now)
        sender = contents.senders.get(entry.sender)
        if sender is None:
            sender = SenderQueue(entry.sender, self.at.account(self._chain.state, entry.sender), now)
        check_admission(contents, sender, entry, limits, self.rules)
        leaving = admission.beyond_queue(sender, entry, limits)
        leaving += admission.leaving_for(contents, sender, entry, limits)
        self._drop(leaving)
        replaced = sender.at(entry.nonce)
        promoted = contents.put(sender, entry)
        self._note_change()
        if replaced is not None:
            self._tell_dropped([replaced])
        return promoted

    def _drop(self, entries: Sequence[PoolEntry]) -> None:
        there = [entry for entry in entries if entry.hash in self._contents.entries]
        for entry in there:
            self._contents.drop(entry)
            self._note_change()
        if there:
            self._tell_dropped(there)

    def _drop_surplus(self) -> None:
        for entry in admission.surplus(self._contents, self.limits):
            self._drop([entry])

    def _sweep(self) -> None:
        now = self._clock()
        if now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            self._drop(admission.expired(self._contents, now, self.limits))

    def _note_change(self) -> None:
        self.version += 1
        for listener in self.on_version:
            listener()

    def _tell_dropped(self, entries: Sequence[PoolEntry]) -> None:
        for listener in self.on_dropped:
            listener([entry.hash for entry in entries])

    def _tell_returned(self) -> None:
        returned = [each.hash for each in self._returning if each.hash in self._contents.entries]
        if returned:
            for listener in self.on_returned:
                listener(returned)

    def _tell(self, promoted: Sequence[PoolEntry]) -> None:
        added = [entry.transaction for entry in promoted if entry.hash in self._contents.entries]
        if added:
            for listener in self.on_added:
                listener(added)


def _stay() -> None:
    """Return None: nothing is to be caught up with."""
