"""Subscriptions: a single one, all of one connection, and the channel to their client."""

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

IDENTITY_BYTES = 34
"""Length of every id, `0x` and 32 hex digits: so an event's frames have one length for all receivers."""
PART_BYTES = 128 * 1024
"""Maximum bytes of an event; a publisher splits a larger one into several, each with the position before it.
"""
INTERNAL_ERROR = 1011
"""Close code after a bug of the node (RFC 6455, section 7.4.1)."""
NEVER: Final = 1 << 62
"""Sequence number above that of every event."""

logger = logging.getLogger("wsnode.pubsub")


class FinalNotice(NamedTuple):
    """Close code and reason for a client's connection (RFC 6455, section 7.4)."""

    code: int
    reason: str


class Event:
    """One or more notifications, encoded once for all receivers."""

    __slots__ = ("encoded", "messages", "size")

    def __init__(self, messages: Sequence[tuple[bytes, bytes]]) -> None:
        self.messages = messages
        """JSON text before and after the subscription's id, for each notification."""
        self.encoded: dict[Any, Any] = {}
        """Encodings cached by transports, each under a key of its own."""
        text = sum(len(before) + len(after) for before, after in messages)
        self.size = text + IDENTITY_BYTES * len(messages)
        """Bytes of all notifications, uncompressed and without frame headers."""


class EventChannel(Protocol):
    """Connection of one client to which its subscriptions send notifications; `SocketChannel` implements it.
    Its methods neither wait nor raise.
    """

    @property
    def subscriptions(self) -> "ConnectionSubscriptions": ...

    @property
    def rpc_version(self) -> str | None:
        """Return the specification's version at the end of the client's path, None for the newest."""
        ...

    @property
    def is_full(self) -> bool:
        """Return True if the client has to read before more is sent."""
        ...

    def offer(self, identity: bytes, event: Event) -> bool:
        """Send `event` to the subscription `identity` and return True; return False without room for it."""
        ...

    def deliver(self, identity: bytes, event: Event) -> None:
        """Send `event` to `identity` even without room: notices, and events that a client missed."""
        ...

    def fall_behind(self, subscription: "Subscription", position: Any, missed: int) -> None:
        """Call `subscription.fall_behind`, and apply the connection's rule for clients that fall behind."""
        ...

    def catch_up(self, subscription: "Subscription") -> None:
        """Call `subscription.take_step` while there is room, until it returns False or the subscription has
        ended.

        Subscriptions of one client take steps in turn, one at a time. A step begins once the client has read
        enough that the next live event finds room.
        """
        ...

    def stop_catching_up(self, subscription: "Subscription") -> None:
        """Stop calling `subscription.take_step`, if it is being called."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Close the connection with this code and reason, after everything that was sent before."""
        ...


class LiveGroup(Protocol):
    """Group that delivers events to its member subscriptions, as a member sees it; `Group` implements it."""

    def leave(self, subscription: "Subscription", /) -> None: ...


class Subscription(ABC):
    """A subscription from its creation to its end; each family of chains defines its events."""

    def __init__(self, kind: str, channel: EventChannel) -> None:
        """Make a subscription that has not begun; `kind`, such as `newHeads`, names its metric."""
        self.kind = kind
        self.channel = channel
        self.identity: Final = b"0x%b" % secrets.token_hex(16).encode()
        """Random id, `0x` and 32 hex digits."""
        self.begun = self.ended = False
        self.group: LiveGroup | None = None
        """Group whose events the subscription gets, None unless it is live."""
        self.since = NEVER
        """Sequence number of the first published event for this subscription; `NEVER` outside a group."""

    @property
    def weight(self) -> int:
        """Return the constant number of parameters that count towards the connection's bound."""
        return 0

    @property
    def values(self) -> int:
        """Return the constant number of values of the state that are watched."""
        return 0

    @abstractmethod
    def begin(self) -> None:
        """Send the missed events and join the group; called once, after the reply with `identity`."""

    @abstractmethod
    def fall_behind(self, position: Any, missed: int) -> None:
        """Begin to send what the client missed: `missed` notifications, the first of them right after
        `position`.

        The subscription has left its group. `channel.catch_up` then calls `take_step`.
        """

    async def take_step(self) -> bool:
        """Send a part of the missed events; return False if it was the last one."""
        return False

    @abstractmethod
    def final_notice(self) -> Event | None:
        """Return the notification that ends the subscription when the node stops; None if the client wants
        none.
        """

    def deliver(self, event: Event) -> None:
        if not self.ended:
            self.channel.deliver(self.identity, event)

    def end(self) -> None:
        """Stop all deliveries and leave the group; may be called again."""
        self.ended = True
        self.channel.stop_catching_up(self)
        if self.group is not None:
            self.group.leave(self)


