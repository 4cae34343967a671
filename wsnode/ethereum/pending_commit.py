"""Change of a chain that was made in memory."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.codec.blocks import VerifiedBlock
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.state import StateChange


class PendingCommit(msgspec.Struct, frozen=True):
    """Change of a chain that waits to be committed: blocks after its head, with the change of their state."""

    blocks: Sequence[VerifiedBlock]
    change: StateChange | None
    """Change of the state, None in a light folder, and if there is none."""
    root: BlockNumber | None = None
    """Block after which the chain's blocks are removed first, None to remove none."""
    state_root: Hash32 | None = None
    """State root after the undoing of the block's patches, None to keep them."""
