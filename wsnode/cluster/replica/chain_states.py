"""States of a chain, and the states that it can go back to."""

from collections.abc import Sequence

from wsnode.cluster.records import ChainState
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage import chain_ids, meta, state_patches


def standing_of(chain: Chain) -> ChainState:
    """Return the state of a chain without uncommitted changes."""
    with chain.snapshot() as view:
        safe, finalized = (meta.marked_head(view.reader, mark) for mark in (meta.SAFE, meta.FINALIZED))
        return ChainState(view.head, Hash32(chain.state.state_root), view.chain_id, safe, finalized)


def is_canonical(view: Snapshot, head: Head) -> bool:
    """Return True if a block is in the chain of a snapshot."""
    return view.hash_of(head.number) == head.hash


def is_reachable(view: Snapshot, state: ChainState) -> bool:
    """Return True if a chain can reach a state by taking back blocks or patches alone."""
    return (
        is_canonical(view, state.head)
        and state.state_root in _roots(view, state.head)
        and state.chain_id in _chain_ids(view, state.head)
    )


def _chain_ids(view: Snapshot, head: Head) -> Sequence[int]:
    """Return the ids that the chain has had since a canonical block was made, as far as they are stored."""
    changes = chain_ids.chain_ids(view.reader)
    made_with = chain_ids.id_of(changes, view.spec.chain_id_at(0), head.number)
    return [made_with, *(given for first, given in changes if first > head.number)]


def _roots(view: Snapshot, head: Head) -> Sequence[bytes]:
    """Return the roots that the state after a canonical block has had, one for each patch."""
    made = state_patches.patches(view.reader, head.number)
    return [
        state_patches.unpatched_root(view.reader, head.number),
        *(patch.state_root for patch in made),
    ]
