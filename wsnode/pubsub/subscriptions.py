"""The subscriptions of one connection, each begun once its reply is on the way."""

import logging
from collections.abc import Sequence
from typing import Protocol

from wsnode.pubsub.channel import Channel
from wsnode.pubsub.subscription import Subscription

INTERNAL_ERROR = 1011

logger = logging.getLogger("wsnode.pubsub")


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
