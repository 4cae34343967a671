"""Blocks beside the canonical chain: which of them wins, and the switch to its branch.

Before the merge the branch of most total difficulty is canonical, and of equals the one seen first. From the
merge on a node is told its head, and the last block of the source stands for that. A branch block is stored
beside the chain only after it lost, or together with the switch to it; so a block that is stored has been
judged, and an import that is cut off anywhere can be repeated.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from wsnode.ethereum.appender import Appender, recent_rows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, block_from_rows
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidBlockError
from wsnode.sync.errors import UnknownParentError

# Branches are executed in pieces, so that a long one does not fill memory.
_PIECE: Final = 64


class _Branch(msgspec.Struct, frozen=True):
    """The way from the canonical chain to a new block: where it leaves, and the stored blocks on it."""

    root: BlockNumber
    blocks: tuple[Hash32, ...]


def take_branch_block(appender: Appender, block: UnverifiedBlock) -> InvalidBlockError | None:
    """Make the branch of a block that does not follow the head canonical if it wins, else keep it beside.

    Returns what is wrong with the block or one that it builds on. Nothing may be pending.

    Raises:
        UnknownParentError: when nothing is known of its parent.
    """
    chain = appender.chain
    with chain.snapshot() as snapshot:
        if snapshot.side_header(block.hash) is not None:
            return None
        parent = _total_difficulty(snapshot, block.parent_hash)
        if parent is None:
            raise UnknownParentError(block.number, block.hash, block.parent_hash)
        ancestors = recent_rows(snapshot, block.parent_hash)
        error = chain.state.verify_header(block, ancestors, total_difficulty=parent)
        if error is not None:
            return error
        total = parent + block.difficulty
        wins = _wins(snapshot, block, total)
        branch = _branch(snapshot, block.parent_hash)
    if wins:
        return _switch(appender, branch, block)
    chain.keep_beside(block, total)
    return None


def _total_difficulty(snapshot: Snapshot, block_hash: bytes) -> int | None:
    number = snapshot.number_of(block_hash)
    if number is None:
        return snapshot.side_total_difficulty(block_hash)
    return snapshot.total_difficulty(number)


def _wins(snapshot: Snapshot, block: UnverifiedBlock, total: int) -> bool:
    if block.difficulty == 0:
        return True
    return not snapshot.is_merged and total > snapshot.total_difficulty(snapshot.head)


def _branch(snapshot: Snapshot, parent_hash: bytes) -> _Branch:
    blocks: list[Hash32] = []
    block_hash = Hash32(parent_hash)
    while (number := snapshot.number_of(block_hash)) is None:
        blocks.append(block_hash)
        header = snapshot.side_header(block_hash)
        assert header is not None, "a stored block's parent is stored"
        block_hash = snapshot.parent_hash(header)
    return _Branch(number, tuple(reversed(blocks)))


def _switch(appender: Appender, branch: _Branch, tip: UnverifiedBlock) -> InvalidBlockError | None:
    chain = appender.chain
    removed = chain.unwind(branch.root)
    appender.reset()
    error = _execute(appender, _pieces(chain, branch.blocks, tip))
    if error is not None:
        _restore(appender, branch, removed)
    return error


def _execute(appender: Appender, pieces: Iterator[Sequence[UnverifiedBlock]]) -> InvalidBlockError | None:
    for piece in pieces:
        extension = appender.extend(piece)
        appender.store(appender.take_pending())
        if extension.error is not None:
            return extension.error
    return None


def _restore(appender: Appender, branch: _Branch, old: Sequence[Head]) -> None:
    """Make the old blocks canonical again and forget those of the branch from the invalid one on."""
    chain = appender.chain
    valid = appender.head.number - branch.root
    chain.unwind(branch.root)
    appender.reset()
    chain.forget(branch.blocks[valid:])
    error = _execute(appender, _pieces(chain, [head.hash for head in reversed(old)], None))
    assert error is None, f"a block that was verified before is refused: {error}"


def _pieces(
    chain: Chain, blocks: Sequence[Hash32], tip: UnverifiedBlock | None
) -> Iterator[list[UnverifiedBlock]]:
    for start in range(0, len(blocks), _PIECE):
        with chain.snapshot() as snapshot:
            piece = [_stored(chain, snapshot, block_hash) for block_hash in blocks[start : start + _PIECE]]
        yield piece
    if tip is not None:
        yield [tip]


def _stored(chain: Chain, snapshot: Snapshot, block_hash: Hash32) -> UnverifiedBlock:
    rows = snapshot.block_rows(block_hash)
    assert rows is not None, "a branch leads over stored blocks"
    return block_from_rows(chain.spec, *rows)
