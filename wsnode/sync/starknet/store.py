"""Writer of a followed Starknet chain: one change at a time, in a thread, published when complete."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import trio

from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.roots import StateRoots
from wsnode.sync.starknet.side_blocks import NOWHERE, VerifiedSideBlock

PRUNED_AT_ONCE: Final = 64
"""Maximum number of blocks pruned in one change of the store."""


class RefusedRootError(Exception):
    """Error of a block whose state difference does not give its state root."""

    def __init__(self, error: InvalidStarknetBlockError) -> None:
        super().__init__(str(error))
        self.block_hash = error.block_hash


class ChainWriter:
    """Writer of the blocks of one chain, the only one."""

    def __init__(
        self,
        chain: StarknetChain,
        chain_id: str,
        window: int | None,
        publish: Callable[[], None],
        *,
        keeps_state: bool = False,
    ) -> None:
        """Write to `chain`; `publish` is called after each change of the head.

        A new folder with a `window` is light, unless it `keeps_state`: then it begins with block 0, and keeps
        the state written before the window. A folder with the whole state takes such a window later too; of
        any other folder the stored window counts.

        Raises:
            StoreError: The store cannot be written.
        """
        self._chain = chain
        self._chain_id = chain_id
        self._publish = publish
        self._turn = trio.Lock()
        self._roots: StateRoots | None = None
        with chain.snapshot() as view:
            has_state = keeps_state or window is None if view.head is None else view.has_whole_state
            takes_window = keeps_state and has_state and window is not None
            self.window = window if view.head is None or takes_window else view.window
            self.is_light = self.window is not None and not (takes_window or view.keeps_state)
            """True if the folder has nothing but a window of blocks; state before it is read by proofs."""
            self.checks_roots = has_state and not self.is_light
            """True if every block's state root is recomputed: in full folders from block 0 on."""
        if takes_window and window is not None:
            chain.keep_window(window)
        self._look()

    def _look(self) -> None:
        with self._chain.snapshot() as view:
            head = view.head
            self.head = NOWHERE if head is None else head
            """Number of the head, -1 without a block."""
            self.first_block = 0 if head is None else view.first_block

    @property
    def wanted_first(self) -> int:
        """Return the number of the window's first block, 0 without a window."""
        return 0 if self.window is None else max(0, self.head - self.window + 1)

    async def set_head(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        """Replace the blocks above block `root` of the chain by `blocks`, lowest first.

        With the root `NOWHERE` a light folder begins anew with them.

        Raises:
            RefusedRootError: A block's state difference gives another state root.
            StoreError: The store cannot be written.
        """
        async with self._turn:
            await trio.to_thread.run_sync(partial(self._set_head, root, blocks))
            self._look()
        self._publish()

    def _set_head(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        verified = [proved.block for proved in blocks]
        classes = [found for proved in blocks for found in proved.classes]
        if root == NOWHERE and self.is_light and self.window is not None:
            self._chain.begin_with(verified, classes, self._chain_id, self.window)
            return
        if root == NOWHERE and self.head == NOWHERE:
            self._chain.begin(0, self._chain_id)
        self._check_roots(root, blocks)
        try:
            self._chain.append(verified, classes, after=root if root < self.head else None)
        except BaseException:
            # They are ahead of what is stored.
            self._roots = None
            raise

    def _check_roots(self, root: int, blocks: Sequence[VerifiedSideBlock]) -> None:
        if not self.checks_roots:
            return
        if self._roots is None or root < self.head:
            with self._chain.reader() as reader:
                self._roots = StateRoots() if root == NOWHERE else StateRoots.of_head(reader, root)
        for proved in blocks:
            block = proved.block
            if (found := self._roots.after(block)) != block.new_root:
                self._roots = None
                raise RefusedRootError(
                    InvalidStarknetBlockError(
                        block.number, block.hash, "state_root", felt_text(block.new_root), felt_text(found)
                    )
                )

    async def prepend(self, blocks: Sequence[VerifiedSideBlock]) -> bool:
        """Store blocks below the first stored block, highest first; return False if they do not join it.

        Raises:
            StoreError: The store cannot be written.
        """
        async with self._turn:
            if not blocks or blocks[0].block.number != self.first_block - 1:
                return False
            classes = [found for proved in blocks for found in proved.classes]
            verified = [proved.block for proved in blocks]
            await trio.to_thread.run_sync(partial(self._chain.prepend, verified, classes))
            self._look()
        return True

    async def prune(self) -> bool:
        """Remove up to `PRUNED_AT_ONCE` blocks below the window; return True if there were any.

        Raises:
            StoreError: The store cannot be written.
        """
        async with self._turn:
            first = min(self.wanted_first, self.first_block + PRUNED_AT_ONCE)
            if self.window is None or first <= self.first_block:
                return False
            await trio.to_thread.run_sync(partial(self._chain.prune, first))
            self._look()
        return True
