"""A connection as its subscriptions see it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

import trio

from wsnode.pubsub.event import Event

if TYPE_CHECKING:
    from wsnode.pubsub.subscription import Subscription
    from wsnode.pubsub.subscriptions import Subscriptions


class Channel(Protocol):
    """One client that can be told more than replies. Only `room` waits; nothing raises."""

    @property
    def subscriptions(self) -> "Subscriptions":
        """Return what the client has subscribed to here."""
        ...

    @property
    def is_full(self) -> bool:
        """Tell whether the client should read before it is given more."""
        ...

    def offer(self, identity: bytes, event: Event) -> bool:
        """Send `event` to the subscription `identity`, if there is room for all of it."""
        ...

    def deliver(self, identity: bytes, event: Event) -> None:
        """Send `event` to `identity`, be there room or not: notices, and within `room`."""
        ...

    def room(self) -> AbstractAsyncContextManager[None]:
        """Wait until the client has read so much that it can be given an event, and give it within.

        One subscription of the client at a time, in turn, so that they do not all take the same room. What
        is told next, live, need not fall behind at once.
        """
        ...

    def fall_behind(self, subscription: "Subscription", position: Any, missed: int) -> None:
        """Call `subscription.fall_behind` and do what else is due to a client that does not keep up."""
        ...

    def spawn(self, function: Callable[[], Awaitable[None]]) -> trio.CancelScope:
        """Run `function`, until the connection ends or the scope is cancelled."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Say goodbye, behind all that was sent before."""
        ...
