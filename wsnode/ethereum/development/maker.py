"""Block maker of a development chain: one change at a time, in a thread, published after each."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import trio

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.building.next_block import NextBlockAttributes, named_sender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.builder import EPOCH, BlockBuilder, BuiltBlock
from wsnode.ethereum.development.clock import BlockClock
from wsnode.ethereum.development.control import BLOCKS_AT_ONCE, ControlError, WriteFailedError
from wsnode.ethereum.development.next_block_overrides import NextBlockPlans
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.state import HistoryError, ReorganisedError, StateError
from wsnode.ethereum.storage.errors import StoreError
from wsnode.ethereum.tree.head_writer import HeadObserver, LiveTree, in_thread


class MiningMode:
    """Current mining mode of a development chain, one of anvil's three: a block for each transaction, a block
    every `seconds`, or on request. `seconds` is None in the first and third.
    """

    def __init__(self, seconds: float | None = None, *, on_request: bool = False) -> None:
        """Make a block every `seconds`; if None one for each transaction, or with `on_request` none."""
        self._first = seconds or None
        self._begins_automatic = self._first is None and not on_request
        self.is_automatic = self._begins_automatic
        self.seconds = self._first
        self._changed = trio.Event()

    def reset(self) -> None:
        self._set(is_automatic=self._begins_automatic, seconds=self._first)

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn blocks for each transaction on or off; turning them on ends regular blocks, off does not."""
        if enabled:
            self._set(is_automatic=True, seconds=None)
        elif self.is_automatic:
            self._set(is_automatic=False, seconds=None)

    def set_seconds(self, seconds: float) -> None:
        """Make a block every `seconds`; with 0, only on request."""
        self._set(is_automatic=False, seconds=seconds or None)

    async def wait_due(self, last: float) -> float:
        """Wait until a block is due after the one at `last`; return when it was due, in trio's seconds."""
        while True:
            changed = self._changed
            due = float("inf") if self.seconds is None else max(last + self.seconds, trio.current_time())
            with trio.move_on_at(due):
                await changed.wait()
            if not changed.is_set():
                return due
            last = trio.current_time()

    def _set(self, *, is_automatic: bool, seconds: float | None) -> None:
        self.is_automatic, self.seconds = is_automatic, seconds
        self._changed.set()
        self._changed = trio.Event()


FEE_RECIPIENT = Address(bytes(20))

logger = logging.getLogger("wsnode.development")

Result = TypeVar("Result")


