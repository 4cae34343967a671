"""Pages for subscriptions that catch up, made in slices, and shared by subscriptions at one position."""

from collections import OrderedDict
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.branches import dropped_from, is_canonical, reorganisation
from wsnode.ethereum.live.history import ForkHistory, history_of, history_page
from wsnode.ethereum.live.notices import ReorganisationNotice
from wsnode.ethereum.live.pages import Page, Pages
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subscription_spec import Extensions, StoredSubject, page_messages
from wsnode.pubsub.subscription import Event

SNAPSHOTS: Final = 16
"""Maximum number of pages being made, each from its own snapshot."""
HISTORIES: Final = 4
"""Maximum number of pages below a fork being fetched from another node."""
KEPT_BYTES: Final = 4 * 1024 * 1024
"""Bytes of pages cached for other subscriptions at the same positions."""

_BLOCK_BYTES: Final = 160
"""Estimated bytes of a block in a notice."""

Place = tuple[StoredSubject, Position, Head, Head | None]


class PageEvent:
    """Page of stored events, encoded as one event to send: `event` is None for an empty page, `position` is
    after it.
    """

    __slots__ = ("change", "event", "floor", "is_ahead", "position")

    def __init__(
        self,
        form: Extensions,
        page: Page,
        *,
        is_ahead: bool = False,
        floor: Head | None = None,
        change: ReorganisationNotice | None = None,
    ) -> None:
        self.event = Event(page_messages(form, page)) if page.items else None
        self.position = page.position
        self.is_ahead = is_ahead
        """True if the requested position is canonical and above the block `target`."""
        self.floor = floor
        """Value of `floor` for the next page."""
        self.change = change
        """Reorganisation that dropped the position's block, for a notice; None if there is none."""

    @property
    def size(self) -> int:
        """Return the bytes that the page keeps."""
        blocks = 0 if self.change is None else len(self.change.dropped) + len(self.change.added)
        return (0 if self.event is None else self.event.size) + blocks * _BLOCK_BYTES


class ReplayPages:
    """Maker of pages of stored events for subscriptions that resume or lag; they take turns by slices, and
    equal pages are made once.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.made = 0
        """Number of pages made; each may be sent to several subscriptions."""
        self.snapshots = trio.Semaphore(SNAPSHOTS)
        """Semaphore held while a page is being made."""
        self._histories = trio.Semaphore(HISTORIES)
        # Pages get their slices in the order of asking, so that a long search does not hold up the others.
        self._turn = trio.StrictFIFOLock()
        self._making: dict[Place, trio.Event] = {}
        self._kept: OrderedDict[Place, PageEvent] = OrderedDict()
        self._kept_bytes = 0

    async def page(
        self, subject: StoredSubject, position: Position, target: Head, floor: Head | None = None
    ) -> PageEvent:
        """Return the page of `subject` after `position`, on the way to the block `target`.

        `floor` is the block above which a notice has named all dropped blocks: the page removes no others.
        Without it the page has the reorganisation for a notice, if the subject has notices.

        Once `target` has left the chain the page is empty and does not advance: repeat with the new head.

        Raises:
            UnknownPositionError: The position's block is not stored.
            PrunedHistoryError: The position is below a fork, and the other chain's node has no events of it.
        """
        place = subject, position, target, floor
        while (made := self._making.get(place)) is not None:
            await made.wait()
        if (kept := self._kept.get(place)) is not None:
            self._kept.move_to_end(place)
            await trio.lowlevel.checkpoint()
            return kept
        self._making[place] = trio.Event()
        try:
            page = await self._make(*place)
            self.made += 1
            if page.position != position:
                self._keep(place, page)
        finally:
            self._making.pop(place).set()
        return page

    async def _make(
        self, subject: StoredSubject, position: Position, target: Head, floor: Head | None
    ) -> PageEvent:
        if (history := self._history(position)) is not None:
            async with self._histories:
                return PageEvent(subject.form, await history_page(history, subject, position))
        async with self.snapshots:
            with self._chain.snapshot() as view:
                on_chain, form = is_canonical(view, position), subject.form
                is_ahead = on_chain and position.number > target.number
                if is_ahead or view.hash_of(target.number) != target.hash:
                    await trio.lowlevel.checkpoint()
                    return PageEvent(form, Page((), position), is_ahead=is_ahead, floor=floor)
                change = None
                if form.reorgs and floor is None and not on_chain:
                    change = reorganisation(view, *dropped_from(view, position))
                    floor = change.ancestor
                page = await self._by_turns(subject.page(view, position, target, floor))
                if page.position.head == floor or is_canonical(view, page.position):
                    floor = None
                return PageEvent(form, page, floor=floor, change=change)

    def _history(self, position: Position) -> ForkHistory | None:
        if self._chain.below is None:
            return None
        with self._chain.snapshot() as view:
            return history_of(view, position)

    async def _by_turns(self, slices: Pages) -> Page:
        while True:
            async with self._turn:
                try:
                    next(slices)
                except StopIteration as stop:
                    page: Page = stop.value
                    return page

    def _keep(self, place: Place, page: PageEvent) -> None:
        self._kept[place] = page
        self._kept_bytes += page.size
        while self._kept_bytes > KEPT_BYTES or len(self._kept) > KEPT_BYTES >> 12:
            _place, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= dropped.size
