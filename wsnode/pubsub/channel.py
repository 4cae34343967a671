"""A connection as its subscriptions see it."""

from typing import TYPE_CHECKING, Any, Protocol

from wsnode.pubsub.event import Event

if TYPE_CHECKING:
    from wsnode.pubsub.subscription import Subscription
    from wsnode.pubsub.subscriptions import Subscriptions


class Channel(Protocol):
    """One client that can be told more than replies. Nothing waits, and nothing raises."""

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
        """Send `event` to `identity`, be there room or not: notices, and what a step tells."""
        ...

    def fall_behind(self, subscription: "Subscription", position: Any, missed: int) -> None:
        """Call `subscription.fall_behind` and do what else is due to a client that does not keep up."""
        ...

    def catch_up(self, subscription: "Subscription") -> None:
        """Call `subscription.take_step` while there is room, until it returns False or has ended.

        The subscriptions of one client take steps in turn, one at a time, so that they do not all take the
        same room. A step begins once the client has read so much that the next live event need not make it
        fall behind again.
        """
        ...

    def stop_catching_up(self, subscription: "Subscription") -> None:
        """Let `subscription` take no further step; it need not be catching up."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Say goodbye, behind all that was sent before."""
        ...
