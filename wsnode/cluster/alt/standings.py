"""How an alt chain stands, and which standings it can go back to."""

from typing import Final

from wsnode.cluster.records import Standing
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.starknet.felt import ZERO
from wsnode.starknet.snapshot import Snapshot

NO_CHAIN_ID: Final = 0
EMPTY: Final = Standing(Head(BlockNumber(-1), Hash32(ZERO)), Hash32(ZERO), NO_CHAIN_ID)
"""A chain without blocks, whatever the number of its first one."""


def standing_at(view: Snapshot, number: int | None) -> Standing:
    """Return the standing after a stored block, that of an empty chain if there is none."""
    row = None if number is None else view.block(number)
    if row is None or number is None:
        return EMPTY
    return Standing(Head(BlockNumber(number), Hash32(row.hash)), Hash32(row.new_root), NO_CHAIN_ID)


def standing_of(view: Snapshot) -> Standing:
    """Return how the chain stands."""
    return standing_at(view, view.head)


def is_at(standing: Standing, other: Standing) -> bool:
    """Return whether two standings are of one block, and of one state."""
    return (standing.head, standing.state_root) == (other.head, other.state_root)


def is_reachable(view: Snapshot, standing: Standing) -> bool:
    """Return whether a chain need only take blocks off to stand like this; its first block stays."""
    if standing.head.number < 0:
        return view.head is None and is_at(standing, EMPTY)
    return view.number_of(standing.head.hash) == standing.head.number and is_at(
        standing_at(view, standing.head.number), standing
    )


def first_hash(view: Snapshot) -> Hash32 | None:
    """Return the hash of the first block, by which the chain's journal is named; None of an empty chain."""
    row = None if view.head is None else view.block(view.first_block)
    return None if row is None else Hash32(row.hash)