class BlockMaker(NextBlockPlans):
    """Maker of blocks from a pool: for each transaction, at an interval, or on request."""

    def __init__(
        self,
        chain: Chain,
        pool: TransactionPool,
        audience: HeadObserver,
        *,
        block_time: float | None = None,
        fee_recipient: Address = FEE_RECIPIENT,
        gas_limit: int = GAS_LIMIT_TARGET,
        on_request: bool = False,
        epoch: int = EPOCH,
    ) -> None:
        """Begin with a block every `block_time` seconds; if that is None, with one for each transaction.

        With `on_request` blocks are made only on request. `epoch` is the length of an epoch in blocks.
        """
        self._chain = chain
        self._pool = pool
        self._mode = MiningMode(block_time, on_request=on_request)
        super().__init__(BlockBuilder(chain, epoch=epoch), BlockClock(), gas_limit_target=gas_limit)
        self._tree = LiveTree(self._builder.tree, audience)
        self._lock = self._tree.lock
        self.fee_recipient = fee_recipient
        pool.next_gas_limit = lambda head: self.next_block(head).gas_limit

    @property
    def is_automatic(self) -> bool:
        """Return True if each transaction gets a block immediately."""
        return self._mode.is_automatic

    @property
    def interval(self) -> float | None:
        """Return the seconds between two blocks, None without regular blocks."""
        return self._mode.seconds

    async def run(self) -> None:
        last = trio.current_time()
        while True:
            last = await self._mode.wait_due(last)
            try:
                await self.mine()
            except WriteFailedError:
                # The failure has been logged by `written`.
                continue
            except ControlError as error:
                # A client has set the clock to the latest possible time, so no block can have a later one.
                logger.error("no block was made: %s", error)  # noqa: TRY400 - no bug of ours
            except Exception:
                # The failure of one block must not end the node; the next block may succeed.
                logger.exception("no block was made; the next one is tried when it is due")

    async def mine(self, blocks: int = 1, *, interval: int = 0, timestamp: int | None = None) -> int:
        """Make blocks, and return the number of the last one.

        The timestamp of each is moved on by `interval` seconds, and the first has exactly `timestamp`. Other
        changes may come between runs of `BLOCKS_AT_ONCE` blocks; a cancellation takes effect between two
        blocks.

        Raises:
            ControlError: The time is not later than the head's, or later than any block's can be.
        """
        while blocks > BLOCKS_AT_ONCE:
            await self._mine_some(BLOCKS_AT_ONCE, interval, timestamp)
            blocks, timestamp = blocks - BLOCKS_AT_ONCE, None
        return await self._mine_some(blocks, interval, timestamp)

    async def _mine_some(self, blocks: int, interval: int, timestamp: int | None) -> int:
        # Another task that waits for the lock gets it between two runs of blocks.
        async with self._lock:
            if timestamp is not None:
                self.set_next_timestamp(timestamp)
            for _ in range(blocks):
                self.increase_time(interval)
                await self._mine_one()
            return self._builder.tip.number

    @property
    def is_quiet(self) -> bool:
        """Return True if no change of the chain is under way; none begins before the caller waits."""
        return not self._lock.locked()

    async def wait_quiet(self) -> None:
        """Wait until no change of the chain is under way; none begins before the caller waits again."""
        # On its release the lock passes to the next waiting task, but that task does not run yet.
        async with self._lock:
            pass

    async def settle(self) -> None:
        """Wait until all executable transactions are in blocks, if each is to get one immediately."""
        if self._mode.is_automatic:
            async with self._lock:
                # While this task waited for the lock, another task's block may have included the transaction.
                while self._mode.is_automatic and self._executable(self.next_block(self._builder.tip)):
                    await self._mine_one()

    async def set_automatic(self, *, enabled: bool) -> None:
        """Give each transaction a block immediately, waiting ones included, or stop doing so."""
        self._mode.set_automatic(enabled=enabled)
        await self.settle()

    def set_interval(self, seconds: float) -> None:
        """Make a block every `seconds`; with 0, only on request."""
        self._mode.set_seconds(seconds)

    @contextmanager
    def _publishing_as_one(self, *, takes_back: bool) -> Iterator[None]:
        """Publish the steps within the block as one change, at its end.

        Without `takes_back`, transactions of dropped blocks do not return to the pool.
        """
        self._pool.takes_back = takes_back
        try:
            with self._tree.telling():
                yield
        finally:
            self._pool.takes_back = True

    async def _mine_one(self) -> None:
        """Make a block; it takes at least one executable transaction from the pool, if there is any."""
        decided = self.decided
        following = self._take_next(self._builder.tip)
        transactions = self._executable(following)
        try:
            built = await written(lambda: self._build(transactions, following))
        except BaseException:
            # The settings were taken for a block that was not made, so they are restored for the next one.
            self.decide(*decided)
            raise
        self._tree.tell()
        if len(built.refused) == len(transactions):
            # All transactions were refused, so the block is empty. A transaction without room in an empty
            # block fits into no block.
            for index, reason in built.refused:
                logger.warning("transaction %s is dropped: %s", transactions[index].hash.hex(), reason)
                self._pool.drop(transactions[index].hash)

    def _executable(self, following: NextBlockAttributes) -> list[PooledTransaction]:
        return self._pool.executable(base_fee=following.base_fee, gas_limit=following.gas_limit)

    def _build(self, transactions: Sequence[PooledTransaction], following: NextBlockAttributes) -> BuiltBlock:
        return self._builder.append_next(
            following,
            [transaction.encoded for transaction in transactions],
            senders=[named_sender(transaction) for transaction in transactions],
            fee_recipient=self.fee_recipient,
        )


async def written(work: Callable[[], Result]) -> Result:
    """Return the result of `work`, which writes the chain, run in a thread.

    Raises:
        WriteFailedError: The chain cannot be written at the moment; the log says why.
    """
    try:
        return await in_thread(work)
    except (HistoryError, ReorganisedError):
        raise
    except (StateError, StoreError) as error:
        logger.error("the chain cannot be written: %s", error)  # noqa: TRY400 - no bug of ours
        raise WriteFailedError from error
