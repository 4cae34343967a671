"""Verification of blocks that are added to a chain: by execution, or in a light folder by their receipts."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final, Protocol

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, VerifiedBlock, verify_with_receipts
from wsnode.ethereum.codec.rows import Rows
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import BlockAttributes, ChainSpec, InvalidBlockError, State, StateChange
from wsnode.ethereum.storage import side_blocks
from wsnode.store.environment import Environment


class PendingCommit(msgspec.Struct, frozen=True):
    """Change of a chain, verified and not yet committed to its store: blocks removed above `root`, blocks
    added, and the change of the state.
    """

    blocks: Sequence[VerifiedBlock]
    change: StateChange | None
    """Change of the state, None in a light folder, and if there is none."""
    root: BlockNumber | None = None
    """Block after which the chain's blocks are removed first, None to remove none."""
    state_root: Hash32 | None = None
    """State root after the undoing of the block's patches, None to keep them."""


MAX_BYTES: Final = 64 << 20
"""Maximum bytes of received blocks that wait to be verified."""
_ANCESTORS: Final = 7


class NoReceiptsError(Exception):
    """Error of a block that cannot be verified by its receipts, because they were never received or have been
    dropped; `block_hash` has 32 bytes.
    """

    def __init__(self, block_hash: bytes) -> None:
        super().__init__(f"no receipts of block {hexadecimal(block_hash)} were told")
        self.block_hash = block_hash


class ExecutionOutcome(Protocol):
    """Outcome of `Executor.execute`: the valid blocks, and the violation in the first invalid one.
    Implemented by the engine's `Execution` and by `ReceiptVerifierOutcome`.
    """

    @property
    def verified(self) -> Sequence[VerifiedBlock]:
        """Return the valid blocks, up to the first invalid one."""

    @property
    def error(self) -> InvalidBlockError | None:
        """Return the rule broken by the block after the valid ones, None if all are valid."""


class Executor(Protocol):
    """Verifier of blocks that also makes their changes to the state; implemented by the engine's `State`, and
    by `ReceiptVerifier` for light folders.
    """

    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> ExecutionOutcome:
        """Return the blocks that keep every rule, the first one on the head, and the first violation.

        They are executed in memory until they are staged. `ancestors` are the rows of the head and of up to
        six blocks before it, the nearest first; `total_difficulty` is the head's. With `attributes`, the
        first block has the gas limit and base fee that its maker chose.
        """

    def try_block(
        self,
        block: UnverifiedBlock,
        parent: tuple[int, bytes] | BuiltBlock,
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        changes: int = ...,
    ) -> BuiltBlock | InvalidBlockError:
        """Verify a block on any parent; return it with its changes, or the rule that it breaks."""

    def verify_header(
        self, block: UnverifiedBlock, ancestors: Sequence[Rows], *, total_difficulty: int
    ) -> InvalidBlockError | None:
        """Return the broken rule, of those that need no execution; None if the block breaks none."""

    def accept(self, block: BuiltBlock) -> None:
        """Put a verified block on the head."""

    def stage(self) -> StateChange | None:
        """Return the change of the store since the last one, by appended blocks and `rewind`; None without
        one.
        """

    def settle(self, change: StateChange, /) -> None:
        """Take note that a change from `stage` was committed."""

    def discard(self) -> None:
        """Drop all that was not committed."""

    def rewind(self, number: int, *, state_root: bytes | None = None) -> None:
        """Drop all that was not committed, and go back to block `number` in memory.

        With `state_root`, patches of that block are undone until its state has this root again.
        """


class ReceiptVerifierOutcome(msgspec.Struct, frozen=True):
    """Outcome of verifying consecutive blocks by their receipts: the valid ones, and the violation in the
    next one, None if all are valid.
    """

    verified: list[VerifiedBlock]
    error: InvalidBlockError | None


class ReceiptVerifier:
    """Verifier of blocks by receipts from other nodes, for a light folder without a state.

    Header rules, body, receipts, gas and bloom are verified. State root and requests could be verified only
    by execution; for these the chain of hashes from a trusted head is relied on.
    """

    def __init__(
        self, store: Environment, spec: ChainSpec, state: State, most_bytes: int = MAX_BYTES
    ) -> None:
        self._store = store
        self._spec = spec
        self._state = state
        self._most_bytes = most_bytes
        self._told: OrderedDict[Hash32, BuiltBlock] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        """Lock: receipts arrive in the event loop, and blocks are verified in other threads."""

    def tell(self, blocks: Sequence[BuiltBlock]) -> None:
        """Keep blocks, whose bodies and receipts match their headers, until they are verified.

        Beyond the bound of bytes, blocks of earlier calls are dropped; blocks of this call are all kept.
        """
        with self._lock:
            for block in blocks:
                self._forget(Hash32(block.hash))
                self._told[Hash32(block.hash)] = block
                self._bytes += block.size
            while self._bytes > self._most_bytes and len(self._told) > len(blocks):
                self._forget(next(iter(self._told)))

    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> ReceiptVerifierOutcome:
        """Return the blocks that keep the rules of headers and match their receipts, and the first violation.

        Raises:
            NoReceiptsError: The receipts of a block were never received, or have been dropped.
        """
        assert attributes is None, "told blocks are not made here"
        verified: list[VerifiedBlock] = []
        before = list(ancestors)
        for block in blocks:
            judged = self.try_block(block, (0, b""), before, total_difficulty=total_difficulty)
            if isinstance(judged, InvalidBlockError):
                return ReceiptVerifierOutcome(verified, judged)
            verified.append(judged)
            before = [(judged.header, judged.body), *before[: _ANCESTORS - 1]]
            total_difficulty += judged.difficulty
        return ReceiptVerifierOutcome(verified, None)

    def try_block(
        self,
        block: UnverifiedBlock,
        parent: tuple[int, bytes] | BuiltBlock,
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        changes: int = 0,
    ) -> BuiltBlock | InvalidBlockError:
        """Verify a block after its ancestors.

        Raises:
            NoReceiptsError: The receipts of the block were never received, or have been dropped.
        """
        error = self.verify_header(block, ancestors, total_difficulty=total_difficulty)
        if error is not None:
            return error
        with self._lock:
            told = self._forget(Hash32(block.hash))
        return self._stored(block) if told is None else told

    def verify_header(
        self, block: UnverifiedBlock, ancestors: Sequence[Rows], *, total_difficulty: int
    ) -> InvalidBlockError | None:
        return self._state.verify_header(block, ancestors, total_difficulty=total_difficulty)

    def accept(self, block: BuiltBlock) -> None:
        """Do nothing: without a state a block has no changes."""

    def stage(self) -> None:
        """Return None: there are no changes."""

    def settle(self, change: StateChange, /) -> None:
        """Do nothing: there are no changes."""

    def discard(self) -> None:
        """Do nothing: there are no changes."""

    def rewind(self, number: int, *, state_root: bytes | None = None) -> None:
        """Do nothing: there are no changes."""

    def _forget(self, block_hash: Hash32) -> BuiltBlock | None:
        told = self._told.pop(block_hash, None)
        if told is not None:
            self._bytes -= told.size
        return told

    def _stored(self, block: UnverifiedBlock) -> BuiltBlock | InvalidBlockError:
        """Verify a block by the receipts stored with side blocks."""
        with self._store.read() as reader:
            receipts = side_blocks.receipts(reader, block.hash) or side_blocks.upstream_receipts(
                reader, block.hash
            )
            access_list = side_blocks.access_list(reader, block.hash)
        if receipts is None:
            raise NoReceiptsError(block.hash)
        return verify_with_receipts(self._spec, block, receipts, access_list)
