"""Groups of subscriptions with equal events."""

from collections.abc import Callable
from typing import Any, Protocol

from wsnode.pubsub.event import Event, FinalNotice
from wsnode.pubsub.subscription import NEVER, Subscription


class EventPublisher(Protocol):
    """Brings events to the members of groups."""

    sequence: int
    """The number of the next event."""

    def publish(self, members: tuple[Subscription, ...], event: Event, before: Any) -> None:
        """Hand `event` to those of `members` that are still in their group when their turn comes."""
        ...

    def close(self, members: tuple[Subscription, ...], final_notice: FinalNotice) -> None:
        """Close the connections of those of `members` that are still in their group when their turn comes."""
        ...


class Group:
    """The live subscriptions of one kind, filter and form.

    A member gets the events that are published between its joining and its leaving, all of them in their
    order, or falls behind at the position after which it missed some.
    """

    def __init__(self, publisher: EventPublisher, on_empty: Callable[[], None] | None = None) -> None:
        """`on_empty` is called whenever the last member leaves."""
        self._publisher = publisher
        self._on_empty = on_empty
        self._members: dict[Subscription, None] = {}
        self._snapshot: tuple[Subscription, ...] | None = None

    def __len__(self) -> int:
        return len(self._members)

    def join(self, subscription: Subscription) -> None:
        """Add `subscription`, which gets the events from now on; it is in no other group."""
        assert subscription.group is None
        assert not subscription.ended
        self._members[subscription] = None
        self._snapshot = None
        subscription.group = self
        subscription.since = self._publisher.sequence

    def leave(self, subscription: Subscription) -> None:
        """Remove the member `subscription`, which gets no further event, not even ones published already."""
        del self._members[subscription]
        self._snapshot = None
        subscription.group = None
        subscription.since = NEVER
        if not self._members and self._on_empty is not None:
            self._on_empty()

    def publish(self, event: Event, before: Any) -> None:
        """Publish an event to the members; one without room leaves and falls behind at `before`."""
        if self._members:
            self._publisher.publish(self._everybody(), event, before)

    def close(self, final_notice: FinalNotice) -> None:
        """Close the connections of the members, after the events published before."""
        if self._members:
            self._publisher.close(self._everybody(), final_notice)

    def _everybody(self) -> tuple[Subscription, ...]:
        if self._snapshot is None:
            self._snapshot = tuple(self._members)
        return self._snapshot
