"""The method that returns events, page by page."""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.generators import begun_at_once
from wsnode.jsonrpc.work import RenderedJson
from wsnode.starknet.block_id import BlockId, ByHash, L1Accepted, Pending
from wsnode.starknet.events import (
    WHOLE,
    EventFilter,
    EventPage,
    EventPosition,
    EventsUnavailableError,
    search_events,
    search_pre_confirmed,
    without_places,
)
from wsnode.starknet.felt import felt_text
from wsnode.starknet.followed import PreConfirmedBlock
from wsnode.starknet.rpc.errors import (
    block_not_found,
    history_unavailable,
    invalid_continuation_token,
    needs_newer_version,
    page_size_too_big,
    transactions_unavailable,
)
from wsnode.starknet.rpc.params import EmitterList, EventFilterObject, EventsParams
from wsnode.starknet.rpc.resolution import number_of, require_pre_confirmed
from wsnode.starknet.snapshot import StarknetSnapshot

MAX_EVENTS: Final = 1024
"""Maximum number of events of one page."""

Slices: TypeAlias = Generator[int, Any, RenderedJson]


def get_events(snapshot: StarknetSnapshot, params: EventsParams) -> RenderedJson | Slices:
    """Return the events that match a filter, in chain order, and the token of the next page, if any."""
    found: RenderedJson | Slices = begun_at_once(_search(snapshot, params))
    return found


def _search(snapshot: StarknetSnapshot, params: EventsParams) -> Slices:
    wanted = params.filter
    if snapshot.is_before_0_10 and isinstance(wanted.address, EmitterList):
        raise needs_newer_version("a list of addresses")
    if wanted.chunk_size > MAX_EVENTS:
        raise page_size_too_big()
    first, last, skipped = _range(snapshot, wanted)
    pre_confirmed = _pre_confirmed(snapshot, wanted)
    event_filter = EventFilter(
        list(map(felt_text, wanted.address or ())),
        [list(map(felt_text, among)) for among in wanted.keys or ()],
    )
    page = EventPage([], None)
    if first <= last:
        try:
            page = yield from search_events(
                snapshot, event_filter, first, last, most=wanted.chunk_size, skipped=skipped
            )
        except EventsUnavailableError as error:
            raise transactions_unavailable(error.number) from None
    if page.position is None and pre_confirmed is not None and first <= pre_confirmed.number:
        passed = skipped if first == pre_confirmed.number else 0
        room = wanted.chunk_size - len(page.events)
        beside = search_pre_confirmed(pre_confirmed, event_filter, most=room, skipped=passed)
        page = EventPage([*page.events, *beside.events], beside.position)
    return _rendered(_without_places(page) if snapshot.is_before_0_10 else page)


def _without_places(page: EventPage) -> EventPage:
    return EventPage(list(map(without_places, page.events)), page.position)


def _rendered(page: EventPage) -> RenderedJson:
    token = {} if page.position is None else {"continuation_token": str(page.position)}
    return RenderedJson(msgspec.json.encode({"events": page.events} | token))


def _range(snapshot: StarknetSnapshot, wanted: EventFilterObject) -> tuple[int, int, int]:
    """Return the first and the last block to search, and how many events of the first to skip.

    Raises:
        RpcError: A block is unknown, the token is not valid, or the history begins above the first block.
    """
    head = -1 if snapshot.head is None else snapshot.head
    first = _number(snapshot, wanted.from_block, head, 0)
    last = min(_number(snapshot, wanted.to_block, head, head), head)
    skipped = 0
    if wanted.continuation_token is not None:
        first, skipped = _behind(snapshot, wanted.continuation_token)
    if first <= last and first < snapshot.first_block:
        raise history_unavailable(snapshot.first_block)
    return first, last, skipped


def _pre_confirmed(snapshot: StarknetSnapshot, wanted: EventFilterObject) -> PreConfirmedBlock | None:
    """Return the pre-confirmed block if the filter reaches it, None if it does not or the block is empty.

    Raises:
        RpcError: The filter names it as `pre_confirmed`, and the chain is behind.
    """
    for block_id in (wanted.from_block, wanted.to_block):
        if block_id is not None:
            require_pre_confirmed(snapshot, block_id)
    reaches = wanted.to_block is not None and isinstance(wanted.to_block.choice, Pending)
    return snapshot.pre_confirmed if reaches else None


def _number(snapshot: StarknetSnapshot, block_id: BlockId | None, head: int, default: int) -> int:
    if block_id is None:
        return default
    if isinstance(block_id.choice, Pending):
        return head + 1
    number = number_of(snapshot, block_id)
    if number is None and isinstance(block_id.choice, ByHash | L1Accepted):
        raise block_not_found()
    return head if number is None else number


def _behind(snapshot: StarknetSnapshot, token: str) -> tuple[int, int]:
    """Return the block in which the page of a token begins, and how many of its events to skip.

    Raises:
        RpcError: It is no token, or its block is not on the chain.
    """
    try:
        position = EventPosition.parse(token)
    except ValueError:
        raise invalid_continuation_token() from None
    if snapshot.number_of(position.hash) == position.number - 1:
        # The token belongs to a block that was pre-confirmed on top of the named block and may be stored by
        # now.
        return position.number, position.count
    if snapshot.number_of(position.hash) != position.number:
        block = {"block_number": position.number, "block_hash": felt_text(position.hash)}
        raise invalid_continuation_token(block)
    return (position.number + 1, 0) if position.count == WHOLE else (position.number, position.count)
