"""Pages for those who catch up: a slice at a time among all of them, and one page for all who need it."""

from collections import OrderedDict
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.live.pages import Page
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.subjects import Form, Subject, page_messages
from wsnode.pubsub.event import Event

SNAPSHOTS: Final = 16
"""Pages that are made at once, each out of a snapshot."""
KEPT_BYTES: Final = 4 * 1024 * 1024
"""Pages that are kept for others who stand at the same position."""

Place = tuple[Subject, Position, Head]


class SentPage:
    """A page as an event, None when there is nothing to tell, and the position behind it."""

    __slots__ = ("event", "position")

    def __init__(self, form: Form, page: Page) -> None:
        self.event = Event(page_messages(form, page)) if page.items else None
        self.position = page.position

    @property
    def size(self) -> int:
        """Return the bytes that it keeps."""
        return 0 if self.event is None else self.event.size


class Replay:
    """Makes pages out of the store, fairly."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.made = 0
        """How many pages were made; more were told, where many stood at the same position."""
        self._snapshots = trio.Semaphore(SNAPSHOTS)
        # In the order of asking, so that a long search is only one among many.
        self._turn = trio.StrictFIFOLock()
        self._making: dict[Place, trio.Event] = {}
        self._kept: OrderedDict[Place, SentPage] = OrderedDict()
        self._kept_bytes = 0

    async def page(self, subject: Subject, position: Position, target: Head) -> SentPage:
        """Return what `subject` is told behind `position`, on the way to the block `target`.

        Once that is not canonical any more the page is empty and leads nowhere: ask with the new head.

        Raises:
            UnknownBlockError: The position's block is not stored.
        """
        place = subject, position, target
        while (made := self._making.get(place)) is not None:
            await made.wait()
        if (kept := self._kept.get(place)) is not None:
            self._kept.move_to_end(place)
            await trio.lowlevel.checkpoint()
            return kept
        self._making[place] = trio.Event()
        try:
            page = SentPage(subject.form, await self._make(subject, position, target))
            self.made += 1
            if page.position != position:
                self._keep(place, page)
        finally:
            self._making.pop(place).set()
        return page

    async def _make(self, subject: Subject, position: Position, target: Head) -> Page:
        async with self._snapshots:
            with self._chain.snapshot() as view:
                if view.hash_of(target.number) != target.hash:
                    await trio.lowlevel.checkpoint()
                    return Page((), position)
                slices = subject.page(view, position, target)
                while True:
                    async with self._turn:
                        try:
                            next(slices)
                        except StopIteration as stop:
                            page: Page = stop.value
                            return page

    def _keep(self, place: Place, page: SentPage) -> None:
        self._kept[place] = page
        self._kept_bytes += page.size
        while self._kept_bytes > KEPT_BYTES or len(self._kept) > KEPT_BYTES >> 12:
            _place, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= dropped.size
