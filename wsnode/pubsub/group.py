"""Groups of subscriptions with equal events."""

from collections.abc import Callable
from typing import Any, Protocol

from wsnode.pubsub.event import Event, FinalNotice
from wsnode.pubsub.subscription import NEVER, Subscription


class EventPublisher(Protocol):
    """Publisher of events to the members of groups."""

    sequence: int
    """Number of the next event."""

    def publish(self, members: tuple[Subscription, ...], event: Event, before: Any) -> None:
        """Hand `event` to each of `members` that is still in its group when it is reached."""
        ...

    def close(self, members: tuple[Subscription, ...], final_notice: FinalNotice) -> None:
        """Close the connection of each of `members` that is still in its group when it is reached."""
        ...


class Group:
    """Live subscriptions that share kind, filter and form, and therefore all events.

    From joining to leaving, a member gets every published event in order; if it misses one, it falls behind
    at the position before that event.
    """

    def __init__(self, publisher: EventPublisher, on_empty: Callable[[], None] | None = None) -> None:
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
        """Publish an event to the members; a member whose connection is full leaves and falls behind at
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
