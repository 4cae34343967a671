"""Dropped blocks, and the path from them to their ancestor on the chain."""

from wsnode.starknet.felt import ZERO
from wsnode.starknet.live.position import BEGINNING, StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot


class UnknownStarknetBlockError(Exception):
    """Error of a position whose block is neither on the chain nor known as dropped."""

    def __init__(self, position: StarknetPosition) -> None:
        super().__init__(f"unknown block {position.number}")
        self.position = position


def head_position(view: StarknetSnapshot) -> StarknetPosition:
    """Return the position after the chain's last block."""
    return BEGINNING if (number := view.head) is None else position_at(view, number)


def position_at(view: StarknetSnapshot, number: int) -> StarknetPosition:
    """Return the position after block `number`; before the first block, the beginning."""
    row = view.block(number) if number >= 0 else None
    return BEGINNING if row is None else StarknetPosition(number, row.hash)


def is_canonical(view: StarknetSnapshot, position: StarknetPosition) -> bool:
    """Return True if a position is on the chain.

    Raises:
        UnknownStarknetBlockError: Its number is not that of its block.
    """
    if position == BEGINNING:
        return True
    number = view.number_of(position.hash)
    if number is not None and number != position.number:
        raise UnknownStarknetBlockError(position)
    return number is not None


def dropped_from(
    view: StarknetSnapshot, position: StarknetPosition
) -> tuple[list[StarknetPosition], StarknetPosition]:
    """Return the dropped blocks from a position down, highest first, and the block below them.

    Raises:
        UnknownStarknetBlockError: One of them is unknown.
    """
    dropped: list[StarknetPosition] = []
    while not is_canonical(view, position):
        dropped.append(position)
        position = _under(view, position)
    return dropped, position


def _under(view: StarknetSnapshot, position: StarknetPosition) -> StarknetPosition:
    known = view.dropped(position.hash)
    if known is None or known[0] != position.number:
        raise UnknownStarknetBlockError(position)
    return BEGINNING if known[1] == ZERO else StarknetPosition(position.number - 1, known[1])
