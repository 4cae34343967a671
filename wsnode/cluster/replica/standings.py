"""How a chain stands, and which standings it can go back to."""

from collections.abc import Sequence

from wsnode.cluster.records import Standing
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage import chain_ids, meta, patches


def standing_of(chain: Chain) -> Standing:
    """Return how a chain stands, of which nothing is uncommitted."""
    with chain.snapshot() as view:
        safe, finalized = (meta.marked_head(view.reader, mark) for mark in (meta.SAFE, meta.FINALIZED))
        return Standing(view.head, Hash32(chain.state.state_root), view.chain_id, safe, finalized)


def is_at(standing: Standing, other: Standing) -> bool:
    """Return whether two standings are the same but for the safe and the finalized block."""
    return _without_marks(standing) == _without_marks(other)


def _without_marks(standing: Standing) -> tuple[Head, Hash32, int]:
    return standing.head, standing.state_root, standing.chain_id


def is_canonical(view: Snapshot, head: Head) -> bool:
    """Return whether a block is in the chain of a snapshot."""
    return view.hash_of(head.number) == head.hash


def is_reachable(view: Snapshot, standing: Standing) -> bool:
    """Return whether a chain need only take something back to stand like this."""
    return (
        is_canonical(view, standing.head)
        and standing.state_root in _roots(view, standing.head)
        and standing.chain_id in _chain_ids(view, standing.head)
    )


def _chain_ids(view: Snapshot, head: Head) -> Sequence[int]:
    """Return the ids that the chain has had since a canonical block was made, as far as it still knows."""
    changes = chain_ids.chain_ids(view.reader)
    made_with = chain_ids.id_of(changes, view.spec.chain_id_at(0), head.number)
    return [made_with, *(given for first, given in changes if first > head.number)]


def _roots(view: Snapshot, head: Head) -> Sequence[bytes]:
    """Return the roots that the state after a canonical block has had."""
    made = patches.patches(view.reader, head.number)
    return [
        patches.unpatched_root(view.reader, head.number),
        *(patch.state_root for patch in made),
    ]
