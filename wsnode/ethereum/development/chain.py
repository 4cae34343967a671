"""Running development chain: blocks are replaced and removed, and accounts changed, on request.

Snapshots of the chain can each be restored once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import trio

from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.builder import EPOCH, check_branch, replace_blocks
from wsnode.ethereum.development.clock import ClockSetting
from wsnode.ethereum.development.control import (
    ControlError,
    DevelopmentLog,
    ForkedChain,
    ForkedFrom,
    ForkFactory,
    ForkRequest,
    Impersonation,
    ReorganisationRequest,
    ScheduledTransaction,
    WriteFailedError,
)
from wsnode.ethereum.development.maker import FEE_RECIPIENT, BlockMaker, written
from wsnode.ethereum.development.next_block_overrides import NO_WISHES, NextBlockOverrides
from wsnode.ethereum.head import Head
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address, Hash32, hexadecimal
from wsnode.ethereum.state import MissingStateError
from wsnode.ethereum.storage import state_patches
from wsnode.ethereum.storage.errors import ChainIdsError
from wsnode.ethereum.tree.head_writer import HeadObserver


class RevertPoint(msgspec.Struct, frozen=True):
    """State saved by evm_snapshot and restored by evm_revert: head, its state root (with changes made without
    a transaction), the pool's transactions, clock, and settings of the next block.
    """

    head: Head
    state_root: Hash32
    pooled: Sequence[PooledTransaction]
    clock: ClockSetting
    overrides: NextBlockOverrides


class RevertPoints:
    """Saved states of evm_snapshot by number; numbers begin at 0 and are never used again."""

    def __init__(self) -> None:
        self._revert_points: dict[int, RevertPoint] = {}
        self._taken = 0

    @property
    def heads(self) -> dict[int, Head]:
        return {number: moment.head for number, moment in self._revert_points.items()}

    def add(self, moment: RevertPoint) -> int:
        number, self._taken = self._taken, self._taken + 1
        self._revert_points[number] = moment
        return number

    def take(self, number: int) -> RevertPoint | None:
        """Remove and return a revert point, and remove all later ones; None if it does not exist."""
        moment = self._revert_points.get(number)
        if moment is not None:
            self._revert_points = {kept: each for kept, each in self._revert_points.items() if kept < number}
        return moment

    def put_back(self, number: int, moment: RevertPoint) -> None:
        """Keep a revert point again, after a restore of it failed."""
        self._revert_points[number] = moment

    def clear(self) -> None:
        self._revert_points.clear()

    def forget_above(self, number: int) -> None:
        """Remove the revert points of blocks above `number`; those blocks have left the chain."""
        self._revert_points = {
            kept: each for kept, each in self._revert_points.items() if each.head.number <= number
        }


ACCOUNTS_AT_ONCE = 50
"""Accounts that are read before other tasks run: 20 us each."""


class DevelopmentChain(BlockMaker):
    """Development chain with the operations of the evm_, anvil_ and hardhat_ methods: mining, snapshots,
    reset, reorganisation, and changes of accounts without a transaction.
    """

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
        impersonates_all: bool = False,
        time: int | None = None,
        fork: ForkedFrom | None = None,
        forks: ForkFactory | None = None,
    ) -> None:
        """Begin with a block every `block_time` seconds; if that is None, with one for each transaction.

        With `on_request` blocks are made only on request. The blocks' gas limit moves towards `gas_limit`.
        `epoch` is the length of an epoch in blocks. With `impersonates_all` no account needs signatures. The
        clock begins at `time`, also after a reset. A chain with a `fork` began on a block of another chain,
        and a reset keeps the first patch of that block; `forks` makes it begin on another block.
        """
        super().__init__(
            chain,
            pool,
            audience,
            block_time=block_time,
            fee_recipient=fee_recipient,
            gas_limit=gas_limit,
            on_request=on_request,
            epoch=epoch,
        )
        self._first_time = time
        self._set_first_time()
        self._revert_points = RevertPoints()
        self._first_fee_recipient = fee_recipient
        self._forks = forks
        self.fork = fork
        self.impersonation = Impersonation(is_general=impersonates_all)
        self.log = DevelopmentLog()

    @property
    def snapshots(self) -> Mapping[int, Head]:
        return self._revert_points.heads

    async def snapshot(self) -> int:
        """Take a snapshot and return its number; `revert` can restore it once."""
        async with self._lock:
            state_root = Hash32(self._chain.state.state_root)
            return self._revert_points.add(
                RevertPoint(self._chain.head, state_root, self._pool.held(), *self.decided)
            )

    async def revert(self, identity: int) -> bool:
        """Restore a snapshot and return True; return False if it does not exist."""
        async with self._lock:
            moment = self._revert_points.take(identity)
            if moment is None:
                return False
            try:
                await self._go_back(moment.head.number, moment.state_root)
            except WriteFailedError:
                self._revert_points.put_back(identity, moment)
                raise
            self.decide(moment.clock, moment.overrides)
            self._pool.put_back(moment.pooled)
            return True

    async def roll_back(self, depth: int) -> None:
        """Remove the last `depth` blocks from the chain, and drop their transactions.

        Raises:
            ControlError: The chain has fewer blocks.
        """
        async with self._lock:
            check_branch(self._chain.head.number, depth, ())
            root = self._chain.head.number - depth
            with self._publishing_as_one(takes_back=False):
                await written(lambda: self._builder.unwind(root))
                self._revert_points.forget_above(root)

    async def reset(self, forking: ForkRequest | None = None) -> None:
        """Begin again after the first block, or on another first block, with all settings as at the start.

        Raises:
            ControlError: The chain cannot begin on the requested block.
        """
        async with self._lock:
            begun = None if forking is None else await self._begun_elsewhere(forking)
            first_root = state_patches.unpatched_root if self.fork is None else state_patches.begun_root
            with self._chain.snapshot() as view:
                number, root = view.earliest, first_root(view.reader, view.earliest)
            await self._go_back(number, root)
            if begun is not None:
                await self._become(begun)
            self._revert_points.clear()
            self.decide(ClockSetting(), NO_WISHES)
            self._set_first_time()
            self.impersonation.end_all()
            self.fee_recipient = self._first_fee_recipient
            self._mode.reset()

    def _set_first_time(self) -> None:
        if self._first_time is not None:
            self.set_time(self._first_time)

    async def _begun_elsewhere(self, forking: ForkRequest) -> ForkedChain | None:
        if self.fork is None:
            raise ControlError("nothing can be forked: start with --fork")
        if self._forks is not None:
            return await self._forks.begin(forking, self.fork)
        if forking.block not in (None, self.fork.block.number):
            number = self.fork.block.number
            raise ControlError(f"a kept chain stays forked at block {number}: start without --data to move")
        return None

    async def _become(self, begun: ForkedChain) -> None:
        with self._publishing_as_one(takes_back=False):
            self._chain.become(begun.chain)
            self._builder.tree.reset()
        self.fork = begun.fork
        await begun.follow()
        self._pool.refresh()

    async def _go_back(self, number: int, state_root: Hash32) -> None:
        with self._publishing_as_one(takes_back=False):
            await written(lambda: self._builder.unwind(number, state_root))
            self._pool.clear()
        self._pool.refresh()

    async def patch(self, address: Address, changes: dict[str, Any]) -> None:
        """Change an account in place: `balance`, `nonce`, `code`, `stateDiff`, as in state overrides."""
        async with self._lock:
            await self._patch({address: changes})

    async def set_chain_id(self, chain_id: int) -> None:
        """Change the chain id of further blocks and calls; drop pending transactions of the former id.

        Raises:
            ControlError: The id has been changed as often as can be recorded.
        """
        async with self._lock:
            try:
                await written(lambda: self._builder.set_chain_id(chain_id))
            except ChainIdsError as error:
                raise ControlError(str(error)) from None
            self._tree.tell()
            self._pool.refresh()

    async def put_accounts(self, accounts: Mapping[Address, dict[str, Any]]) -> None:
        """Change many accounts in one step; the `nonce` of each, an integer, never becomes lower."""
        async with self._lock:
            changes = {}
            for count, (address, changed) in enumerate(accounts.items()):
                if count % ACCOUNTS_AT_ONCE == 0:
                    await trio.lowlevel.checkpoint()
                nonce, _balance = await self._nonce_and_balance(address)
                changes[address] = {**changed, "nonce": hex(max(nonce, changed["nonce"]))}
            await self._patch(changes)

    async def add_balance(self, address: Address, wei: int) -> None:
        """Add `wei` to the balance of an account.

        Raises:
            ControlError: The balance would exceed 256 bits.
        """
        async with self._lock:
            balance = wei + (await self._nonce_and_balance(address))[1]
            if balance >= 1 << 256:
                raise ControlError("the balance would exceed 256 bits")
            await self._patch({address: {"balance": hex(balance)}})

    async def drop(self, transaction: Hash32) -> bool:
        """Remove a transaction from the pool; return True if it was there."""
        async with self._lock:
            return self._pool.drop(transaction)

    async def drop_sent_by(self, address: Address) -> None:
        async with self._lock:
            for transaction in self._pool.held():
                if transaction.sender == address:
                    self._pool.drop(Hash32(transaction.hash))

    async def drop_all(self) -> None:
        async with self._lock:
            self._pool.clear()

    async def reorganise(
        self, depth: int, transactions: Sequence[ScheduledTransaction], *, keep_dropped: bool
    ) -> ReorganisationRequest:
        """Replace the last `depth` blocks by as many new ones, with these transactions; return the outcome.

        With `keep_dropped` the transactions of the replaced blocks return to the pool.

        Raises:
            ControlError: The chain has fewer blocks, or a transaction has an index outside of the branch.
        """
        async with self._lock:
            check_branch(self._chain.head.number, depth, transactions)
            root = self._chain.head.number - depth
            with self._publishing_as_one(takes_back=keep_dropped):
                outcome = await written(
                    lambda: replace_blocks(
                        self._chain,
                        self._builder,
                        depth,
                        transactions,
                        self.fee_recipient,
                        self._gas_limit_after,
                    )
                )
                self._revert_points.forget_above(root)
            return outcome

    async def _nonce_and_balance(self, address: Address) -> tuple[int, int]:
        head = self._chain.head
        while True:
            try:
                account = self._chain.state.account(address, (head.number, head.hash))
            except MissingStateError as error:
                if self._chain.fetch is None:
                    raise
                await self._chain.fetch(error)
            else:
                return (0, 0) if account is None else account[:2]

    async def _patch(self, accounts: Mapping[Address, dict[str, Any]]) -> None:
        def patch() -> None:
            text = msgspec.json.encode({hexadecimal(address): each for address, each in accounts.items()})
            self._builder.patch(text)

        await written(patch)
        self._tree.tell()
        self._pool.refresh()
