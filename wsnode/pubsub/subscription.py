"""Subscriptions: a single one, those of a connection, and the channel of its client."""

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Protocol

from wsnode.pubsub.event import INTERNAL_ERROR, Event

NEVER: Final = 1 << 62
"""The sequence number of no event."""

logger = logging.getLogger("wsnode.pubsub")


class EventChannel(Protocol):
    """The connection of one client that can receive notifications. Its methods neither wait nor raise."""

    @property
    def subscriptions(self) -> "ConnectionSubscriptions":
        """Return the client's subscriptions on this connection."""
        ...

    @property
    def rpc_version(self) -> str | None:
        """Return the version of a specification that the client's path ends in, None for the newest."""
        ...

    @property
    def is_full(self) -> bool:
        """Return whether the client should read before more is sent."""
        ...

    def offer(self, identity: bytes, event: Event) -> bool:
        """Send `event` to the subscription `identity`, if there is room for all of it."""
        ...

    def deliver(self, identity: bytes, event: Event) -> None:
        """Send `event` to `identity`, with room or without: notices, and the events of a step."""
        ...

    def fall_behind(self, subscription: "Subscription", position: Any, missed: int) -> None:
        """Call `subscription.fall_behind` and do what else is due to a client that does not keep up."""
        ...

    def catch_up(self, subscription: "Subscription") -> None:
        """Call `subscription.take_step` while there is room, until it returns False or has ended.

        The subscriptions of one client take steps in turn, one at a time, so that they do not all take the
        room twice. A step begins once the client has read enough that the next live event need not make it
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
    """The fan-out that delivers events to its members."""

    def leave(self, subscription: "Subscription", /) -> None:
        """Have `subscription`, a member, get nothing more."""
        ...


class Subscription(ABC):
    """A subscription from its creation to its end; each family of chains defines its events."""

    def __init__(self, kind: str, channel: EventChannel) -> None:
        """`kind` is the name by which such subscriptions are counted, as `newHeads`."""
        self.kind = kind
        self.channel = channel
        self.identity: Final = b"0x%b" % secrets.token_hex(16).encode()
        """Unguessable, and of one length for all."""
        self.begun = self.ended = False
        self.group: LiveGroup | None = None
        """The group whose events it gets, while it is live."""
        self.since = NEVER
        """The first event that it gets of those that are published."""

    @property
    def weight(self) -> int:
        """Return its constant count towards the bound of its chain."""
        return 0

    @property
    def values(self) -> int:
        """Return its constant count of values of the state, each of which may be sent again."""
        return 0

    @abstractmethod
    def begin(self) -> None:
        """Catch up and go live; called once, after the reply that names `identity`."""

    @abstractmethod
    def fall_behind(self, position: Any, missed: int) -> None:
        """Catch up: the client lacks `missed` notifications after `position`.

        It has left its group, and `position` is the `before` of the first missed event.
        """

    async def take_step(self) -> bool:
        """Send a part of the missed events; return False once no further step is needed.

        Called only after `channel.catch_up`.
        """
        return False

    @abstractmethod
    def final_notice(self) -> Event | None:
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


class SharedBound(Protocol):
    """A bound on what all clients hold together, of which each has a part."""

    limit: int

    def admits(self, client: Any, count: int = 1) -> bool:
        """Return whether `client` may hold `count` more."""
        ...

    def take(self, client: Any, count: int = 1) -> None:
        """Count `count` more for `client`, admitted or not."""
        ...

    def give_back(self, client: Any, count: int = 1) -> None:
        """Count `count` fewer for `client`."""
        ...


class SubscriptionQuota(Protocol):
    """The bound of open subscriptions."""

    @property
    def client(self) -> Any:
        """Return the connection, which counts towards bounds shared by all."""
        ...

    @property
    def live_calls(self) -> SharedBound:
        """Return the bound on the values that subscriptions of all connections watch."""
        ...

    def take(self, kind: str) -> None:
        """Count one more subscription; its error, if any, goes to the caller."""
        ...

    def give_back(self, kind: str) -> None:
        """Count one less."""
        ...

    def charge(self, calls: int) -> None:
        """Charge for calls that a subscription makes; the error, if any, goes to the caller."""
        ...


class ConnectionSubscriptions:
    """The open subscriptions of a connection, until `final_notice` or `end_all`."""

    __slots__ = ("_channel", "_leaving", "_open", "_pending", "_quota", "values", "weight")

    def __init__(self, channel: EventChannel, quota: SubscriptionQuota) -> None:
        self._channel = channel
        self._quota = quota
        self._open: dict[bytes, Subscription] = {}
        self._pending: list[Subscription] = []
        self._leaving = False
        self.weight = 0
        """The weight of all open subscriptions."""
        self.values = 0
        """The values of the state that all open subscriptions name."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def client(self) -> Any:
        """Return the connection, which counts towards bounds shared by all."""
        return self._quota.client

    @property
    def live_calls(self) -> SharedBound:
        """Return the bound on the values that subscriptions of all connections watch."""
        return self._quota.live_calls

    def charge(self, calls: int) -> None:
        """Charge for calls that a subscription makes, before it is opened.

        Raises:
            RpcError: That is beyond the rate of the client's key.
        """
        self._quota.charge(calls)

    def add(self, subscription: Subscription) -> None:
        """Open `subscription`; its `begin` is called after the reply to the call, or to the whole batch.

        Raises:
            RpcError: There are too many, or the node is about to stop.
        """
        self._quota.take(subscription.kind)
        self._open[subscription.identity] = subscription
        self.weight += subscription.weight
        self.values += subscription.values
        self._pending.append(subscription)

    def remove(self, identity: bytes) -> bool:
        """End the subscription `identity`; False if there is none."""
        if (subscription := self._open.pop(identity, None)) is None:
            return False
        self.weight -= subscription.weight
        self.values -= subscription.values
        self._quota.give_back(subscription.kind)
        subscription.end()
        return True

    def take_pending(self) -> list[Subscription]:
        """Return the subscriptions added since the last call; `release` them once the reply is posted."""
        pending_subscriptions, self._pending = self._pending, []
        return pending_subscriptions

    def release(self, pending_subscriptions: Sequence[Subscription]) -> None:
        """Begin the held subscriptions, or end them with the farewell that the others got meanwhile."""
        for subscription in pending_subscriptions:
            if subscription.ended:
                continue
            if self._leaving:
                self._dismiss(subscription)
            else:
                self._begin(subscription)

    def final_notice(self) -> None:
        """Send each subscription's last notice and end it; those that are still held get theirs later."""
        self._leaving = True
        for subscription in list(self._open.values()):
            if subscription.begun:
                self._dismiss(subscription)

    def end_all(self) -> None:
        """End the open subscriptions; the connection is gone."""
        for identity in list(self._open):
            self.remove(identity)
        self._pending.clear()

    def _begin(self, subscription: Subscription) -> None:
        subscription.begun = True
        try:
            subscription.begin()
        except Exception:
            logger.exception("a %s subscription does not begin", subscription.kind)
            self._channel.close(INTERNAL_ERROR, "")

    def _dismiss(self, subscription: Subscription) -> None:
        try:
            if (notice := subscription.final_notice()) is not None:
                subscription.deliver(notice)
        except Exception:
            logger.exception("a %s subscription has no last word", subscription.kind)
        self.remove(subscription.identity)
