"""Positions of subscriptions in the chain, their encoding as cursors, and the way from dropped blocks."""

from typing import Final, Self

import msgspec

from wsnode.jsonrpc.codec import decode_cursor, encode_cursor
from wsnode.starknet.felt import FELT_BYTES, ZERO, felt_text
from wsnode.starknet.snapshot import StarknetSnapshot

WHOLE: Final = 2**32 - 1
"""Value of `transactions` for the position after the whole block."""
_VERSION: Final = b"\x01S"
_SIZE: Final = 8 + FELT_BYTES
_VERSION_WITHIN: Final = b"\x01W"
_SIZE_WITHIN: Final = _SIZE + 4 + 4


class StarknetPosition(msgspec.Struct, frozen=True):
    """Position in a chain's notifications, as a cursor holds it: after block `number` with hash `hash`, or
    within it.

    The order within a block is: the events of a transaction, then the transaction, and after all transactions
    the header. So positions of all kinds of subscriptions are comparable.
    """

    number: int
    """Number of the block, -1 before the first block."""
    hash: bytes
    transactions: int = WHOLE
    """Number of the block's transactions before the position, with their events; `WHOLE` after the block."""
    events: int = 0
    """Number of events of the next transaction before the position."""

    def __str__(self) -> str:
        content = b"%b%b" % (self.number.to_bytes(8, "big", signed=True), self.hash)
        if self.transactions == WHOLE:
            return encode_cursor(_VERSION + content)
        place = self.transactions.to_bytes(4, "big") + self.events.to_bytes(4, "big")
        return encode_cursor(_VERSION_WITHIN + content + place)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the position encoded in the cursor `text`.

        Raises:
            ValueError: `text` is no cursor.
        """
        try:
            content, place = decode_cursor(text, _VERSION, _SIZE), (WHOLE, 0)
        except ValueError:
            content = decode_cursor(text, _VERSION_WITHIN, _SIZE_WITHIN)
            numbers = content[_SIZE:]
            place = int.from_bytes(numbers[:4], "big"), int.from_bytes(numbers[4:], "big")
        number = int.from_bytes(content[:8], "big", signed=True)
        if number < -1:
            raise ValueError("invalid cursor")
        return cls(number, bytes(content[8:_SIZE]), *place)

    @property
    def place(self) -> tuple[int, int]:
        """Return the position within the block: `transactions` and `events`; later places are greater."""
        return self.transactions, self.events

    @property
    def block(self) -> "StarknetPosition":
        """Return the position after the whole block."""
        return StarknetPosition(self.number, self.hash)

    @property
    def named(self) -> dict[str, int | str]:
        """Return the block in the form of errors and notices."""
        return {"block_number": self.number, "block_hash": felt_text(self.hash)}


BEGINNING: Final = StarknetPosition(-1, ZERO)
"""Position before the first block."""


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
