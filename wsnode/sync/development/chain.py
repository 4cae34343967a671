"""A live development chain: one change at a time, in a thread, and everybody told after each."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.head import Head
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address, Hash32, hexadecimal
from wsnode.ethereum.rpc.control import ControlError, Impersonation, Placed, Reorganisation
from wsnode.ethereum.rpc.next_block import named_sender
from wsnode.sync.development.builder import BlockBuilder, BuiltBlock
from wsnode.sync.development.clock import BlockClock, TimeError
from wsnode.sync.development.mining import MiningMode
from wsnode.sync.development.reorganisation import check_branch, replace_blocks
from wsnode.sync.development.snapshots import Moment, Moments

FEE_RECIPIENT = Address(bytes(20))

logger = logging.getLogger("wsnode.development")

Result = TypeVar("Result")


class Audience(Protocol):
    """Who is told of changes, and meanwhile may look for some by itself."""

    is_held: bool
    """Whether it has to wait with that, for a change that has several steps."""

    def advance(self) -> object:
        """Take note of what is stored by now."""


class DevelopmentChain:
    """Makes blocks from a pool, and does what tests ask for; implements `DevelopmentControl`."""

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        audience: Audience,
        *,
        block_time: float | None = None,
        fee_recipient: Address = FEE_RECIPIENT,
        clock: BlockClock | None = None,
    ) -> None:
        """Begin with a block every `block_time` seconds, or without it on each transaction."""
        self._chain = chain
        self._pool = pool
        self._audience = audience
        self._mode = MiningMode(block_time)
        self._clock = clock or BlockClock()
        self._builder = BlockBuilder(chain)
        self._moments = Moments()
        self._lock = trio.Lock()
        self.impersonation = Impersonation()
        self.fee_recipient = fee_recipient

    @property
    def is_automatic(self) -> bool:
        """Return whether each transaction gets a block at once."""
        return self._mode.is_automatic

    @property
    def interval(self) -> float | None:
        """Return the seconds between two blocks, None if they do not come at regular times."""
        return self._mode.seconds

    async def run(self) -> None:
        """Make blocks at their times, for ever."""
        last = trio.current_time()
        while True:
            last = await self._mode.wait_due(last)
            try:
                await self.mine()
            except Exception:
                # What is wrong with one block must not end the node; the next one has its own chance.
                logger.exception("no block was made")

    async def mine(self, blocks: int = 1, *, interval: int = 0, timestamp: int | None = None) -> None:
        """Make blocks; each is `interval` seconds later than it would be, the first exactly at `timestamp`.

        Raises:
            ControlError: The time is not later than the head's, or no block can be as late.
        """
        async with self._lock:
            if timestamp is not None:
                self.set_next_timestamp(timestamp)
            for _ in range(blocks):
                self.increase_time(interval)
                await self._mine_one()

    async def wait_quiet(self) -> None:
        """Return when no change of the chain is under way; none begins before the caller waits again."""
        # Whoever is next is given the lock, but does not run yet.
        async with self._lock:
            pass

    async def settle(self) -> None:
        """Return when the transactions that can be in a block are, if each is to get one at once."""
        if self._mode.is_automatic:
            async with self._lock:
                # Whoever waited here may find its transaction in the block that another one was given.
                while self._mode.is_automatic and self._pool.executable():
                    await self._mine_one()

    async def set_automatic(self, *, enabled: bool) -> None:
        """Give each transaction a block at once, those that wait as well, or no longer."""
        self._mode.set_automatic(enabled=enabled)
        await self.settle()

    def set_interval(self, seconds: float) -> None:
        """Make a block every so many seconds; 0: only when told to."""
        self._mode.set_seconds(seconds)

    def now(self) -> float:
        """Return what time it is on the chain."""
        return self._clock.now()

    def increase_time(self, seconds: int) -> int:
        """Set the clock forward and return how far it is ahead by now.

        Raises:
            ControlError: No block can be as late.
        """
        with _refusing_times():
            return self._clock.increase(seconds)

    def set_time(self, timestamp: int) -> int:
        """Have it be that time now, and return how many seconds later than the world's that is.

        Raises:
            ControlError: No block can be as late.
        """
        with _refusing_times():
            return self._clock.set(timestamp)

    def set_next_timestamp(self, timestamp: int) -> None:
        """Give the next block exactly this time.

        Raises:
            ControlError: It is not later than the head's, or no block can be as late.
        """
        with _refusing_times():
            self._clock.set_next(timestamp, parent=self._builder.tip.timestamp)

    def set_timestamp_interval(self, seconds: int | None) -> bool:
        """Put so many seconds between two blocks' times, and return whether there was such a rule before."""
        before = self._clock.setting.interval
        self._clock.set_interval(seconds)
        return before is not None

    @property
    def snapshots(self) -> Mapping[int, Head]:
        """Return the heads of the snapshots that there are, by their numbers."""
        return self._moments.heads

    async def snapshot(self) -> int:
        """Return a number under which the chain can be brought back to how it is now, once."""
        async with self._lock:
            state_root = Hash32(self._chain.state.state_root)
            moment = Moment(self._chain.head, state_root, self._pool.held(), self._clock.setting)
            return self._moments.add(moment)

    async def revert(self, identity: int) -> bool:
        """Bring the chain back to a snapshot, and tell whether there was one of that number."""
        async with self._lock:
            moment = self._moments.take(identity)
            if moment is None:
                return False
            number, state_root = moment.head.number, moment.state_root
            with self._told_at_once(takes_back=False):
                await _in_thread(lambda: self._builder.unwind(number, state_root))
                self._clock.setting = moment.clock
                self._pool.clear()
            self._pool.refresh()
            self._pool.put_back(moment.pooled)
            return True

    async def patch(self, address: Address, changes: dict[str, Any]) -> None:
        """Change an account in place: `balance`, `nonce`, `code`, `stateDiff`, as in state overrides."""
        async with self._lock:
            text = msgspec.json.encode({hexadecimal(address): changes})
            await _in_thread(lambda: self._chain.state.patch(text, sync=self._chain.durable))
            self._pool.refresh()

    async def drop(self, transaction: Hash32) -> bool:
        """Take a transaction out of the pool and tell whether it was there."""
        async with self._lock:
            return self._pool.drop(transaction)

    async def drop_all(self) -> None:
        """Take every transaction out of the pool."""
        async with self._lock:
            self._pool.clear()

    async def reorganise(
        self, depth: int, transactions: Sequence[Placed], *, keep_dropped: bool
    ) -> Reorganisation:
        """Replace the last `depth` blocks by as many others, which hold the transactions given.

        Those of the dropped blocks go back into the pool, or with `keep_dropped` unset nowhere.

        Raises:
            ControlError: The chain is not that long, or a transaction is placed outside of the branch.
        """
        async with self._lock:
            check_branch(self._chain.head.number, depth, transactions)
            root = self._chain.head.number - depth
            with self._told_at_once(takes_back=keep_dropped):
                outcome = await _in_thread(
                    lambda: replace_blocks(
                        self._chain, self._builder, depth, transactions, self.fee_recipient
                    )
                )
                self._moments.forget_above(root)
            return outcome

    @contextmanager
    def _told_at_once(self, *, takes_back: bool) -> Iterator[None]:
        """Have a change of several steps told as one in the end.

        Without `takes_back` what dropped blocks held does not wait again.
        """
        self._audience.is_held = True
        self._pool.takes_back = takes_back
        try:
            yield
        finally:
            self._audience.is_held = False
            self._audience.advance()
            self._pool.takes_back = True

    async def _mine_one(self) -> None:
        """Make a block; each one takes at least a transaction out of the pool, if there are any for it."""
        transactions = self._pool.executable()
        timestamp = self._clock.take(self._builder.tip.timestamp)
        built = await _in_thread(lambda: self._build(transactions, timestamp))
        self._audience.advance()
        if len(built.refused) == len(transactions):
            # What an empty block has no room for will be in none.
            for transaction in transactions:
                self._pool.drop(transaction.hash)

    def _build(self, transactions: Sequence[PooledTransaction], timestamp: int) -> BuiltBlock:
        return self._builder.append(
            [transaction.encoded for transaction in transactions],
            senders=[named_sender(transaction) for transaction in transactions],
            timestamp=timestamp,
            fee_recipient=self.fee_recipient,
        )


@contextmanager
def _refusing_times() -> Iterator[None]:
    try:
        yield
    except TimeError as error:
        raise ControlError(str(error)) from None


async def _in_thread(work: Callable[[], Result]) -> Result:
    # Not given up when nobody waits for it any more: what is begun is finished and told.
    return await trio.to_thread.run_sync(work)
