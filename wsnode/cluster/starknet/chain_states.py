"""States of a Starknet chain, and the states that it can go back to."""

from typing import Final

from wsnode.cluster.records import ChainState
from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.starknet.felt import ZERO
from wsnode.starknet.snapshot import StarknetSnapshot

NO_CHAIN_ID: Final = 0
EMPTY: Final = ChainState(Head(BlockNumber(-1), Hash32(ZERO)), Hash32(ZERO), NO_CHAIN_ID)
"""State of a chain without blocks, whatever the number of its first one."""


def standing_at(view: StarknetSnapshot, number: int | None) -> ChainState:
    """Return the state after a stored block, that of an empty chain if there is none."""
    row = None if number is None else view.block(number)
    if row is None or number is None:
        return EMPTY
    return ChainState(Head(BlockNumber(number), Hash32(row.hash)), Hash32(row.new_root), NO_CHAIN_ID)


def standing_of(view: StarknetSnapshot) -> ChainState:
    """Return the head and its state root in `view`; `EMPTY` for a chain without blocks."""
    return standing_at(view, view.head)


def is_at(state: ChainState, other: ChainState) -> bool:
    """Return True if two states have the same block and the same state root."""
    return (state.head, state.state_root) == (other.head, other.state_root)


def is_reachable(view: StarknetSnapshot, state: ChainState) -> bool:
    """Return True if a chain can reach a state by taking back blocks alone; its first block stays."""
    if state.head.number < 0:
        return view.head is None and is_at(state, EMPTY)
    return view.number_of(state.head.hash) == state.head.number and is_at(
        standing_at(view, state.head.number), state
    )


def first_hash(view: StarknetSnapshot) -> Hash32 | None:
    """Return the hash of the first block, by which the chain's journal is named; None for an empty chain."""
    row = None if view.head is None else view.block(view.first_block)
    return None if row is None else Hash32(row.hash)
