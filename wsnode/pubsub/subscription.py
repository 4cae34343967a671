"""What a client has asked to be told about: each subscription, those of a connection, and its channel."""

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Protocol

from wsnode.pubsub.event import INTERNAL_ERROR, Event

NEVER: Final = 1 << 62
"""The sequence number of no event."""

logger = logging.getLogger("wsnode.pubsub")


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


class LiveGroup(Protocol):
    """What brings events to its members."""

    def leave(self, subscription: "Subscription", /) -> None:
        """Have `subscription`, a member, get nothing more."""
        ...


class Subscription(ABC):
    """A subscription from the call that made it to its end; chains say what it is about."""

    def __init__(self, kind: str, channel: Channel) -> None:
        """`kind` is the name by which such subscriptions are counted, as `newHeads`."""
        self.kind = kind
        self.channel = channel
        self.identity: Final = b"0x%b" % secrets.token_hex(16).encode()
        """Cannot be guessed, and is the same length for all."""
        self.begun = self.ended = False
        self.group: LiveGroup | None = None
        """The group whose events it gets, while it is live."""
        self.since = NEVER
        """The first event that it gets of those that are published."""

    @property
    def weight(self) -> int:
        """Return how much it holds of what its chain bounds; always the same."""
        return 0

    @abstractmethod
    def begin(self) -> None:
        """Catch up and go live; called once, after the reply that names `identity`."""

    @abstractmethod
    def fall_behind(self, position: Any, missed: int) -> None:
        """Catch up: the client was not sent `missed` notifications behind `position`.

        It has left its group, and `position` is what was published as `before`.
        """

    async def take_step(self) -> bool:
        """Tell the client a part of what it missed; False once it needs no further step.

        Called only after `channel.catch_up`.
        """
        return False

    @abstractmethod
    def farewell(self) -> Event | None:
        """Return the notice for a client whose node is about to stop; it has got all that was published.

        None for a client that did not ask for notices.
        """

    def deliver(self, event: Event) -> None:
        """Send `event`, unless the subscription has ended."""
        if not self.ended:
            self.channel.deliver(self.identity, event)

    def end(self) -> None:
        """Get nothing more; may be called again."""
        self.ended = True
        self.channel.stop_catching_up(self)
        if self.group is not None:
            self.group.leave(self)


class Allowance(Protocol):
    """How many subscriptions there may be."""

    def take(self, kind: str) -> None:
        """Count one more; what it raises instead is what the caller is told."""
        ...

    def give_back(self, kind: str) -> None:
        """Count one less."""
        ...


class Subscriptions:
    """What is open on a connection. `farewell` or `end_all` is the last thing that it is told."""

    __slots__ = ("_allowance", "_channel", "_held", "_leaving", "_open", "weight")

    def __init__(self, channel: Channel, allowance: Allowance) -> None:
        self._channel = channel
        self._allowance = allowance
        self._open: dict[bytes, Subscription] = {}
        self._held: list[Subscription] = []
        self._leaving = False
        self.weight = 0
        """What all that is open weighs."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, subscription: Subscription) -> None:
        """Open `subscription`; its `begin` is called after the reply to the call, or to the whole batch.

        Raises:
            RpcError: There are too many, or the node is about to stop.
        """
        self._allowance.take(subscription.kind)
        self._open[subscription.identity] = subscription
        self.weight += subscription.weight
        self._held.append(subscription)

    def remove(self, identity: bytes) -> bool:
        """End the subscription `identity`; False if there is none."""
        if (subscription := self._open.pop(identity, None)) is None:
            return False
        self.weight -= subscription.weight
        self._allowance.give_back(subscription.kind)
        subscription.end()
        return True

    def take_held(self) -> list[Subscription]:
        """Return what was added since this was last called: `release` it once the reply has been posted."""
        held, self._held = self._held, []
        return held

    def release(self, held: Sequence[Subscription]) -> None:
        """Begin what was held, or say goodbye to it if that was said to the others meanwhile."""
        for subscription in held:
            if subscription.ended:
                continue
            if self._leaving:
                self._dismiss(subscription)
            else:
                self._begin(subscription)

    def farewell(self) -> None:
        """Send each subscription's last notice and end it; those that are still held get theirs later."""
        self._leaving = True
        for subscription in list(self._open.values()):
            if subscription.begun:
                self._dismiss(subscription)

    def end_all(self) -> None:
        """End what is open; the connection is gone."""
        for identity in list(self._open):
            self.remove(identity)
        self._held.clear()

    def _begin(self, subscription: Subscription) -> None:
        subscription.begun = True
        try:
            subscription.begin()
        except Exception:
            logger.exception("a %s subscription does not begin", subscription.kind)
            self._channel.close(INTERNAL_ERROR, "")

    def _dismiss(self, subscription: Subscription) -> None:
        try:
            if (notice := subscription.farewell()) is not None:
                subscription.deliver(notice)
        except Exception:
            logger.exception("a %s subscription has no last word", subscription.kind)
        self.remove(subscription.identity)
