"""Pages of the events between a position and the head, each from one snapshot."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.starknet.header_json import render_header
from wsnode.starknet.live.branches import dropped_from
from wsnode.starknet.live.messages import Message, NotificationForm, header_notification, reorganisation
from wsnode.starknet.live.position import StarknetPosition
from wsnode.starknet.snapshot import StarknetSnapshot

STEP_BLOCKS: Final = 64
"""Blocks of one page: about a millisecond."""


class StarknetPage(msgspec.Struct, frozen=True):
    """Notifications in order, and the position after them."""

    messages: Sequence[Message]
    position: StarknetPosition


def page_behind(
    view: StarknetSnapshot, form: NotificationForm, position: StarknetPosition, last: int
) -> StarknetPage:
    """Return the page after `position`, up to block `last` at most; empty if it is there already.

    Raises:
        UnknownPositionError: The position's block is unknown.
    """
    dropped, position = dropped_from(view, position)
    messages = [reorganisation(form, dropped, position)] if dropped else []
    for header, behind in headers_behind(view, position, last):
        messages.append(header_notification(form, header, behind))
        position = behind
    return StarknetPage(messages, position)


def headers_behind(
    view: StarknetSnapshot, position: StarknetPosition, last: int
) -> list[tuple[bytes, StarknetPosition]]:
    """Return the next headers on the chain with the position after each, at most one page."""
    first = max(position.number + 1, view.first_block)
    found = []
    for number in range(first, min(last + 1, first + STEP_BLOCKS)):
        if (row := view.block(number)) is None:
            break
        found.append((render_header(view, number, row), StarknetPosition(number, row.hash)))
    return found
