"""Pages of the events between a position and the head, each from one snapshot."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from wsnode.pubsub.subscription import IDENTITY_BYTES, PART_BYTES
from wsnode.starknet.live.contents import BlockContents, BodyUnavailableError, UnstoredTransactions
from wsnode.starknet.live.messages import (
    Message,
    NotificationForm,
    notification,
    reorganisation,
    uncursored,
)
from wsnode.starknet.live.position import StarknetPosition, dropped_from, position_at
from wsnode.starknet.snapshot import StarknetSnapshot

STEP_BLOCKS: Final = 64
"""Blocks of one page: about a millisecond of headers."""
STEP_TRANSACTIONS: Final = 512
"""Transactions that one page reads before it ends with their block."""

Part: TypeAlias = tuple[Sequence[Message], StarknetPosition]
"""Notifications of a block, and the position behind the last."""


class StarknetPage(msgspec.Struct, frozen=True):
    """Page of the notifications for a subscription that catches up, in order, and the position after them."""

    messages: Sequence[Message]
    position: StarknetPosition


def page_behind(
    view: StarknetSnapshot, form: NotificationForm, position: StarknetPosition, last: int
) -> StarknetPage:
    """Return the page after `position`, up to block `last` at most; empty if it is there already.

    Raises:
        UnknownStarknetBlockError: The position's block is unknown.
        BodyUnavailableError: The next block is stored without its transactions.
    """
    dropped, position = dropped_from(view, position)
    messages = [reorganisation(form, dropped, position)] if dropped else []
    read = 0
    for block in _blocks_of(view, form, position, last):
        try:
            part, behind = next(parts_of(form, block, position))
        except BodyUnavailableError:
            if not messages and position.number >= block.number - 1:
                raise
            return StarknetPage(messages, position_at(view, block.number - 1))
        messages.extend(part)
        position = behind
        read += block.transactions_read
        if behind != block.position or read >= STEP_TRANSACTIONS:
            return StarknetPage(messages, position)
    return StarknetPage(messages, _reached(view, form, position, last))


def blocks_behind(view: StarknetSnapshot, position: StarknetPosition, last: int) -> Iterator[BlockContents]:
    """Yield the next blocks on the chain, at most one page of them."""
    first = max(position.number + 1, view.first_block)
    for number in range(first, min(last + 1, first + STEP_BLOCKS)):
        if (row := view.block(number)) is None:
            return
        yield BlockContents(view, number, row)


def parts_of(form: NotificationForm, block: BlockContents, before: StarknetPosition) -> Iterator[Part]:
    """Yield the notifications of a block behind a position in parts; the last one is behind the block.

    Raises:
        BodyUnavailableError: The block is stored without its transactions.
    """
    messages: list[Message] = []
    size, behind = 0, before
    place = before.place if before.hash == block.hash else (0, 0)
    for here, result in form.stream.items(block, place, is_before_0_10=form.is_before_0_10):
        if size > PART_BYTES:
            yield messages, behind
            messages, size = [], 0
        behind = StarknetPosition(block.number, block.hash, *here)
        messages.append(notification(form, result, behind))
        size += sum(map(len, messages[-1])) + IDENTITY_BYTES
    yield messages, block.position


def unstored_parts(form: NotificationForm, found: UnstoredTransactions) -> Iterator[Sequence[Message]]:
    """Yield the notifications of transactions that no stored block has, in parts; none if there are none."""
    messages: list[Message] = []
    size = 0
    for result in form.stream.unstored_items(found, is_before_0_10=form.is_before_0_10):
        if size > PART_BYTES:
            yield messages
            messages, size = [], 0
        messages.append(uncursored(form, result))
        size += sum(map(len, messages[-1])) + IDENTITY_BYTES
    if messages:
        yield messages


def _blocks_of(
    view: StarknetSnapshot, form: NotificationForm, position: StarknetPosition, last: int
) -> Iterator[BlockContents]:
    """Yield the blocks of one page of which something may be sent."""
    is_within = position != position.block
    number = max(position.number + (not is_within), view.first_block)
    for _ in range(STEP_BLOCKS):
        number = form.stream.next_block(view, number, last)
        if number > last or (row := view.block(number)) is None:
            return
        yield BlockContents(view, number, row)
        number += 1


def _reached(
    view: StarknetSnapshot, form: NotificationForm, position: StarknetPosition, last: int
) -> StarknetPosition:
    """Return the position after block `last` or the head if no block up to it has more to send, else
    `position`.
    """
    head = view.head
    if head is None or position != position.block:
        return position
    end = min(last, head)
    if form.stream.next_block(view, position.number + 1, end) > end > position.number:
        return position_at(view, end)
    return position