class SharedBound(Protocol):
    """Limit on a count that all clients share, such as watched values, with a maximum for each client;
    `ResourceQuota` implements it.
    """

    limit: int

    def admits(self, client: Any, count: int = 1) -> bool: ...

    def take(self, client: Any, count: int = 1) -> None:
        """Count `count` more as held by `client`, even beyond the bound; `admits` says first if they fit."""
        ...

    def give_back(self, client: Any, count: int = 1) -> None: ...


class SubscriptionQuota(Protocol):
    """Limits on the subscriptions of one connection, those of its key and of the process included;
    `ClientQuota` implements it.
    """

    @property
    def client(self) -> Any:
        """Return the connection, the holder of its part of shared bounds."""
        ...

    @property
    def live_calls(self) -> SharedBound:
        """Return the bound on the values that subscriptions of all connections watch."""
        ...

    def take(self, kind: str) -> None:
        """Count one more subscription of this kind; raises if the bound is reached."""
        ...

    def give_back(self, kind: str) -> None: ...

    def charge(self, calls: int) -> None:
        """Charge the client for calls of a subscription; raises beyond the client's rate."""
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
        """Total weight of the open subscriptions."""
        self.values = 0
        """Number of values of the state that the open subscriptions watch."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def client(self) -> Any:
        return self._quota.client

    @property
    def live_calls(self) -> SharedBound:
        return self._quota.live_calls

    def charge(self, calls: int) -> None:
        """Charge the client for calls of a subscription that is not open yet.

        Raises:
            RpcError: The calls exceed the rate of the client's key.
        """
        self._quota.charge(calls)

    def add(self, subscription: Subscription) -> None:
        """Open `subscription`; it begins by `release`, after the reply with its id.

        Raises:
            RpcError: Too many subscriptions are open, or the node is about to stop.
        """
        self._quota.take(subscription.kind)
        self._open[subscription.identity] = subscription
        self.weight += subscription.weight
        self.values += subscription.values
        self._pending.append(subscription)

    def remove(self, identity: bytes) -> bool:
        """End the subscription `identity` and return True; return False if none is open."""
        if (subscription := self._open.pop(identity, None)) is None:
            return False
        self.weight -= subscription.weight
        self.values -= subscription.values
        self._quota.give_back(subscription.kind)
        subscription.end()
        return True

    def take_pending(self) -> list[Subscription]:
        """Return the subscriptions added since the last call, for `release` after their replies."""
        pending_subscriptions, self._pending = self._pending, []
        return pending_subscriptions

    def release(self, pending_subscriptions: Sequence[Subscription]) -> None:
        """Begin subscriptions whose replies are posted; send their last notifications instead if the node
        stops.
        """
        for subscription in pending_subscriptions:
            if subscription.ended:
                continue
            if self._leaving:
                self._dismiss(subscription)
            else:
                self._begin(subscription)

    def final_notice(self) -> None:
        """Send each begun subscription its last notification and end it; `release` does so for the others."""
        self._leaving = True
        for subscription in list(self._open.values()):
            if subscription.begun:
                self._dismiss(subscription)

    def end_all(self) -> None:
        """End all open subscriptions, after the connection is lost."""
        for identity in list(self._open):
            self.remove(identity)
        self._pending.clear()

    def _begin(self, subscription: Subscription) -> None:
        subscription.begun = True
        try:
            subscription.begin()
        except Exception:
            logger.exception("a %s subscription cannot begin; its connection is closed", subscription.kind)
            self._channel.close(INTERNAL_ERROR, "")

    def _dismiss(self, subscription: Subscription) -> None:
        try:
            if (notice := subscription.final_notice()) is not None:
                subscription.deliver(notice)
        except Exception:
            logger.exception("the last notification of a %s subscription cannot be sent", subscription.kind)
        self.remove(subscription.identity)
