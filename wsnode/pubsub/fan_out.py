"""Delivery of each event to the members of its group, in short slices between other work."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from time import perf_counter
from typing import Any

import trio

from wsnode.pubsub.subscription import INTERNAL_ERROR, NEVER, Event, FinalNotice, Subscription

SLICE_SECONDS = 0.002
QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes of undelivered events; once they are exceeded, the members of each further event fall behind."""

logger = logging.getLogger("wsnode.pubsub")


class _Delivery:
    """Delivery of one event in progress: `rest` iterates over the members of the group that have not had the
    event.
    """

    __slots__ = ("before", "event", "final_notice", "missed", "rest", "sequence", "size")

    def __init__(
        self,
        sequence: int,
        rest: Iterator[Subscription],
        event: Event | None,
        before: Any,
        *,
        missed: int = 0,
        final_notice: FinalNotice | None = None,
    ) -> None:
        self.sequence = sequence
        self.rest = rest
        self.event = event
        """Event to deliver; None if each member falls behind or, with a `final_notice`, has its connection
        closed.
        """
        self.size = 0 if event is None else event.size
        self.missed = missed
        self.before = before
        self.final_notice = final_notice


class FanOut:
    """Queue of one network's events for subscribers, delivered in the order of publication. An event reaches
    the members of its group that are still in it.
    """

    def __init__(self, queue_bytes: int = QUEUE_BYTES) -> None:
        self.sequence = 0
        self.queued_bytes = 0
        """Bytes of the events that have not reached all members."""
        self._queue_bytes = queue_bytes
        self._queue: deque[_Delivery] = deque()
        self._published = trio.Event()

    def publish(self, members: tuple[Subscription, ...], event: Event, before: Any) -> None:
        """Queue `event` for `members`; one whose connection is full falls behind at the position `before`."""
        sent = None if self.queued_bytes > self._queue_bytes else event
        self._append(_Delivery(self.sequence, iter(members), sent, before, missed=len(event.messages)))

    def close(self, members: tuple[Subscription, ...], final_notice: FinalNotice) -> None:
        """Close the connections of `members`, after the events published before."""
        self._append(_Delivery(self.sequence, iter(members), None, None, final_notice=final_notice))

    def _append(self, delivery: _Delivery) -> None:
        self.sequence += 1
        self.queued_bytes += delivery.size
        self._queue.append(delivery)
        self._published.set()

    async def run(self) -> None:
        while True:
            if not self._queue:
                self._published = trio.Event()
                await self._published.wait()
            self.begin()
            await trio.lowlevel.checkpoint()

    def begin(self) -> None:
        """Deliver published events for one slice of `SLICE_SECONDS`, without yielding to other tasks."""
        self.advance(perf_counter() + SLICE_SECONDS)

    async def deliver_published(self) -> None:
        """Deliver the events published until now, in slices."""
        end = self.sequence
        while self._queue and self._queue[0].sequence < end:
            self.begin()
            await trio.lowlevel.checkpoint()

    async def finish(self) -> None:
        """Deliver events until none is left, in slices."""
        while self._queue:
            self.begin()
            await trio.lowlevel.checkpoint()

    def give_up(self) -> None:
        """Make every member with undelivered events fall behind, all in one slice."""
        for delivery in self._queue:
            delivery.event = None
        self.advance(inf)

    def advance(self, deadline: float) -> None:
        """Deliver published events until `perf_counter` reaches `deadline`: one event at least in part."""
        queue = self._queue
        while queue:
            delivery = queue[0]
            if not self._deliver(delivery, deadline):
                return
            queue.popleft()
            self.queued_bytes -= delivery.size

    def _deliver(self, delivery: _Delivery, deadline: float) -> bool:
        """Deliver one event to further members until `deadline`; return True once all have been reached.

        An exception of one member must not keep the event from the others.
        """
        sequence, event = delivery.sequence, delivery.event
        for member in delivery.rest:
            if member.since > sequence:
                continue
            try:
                if event is None or not member.channel.offer(member.identity, event):
                    _leave_behind(member, delivery)
            except Exception:
                logger.exception("no event reaches a %s subscription; its connection is closed", member.kind)
                _cut_off(member)
            if perf_counter() > deadline:
                return False
        return True


def _leave_behind(member: Subscription, delivery: _Delivery) -> None:
    assert member.group is not None
    member.group.leave(member)
    if delivery.final_notice is None:
        member.channel.fall_behind(member, delivery.before, delivery.missed)
    else:
        member.channel.close(*delivery.final_notice)


def _cut_off(member: Subscription) -> None:
    member.end()
    try:
        member.channel.close(INTERNAL_ERROR, "")
    except Exception:
        logger.exception("the connection of a failed subscription cannot be closed")


class Group:
    """Live subscriptions that share kind, filter and form, and therefore all events.

    From joining to leaving, a member gets every published event in order; if it misses one, it falls behind
    at the position before that event.
    """

    def __init__(self, publisher: FanOut, on_empty: Callable[[], None] | None = None) -> None:
        """Make an empty group; `on_empty` is called whenever the last member leaves."""
        self._publisher = publisher
        self._on_empty = on_empty
        self._members: dict[Subscription, None] = {}
        self._snapshot: tuple[Subscription, ...] | None = None

    def __len__(self) -> int:
        return len(self._members)

    def join(self, subscription: Subscription) -> None:
        """Add `subscription`, a member of no other group; it gets events published from now on."""
        assert subscription.group is None
        assert not subscription.ended
        self._members[subscription] = None
        self._snapshot = None
        subscription.group = self
        subscription.since = self._publisher.sequence

    def leave(self, subscription: Subscription) -> None:
        """Remove the member `subscription`; it gets no further event, not even one that is queued."""
        del self._members[subscription]
        self._snapshot = None
        subscription.group = None
        subscription.since = NEVER
        if not self._members and self._on_empty is not None:
            self._on_empty()

    def publish(self, event: Event, before: Any) -> None:
        """Publish an event; a member whose connection is full leaves, and falls behind at the position
        `before`.
        """
        if self._members:
            self._publisher.publish(self._everybody(), event, before)

    def close(self, final_notice: FinalNotice) -> None:
        """Close the members' connections, after the events that are queued."""
        if self._members:
            self._publisher.close(self._everybody(), final_notice)

    def _everybody(self) -> tuple[Subscription, ...]:
        if self._snapshot is None:
            self._snapshot = tuple(self._members)
        return self._snapshot
