"""Delivers each event to the members of its group, in short slices between other work."""

import logging
from collections import deque
from collections.abc import Iterator
from math import inf
from time import perf_counter
from typing import Any

import trio

from wsnode.pubsub.event import INTERNAL_ERROR, Event, FinalNotice
from wsnode.pubsub.subscription import Subscription

SLICE_SECONDS = 0.002
QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes of undelivered events; beyond them every member falls behind."""

logger = logging.getLogger("wsnode.pubsub")


class _Delivery:
    """An event on its way: `rest` are the members whose turn is still to come."""

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
        """The event; without one each member falls behind, or its connection is closed with
        `final_notice`.
        """
        self.size = 0 if event is None else event.size
        self.missed = missed
        self.before = before
        self.final_notice = final_notice


class FanOut:
    """The events of one network, in the order in which they were published."""

    def __init__(self, queue_bytes: int = QUEUE_BYTES) -> None:
        self.sequence = 0
        self.queued_bytes = 0
        """Bytes of the events that are not delivered to all members yet."""
        self._queue_bytes = queue_bytes
        self._queue: deque[_Delivery] = deque()
        self._published = trio.Event()

    def publish(self, members: tuple[Subscription, ...], event: Event, before: Any) -> None:
        """Queue `event` for `members`; one without room falls behind, at the position `before` it."""
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
        """Deliver published events, for ever."""
        while True:
            if not self._queue:
                self._published = trio.Event()
                await self._published.wait()
            self.begin()
            await trio.lowlevel.checkpoint()

    def begin(self) -> None:
        """Deliver published events for one slice, at once."""
        self.advance(perf_counter() + SLICE_SECONDS)

    async def finish(self) -> None:
        """Deliver published events until none is left, with turns for other tasks between slices."""
        while self._queue:
            self.begin()
            await trio.lowlevel.checkpoint()

    def give_up(self) -> None:
        """Let every member with undelivered events fall behind, at once."""
        for delivery in self._queue:
            delivery.event = None
        self.advance(inf)

    def advance(self, deadline: float) -> None:
        """Deliver published events until `perf_counter` reaches `deadline`, at least one."""
        queue = self._queue
        while queue:
            delivery = queue[0]
            if not self._deliver(delivery, deadline):
                return
            queue.popleft()
            self.queued_bytes -= delivery.size

    def _deliver(self, delivery: _Delivery, deadline: float) -> bool:
        """Continue with one event until `deadline`; return whether all members were reached.

        A bug with one member must not keep the event from the others.
        """
        sequence, event = delivery.sequence, delivery.event
        for member in delivery.rest:
            if member.since > sequence:
                continue
            try:
                if event is None or not member.channel.offer(member.identity, event):
                    _leave_behind(member, delivery)
            except Exception:
                logger.exception("a %s subscription cannot be told", member.kind)
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
    """End a subscription whose delivery failed, and close its connection with the reason."""
    member.end()
    try:
        member.channel.close(INTERNAL_ERROR, "")
    except Exception:
        logger.exception("a connection cannot be closed")
