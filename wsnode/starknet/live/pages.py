"""Pages of the events between a position and the head, each from one snapshot."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.starknet.header_json import render_header
from wsnode.starknet.live.branches import dropped_from
from wsnode.starknet.live.messages import Form, Message, header_notification, reorganisation
from wsnode.starknet.live.position import Position
from wsnode.starknet.snapshot import Snapshot

STEP_BLOCKS: Final = 64
"""Blocks of one page: about a millisecond."""


class Page(msgspec.Struct, frozen=True):
    """Notifications in order, and the position after them."""

    messages: Sequence[Message]
    position: Position


def page_behind(view: Snapshot, form: Form, position: Position, last: int) -> Page:
    """Return the page after `position`, up to block `last` at most; empty if it is there already.

    Raises:
        UnknownBlockError: The position's block is unknown.
    """
    dropped, position = dropped_from(view, position)
    messages = [reorganisation(form, dropped, position)] if dropped else []
    for header, behind in headers_behind(view, position, last):
        messages.append(header_notification(form, header, behind))
        position = behind
    return Page(messages, position)


def headers_behind(view: Snapshot, position: Position, last: int) -> list[tuple[bytes, Position]]:
    """Return the next headers on the chain with the position after each, at most one page."""
    first = max(position.number + 1, view.first_block)
    found = []
    for number in range(first, min(last + 1, first + STEP_BLOCKS)):
        if (row := view.block(number)) is None:
            break
        found.append((render_header(view, number, row), Position(number, row.hash)))
    return found
