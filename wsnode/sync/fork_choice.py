"""Fork choice of an import: the branch that becomes the canonical chain.

Before the merge the branch with the most total difficulty is canonical, of equal ones the first seen. After
the merge a consensus client names the head; here the last block of the source takes its place. A branch block
is stored beside the chain only after it lost, or together with the switch to it. So each stored block has
been judged, and an interrupted import can be repeated.
"""

from wsnode.ethereum.codec.blocks import UnverifiedBlock
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.statuses import InvalidBlock, Status, UnknownParentBlock
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.errors import UnknownParentError


def take_branch_block(tree: BlockTree, block: UnverifiedBlock) -> InvalidBlockError | None:
    """Make the branch of a block beside the head canonical if it wins, else store the block beside the chain.

    Return the error of the block or of one of its ancestors, None if there is none.

    Raises:
        UnknownParentError: Its parent is unknown.
    """
    with tree.chain.snapshot() as view:
        if view.side_header(block.hash) is not None:
            return None
        wins = _wins(view, block)
    # A block that loses is not executed: most never win.
    status = tree.judge(block) if wins else tree.hold(block)
    if (error := _wrong(status, block)) is not None:
        return error
    if not wins:
        tree.store_side_block(block.hash)
        return None
    change = tree.set_head(block.hash)
    return change.error if isinstance(change, InvalidBlock) else None


def _wrong(status: Status, block: UnverifiedBlock) -> InvalidBlockError | None:
    if isinstance(status, UnknownParentBlock):
        raise UnknownParentError(block.number, block.hash, block.parent_hash)
    return status.error if isinstance(status, InvalidBlock) else None


def _wins(view: Snapshot, block: UnverifiedBlock) -> bool:
    if block.difficulty == 0:
        return True
    return not view.is_merged and _total_difficulty(view, block) > view.total_difficulty(view.number)


def _total_difficulty(view: Snapshot, block: UnverifiedBlock) -> int:
    """Return the sum of difficulties up to a block; only its own if its parent's is unknown."""
    return (view.total_difficulty_of(block.parent_hash) or 0) + block.difficulty
