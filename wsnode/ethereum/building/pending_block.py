"""Pending block, built by the engine like any block, and the state after it."""

import time
from collections.abc import Callable, Generator
from math import inf
from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

from wsnode.ethereum.building.next_block import BlockPlan, NextBlockAttributes, block_now, continues, within
from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidBlockError, State
from wsnode.jsonrpc.work import RunInThread, Step

TIME_FRACTION: Final = 0.1
"""Share of the time that rebuilding the pending block on one head may take."""
ALWAYS: Final = inf
"""Share with which the block is rebuilt after each change; for tests, which must not depend on the clock."""
SAVED_SECONDS: Final = 1.0
"""Seconds of which the share may be used without a pause."""
GAS_AT_ONCE: Final = 1_000_000
"""Gas up to which a block is built on the main thread; a worker thread would take longer."""

Answer = TypeVar("Answer")
Steps = Generator[Step, Any, Answer]


class NoNextBlockError(Exception):
    """Error of a request for the pending block where none can be built, as on proof of work; `wanted` names
    the requested part for the message.
    """

    def __init__(self, wanted: str) -> None:
        super().__init__(f"pending {wanted} is not available")
        self.wanted = wanted


class _Kept(msgspec.Struct, frozen=True):
    """Built block, with the inputs from which it was built."""

    block: BuiltBlock
    plan: BlockPlan


class PendingBlockBuilder:
    """Builder of the pending block, on request. The last block is returned again until the head, the pool or
    the second changes; on one head, building takes at most `share` of the time, so a full block may be some
    seconds old.
    """

    def __init__(
        self,
        pool: TransactionPool | None = None,
        *,
        next_block: Callable[[Header], NextBlockAttributes] = block_now,
        makes_blocks: bool = False,
        share: float = TIME_FRACTION,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin; with `makes_blocks` (on a development chain) a pending block exists on proof of work too."""
        self._pool = pool
        self._makes_blocks = makes_blocks
        self._share = share
        self._next_block = next_block
        self._timer = timer
        self._turn = Lock()
        self._allowed_at = 0.0
        self._kept: _Kept | None = None

    def base_fee(self, spec: ChainSpec, head: Header) -> int | None:
        """Return the base fee of the block after `head` in wei; None before there are base fees."""
        return self._next_block(head).base_fee_after(spec, head)

    def advised_base_fee(self, head: Header) -> int | None:
        """Return the base fee for advice on fees, in wei: the next block's if it was set, else the head's, as
        in geth; None before London.
        """
        decided = self._next_block(head).base_fee
        return head.base_fee if decided is None else decided

    def after(self, view: Snapshot) -> BuiltBlock:
        """Return the pending block after the view's head.

        Raises:
            NoNextBlockError: No block may follow the head (`continues`).
            ReorganisedError: The head has left the chain.
        """
        root = view.state.state_root
        return self._current(view.head.hash, root, view.spec.chain_id) or self._build(
            self._plan(view, root, "block"), view.state
        )

    def state_after(self, view: Snapshot) -> Steps[BuiltBlock]:
        """Return the pending block with the state after it; a long build runs in a worker thread.

        Raises:
            NoNextBlockError, ReorganisedError: As in `after`.
        """
        root = view.state.state_root
        current = self._current(view.head.hash, root, view.spec.chain_id)
        if current is not None:
            return current
        plan = self._plan(view, root, "state")
        if plan.gas <= GAS_AT_ONCE:
            return self._build(plan, view.state)
        built: BuiltBlock = yield RunInThread(lambda _cancel: self._build_in_turn(plan, view.state))
        return built

    def read(self, view: Snapshot, answer: Callable[[BuiltBlock], Answer]) -> Answer | Steps[Answer]:
        """Return `answer(block)` for the pending block, or steps that build the block first."""
        current = self._current(view.head.hash, view.state.state_root, view.spec.chain_id)
        return self._read_later(view, answer) if current is None else answer(current)

    def _read_later(self, view: Snapshot, answer: Callable[[BuiltBlock], Answer]) -> Steps[Answer]:
        return answer((yield from self.state_after(view)))

    def _current(self, head: bytes, state_root: bytes, chain_id: int) -> BuiltBlock | None:
        kept = self._kept
        if kept is None:
            return None
        plan = kept.plan
        if (plan.head.hash, plan.state_root, plan.chain_id) != (head, state_root, chain_id):
            return None
        is_old = plan.pool_version != self._version or plan.next_block != self._next_block(plan.head)
        return None if is_old and self._timer() >= self._allowed_at else kept.block

    @property
    def _version(self) -> int:
        return -1 if self._pool is None else self._pool.version

    def _plan(self, view: Snapshot, state_root: bytes, wanted: str) -> BlockPlan:
        parent = view.block_rows(view.head.hash)
        assert parent is not None, "the head is stored"
        header = header_fields(parent[0])
        if not (self._makes_blocks or continues(header)):
            raise NoNextBlockError(wanted)
        # The pool's version is read before its transactions: if the transactions change in between, the block
        # counts as old.
        version, following = self._version, self._next_block(header)
        executable: list[PooledTransaction] = []
        if self._pool is not None:
            base_fee, gas_limit = following.base_fee, following.gas_limit
            executable = within(self._pool.executable(base_fee=base_fee, gas_limit=gas_limit), gas_limit)
        return BlockPlan(
            state_root=state_root,
            chain_id=view.spec.chain_id,
            parent=parent,
            head=header,
            next_block=following,
            transactions=executable,
            pool_version=version,
        )

    def _build(self, plan: BlockPlan, state: State) -> BuiltBlock:
        began = self._timer()
        try:
            block = plan.build(state)
        except InvalidBlockError:
            # The build fails because a system contract fails, so no block can follow the head.
            raise NoNextBlockError("block") from None
        taken = self._timer() - began
        self._allowed_at = max(self._allowed_at, began - SAVED_SECONDS) + taken / self._share
        self._kept = _Kept(block, plan)
        return block

    def _build_in_turn(self, plan: BlockPlan, state: State) -> BuiltBlock:
        with self._turn:
            # Another caller may have built the block while this one waited for its turn.
            return self._current(plan.head.hash, plan.state_root, plan.chain_id) or self._build(plan, state)
