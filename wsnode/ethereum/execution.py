"""Blocks made part of a chain: executed on its state, or, in a light folder, held against their receipts."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final, Protocol

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock, UnverifiedBlock, VerifiedBlock, verify_with_receipts
from wsnode.ethereum.codec.rows import Rows
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.state import BlockAttributes, ChainSpec, InvalidBlockError, State
from wsnode.ethereum.storage import side_blocks
from wsnode.store.environment import Environment

MOST_BYTES: Final = 64 << 20
"""Of told blocks that wait to be judged."""
_ANCESTORS: Final = 7


class NoReceiptsError(Exception):
    """A block cannot be judged: no node has told its receipts, or they are forgotten by now."""

    def __init__(self, block_hash: bytes) -> None:
        super().__init__(f"no receipts of block {hexadecimal(block_hash)} were told")
        self.block_hash = block_hash


class ExecutionOutcome(Protocol):
    """What became of a run of blocks."""

    @property
    def verified(self) -> Sequence[VerifiedBlock]:
        """Return the blocks that keep every rule."""

    @property
    def error(self) -> InvalidBlockError | None:
        """Return what the block after them breaks."""


class Executor(Protocol):
    """Judges blocks and makes their changes, as the engine's `State` does."""

    def execute(
        self,
        blocks: Sequence[UnverifiedBlock],
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        attributes: BlockAttributes | None = None,
    ) -> ExecutionOutcome:
        """Put a run of blocks on the head, up to the first invalid one."""

    def try_block(
        self,
        block: UnverifiedBlock,
        parent: tuple[int, bytes] | BuiltBlock,
        ancestors: Sequence[Rows],
        *,
        total_difficulty: int,
        changes: int = ...,
    ) -> BuiltBlock | InvalidBlockError:
        """Return a block judged on any parent, or what it breaks."""

    def verify_header(
        self, block: UnverifiedBlock, ancestors: Sequence[Rows], *, total_difficulty: int
    ) -> InvalidBlockError | None:
        """Return which of the rules that need no execution a block breaks."""

    def accept(self, block: BuiltBlock) -> None:
        """Put a judged block on the head."""

    def commit(self, *, sync: bool) -> None:
        """Write what is on the head."""

    def commit_whole(self) -> None:
        """Write what is on the head; a power failure before `sync_now` returns may undo that, and no more."""

    def sync_now(self) -> None:
        """Bring all that is written to the disk."""


class ReceiptVerifierOutcome(msgspec.Struct, frozen=True):
    """A run of told blocks, judged."""

    verified: list[VerifiedBlock]
    error: InvalidBlockError | None


class ReceiptVerifier:
    """Judges blocks by what other nodes tell of them; there is no state to change.

    Header rules, body, receipts, gas and bloom are verified. That the state root and the requests are right
    takes an execution: there the chain of hashes from a trusted head is relied on.
    """

    def __init__(
        self, store: Environment, spec: ChainSpec, state: State, most_bytes: int = MOST_BYTES
    ) -> None:
        self._store = store
        self._spec = spec
        self._state = state
        self._most_bytes = most_bytes
        self._told: OrderedDict[Hash32, BuiltBlock] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        """Receipts arrive in the event loop, and blocks are judged in others."""

    def tell(self, blocks: Sequence[BuiltBlock]) -> None:
        """Keep blocks whose bodies and receipts are those of their headers until they are judged.

        Beyond the bound those told before are forgotten. These are judged together, so all of them are kept.
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
        """Judge a run of blocks that follow one another.

        Raises:
            NoReceiptsError: Nobody told of one.
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
        """Judge a block after its ancestors.

        Raises:
            NoReceiptsError: Nobody told of it.
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
        """Return which of the rules that need no execution a block breaks."""
        return self._state.verify_header(block, ancestors, total_difficulty=total_difficulty)

    def accept(self, block: BuiltBlock) -> None:
        """Do nothing: a told block has no changes."""

    def commit(self, *, sync: bool) -> None:
        """Do nothing: there are no changes."""

    def commit_whole(self) -> None:
        """Do nothing: there are no changes."""

    def sync_now(self) -> None:
        """Do nothing: there are no changes."""

    def _forget(self, block_hash: Hash32) -> BuiltBlock | None:
        told = self._told.pop(block_hash, None)
        if told is not None:
            self._bytes -= told.size
        return told

    def _stored(self, block: UnverifiedBlock) -> BuiltBlock | InvalidBlockError:
        """Judge a block that is stored beside the chain, by the receipts there."""
        with self._store.read() as reader:
            receipts = side_blocks.receipts(reader, block.hash) or side_blocks.upstream_receipts(
                reader, block.hash
            )
            access_list = side_blocks.access_list(reader, block.hash)
        if receipts is None:
            raise NoReceiptsError(block.hash)
        return verify_with_receipts(self._spec, block, receipts, access_list)
