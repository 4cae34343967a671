"""The head that subscribers have been told, and how it follows the store's."""

import logging
from collections.abc import Callable
from typing import Final

import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.live.branches import UnknownBlockError, canonical_rows, dropped_from, dropped_rows
from wsnode.ethereum.live.groups import Groups
from wsnode.ethereum.live.messages import (
    MOST_ADDED,
    Message,
    Reorganisation,
    reorganisation_notice,
    unknown_block_notice,
    untold_notice,
)
from wsnode.ethereum.live.pending import PendingFeed
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.live.replay import Replay
from wsnode.ethereum.live.subjects import Form
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.pubsub.fan_out import FanOut
from wsnode.store.errors import StoreError

WATCH_SECONDS: Final = 0.2
"""How often the store is looked at in case another process writes it."""
STEP_BLOCKS: Final = 64
STEP_LOGS: Final = 2000
"""How many blocks, and logs in them, are told of before others have a turn: about 20 milliseconds."""
_BACKLOG_SECONDS: Final = 0.005
_BACKLOG_BYTES: Final = 8 * 1024 * 1024

logger = logging.getLogger("wsnode.live")


class Hub:
    """Tells the live subscriptions of one chain what happens, out of the store."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.fan_out = FanOut()
        """Hands the events to the subscribers; somebody runs it."""
        self.groups = Groups(self.fan_out)
        self.replay = Replay(chain)
        self.pending = PendingFeed(self.fan_out)
        self.head = chain.head
        """The last head that was told."""
        self.parameters = 0
        """Addresses and topics that all subscriptions name together."""
        self.on_change: list[Callable[[HeadChange], None]] = []
        """Called with each change, once the subscribers' events are on their way."""
        self.is_held = False
        """Whether a change of several steps is under way, which is to be told as one."""
        self._moved = trio.Event()
        self._called = trio.Event()
        self._is_behind = False

    def snapshot(self) -> Snapshot:
        """Return the store as it is now."""
        return self._chain.snapshot()

    def advance(self) -> HeadChange:
        """Tell what has happened since the last time, and return it.

        After many blocks at once only the first are told of, and the rest by the watching task.
        """
        if self.is_held:
            return HeadChange((), ())
        with self._chain.snapshot() as view:
            if view.head_hash == self.head.hash:
                self._is_behind = False
                return HeadChange((), ())
            try:
                dropped, ancestor = dropped_from(view, Position.after(self.head))
            except UnknownBlockError as error:
                change = self._begin_again(view, error.position)
            else:
                change = self._told(view, dropped, ancestor)
            self._is_behind = self.head.hash != view.head_hash
        moved, self._moved = self._moved, trio.Event()
        moved.set()
        if self._is_behind:
            self._called.set()
        for listener in self.on_change:
            try:
                listener(change)
            except Exception:
                # Subscribers are told of blocks whatever becomes of the pool.
                logger.exception("a change of head was not followed")
        return change

    async def wait_move(self, head: Head) -> None:
        """Wait until the head is another one than `head`."""
        while self.head == head:
            await self._moved.wait()

    def _told(self, view: Snapshot, dropped: list[Head], ancestor: Head) -> HeadChange:
        """Tell of a change; a bug in telling of one block must neither end the node nor stay unnoticed."""
        try:
            return self._change(view, dropped, ancestor)
        except StoreError:
            raise
        except Exception:
            logger.exception("subscribers cannot be told of what follows block %s", self.head)
        untold, before = self.head, Position.after(self.head)
        self.head = Head(BlockNumber(view.head), view.head_hash)
        notice = untold_notice(untold, Position.after(self.head))
        self.groups.announce(lambda _cursor: notice, before, to=_everybody)
        rows = (view.header(number) for number in range(ancestor.number + 1, view.head + 1))
        return HeadChange(tuple(dropped), tuple(_head_of(row) for row in rows if row is not None))

    def _change(self, view: Snapshot, dropped: list[Head], ancestor: Head) -> HeadChange:
        if dropped:
            self._announce_reorganisation(view, dropped, ancestor)
        for head in dropped:
            before = Position.after(head)
            self.groups.publish_logs(dropped_rows(view, before), head, before, removed=True)
        self.head = ancestor
        return HeadChange(tuple(dropped), tuple(self._add_blocks(view, ancestor.number + 1)))

    def _add_blocks(self, view: Snapshot, first: int) -> list[Head]:
        added: list[Head] = []
        logs = view.log_count_before(first) + STEP_LOGS
        for number in range(first, min(view.head + 1, first + STEP_BLOCKS)):
            if added and view.log_count_before(number + 1) > logs:
                break
            rows = canonical_rows(view, number)
            before, head = Position.after(self.head), _head_of(rows[0])
            self.groups.publish_header(rows[0], head, before)
            self.groups.publish_logs(rows, head, before, removed=False)
            self.head = head
            added.append(head)
        return added

    def _announce_reorganisation(self, view: Snapshot, dropped: list[Head], ancestor: Head) -> None:
        change = reorganisation(view, dropped, ancestor)

        def notice(cursor: Position | None) -> Message:
            return reorganisation_notice(change, cursor)

        self.groups.announce(notice, Position.after(dropped[0]), to=lambda form: form.reorgs)

    def _begin_again(self, view: Snapshot, lost: Position) -> HeadChange:
        """Go on at the store's head, which cannot be reached from what was told last."""
        logger.error("block %s, which subscribers were told of, is not stored any more", lost.head)
        before, self.head = Position.after(self.head), Head(BlockNumber(view.head), view.head_hash)
        notice = unknown_block_notice(lost, Position.after(self.head))
        self.groups.announce(lambda _cursor: notice, before, to=_everybody)
        return HeadChange((), (self.head,))

    async def watch(self) -> None:
        """Tell of what another process writes, and of the rest of many blocks, for ever."""
        while True:
            try:
                self.advance()
            except Exception:
                # Calls are answered whatever becomes of subscriptions.
                logger.exception("the store cannot be read for subscribers")
            self._called = trio.Event()
            with trio.move_on_after(self._pause()):
                await self._called.wait()

    def _pause(self) -> float:
        if not self._is_behind:
            return WATCH_SECONDS
        return _BACKLOG_SECONDS if self.fan_out.queued_bytes > _BACKLOG_BYTES else 0


def reorganisation(view: Snapshot, dropped: list[Head], ancestor: Head) -> Reorganisation:
    """Return what a notice says when a position's block and those under it were dropped."""
    last = min(view.head, ancestor.number + MOST_ADDED)
    rows = (view.header(number) for number in range(ancestor.number + 1, last + 1))
    return Reorganisation(ancestor, dropped, [_head_of(row) for row in rows if row is not None])


def _head_of(header: bytes) -> Head:
    fields = header_fields(header)
    return Head(BlockNumber(fields.number), Hash32(fields.hash))


def _everybody(_form: Form) -> bool:
    return True
