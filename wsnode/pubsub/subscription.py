"""What one client has asked to be told about."""

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from wsnode.pubsub.channel import Channel
from wsnode.pubsub.event import Event

if TYPE_CHECKING:
    from wsnode.pubsub.group import Group

NEVER: Final = 1 << 62
"""The sequence number of no event."""


class Subscription(ABC):
    """A subscription from the call that made it to its end; chains say what it is about."""

    def __init__(self, kind: str, channel: Channel) -> None:
        """`kind` is the name by which such subscriptions are counted, as `newHeads`."""
        self.kind = kind
        self.channel = channel
        self.identity: Final = b"0x%b" % secrets.token_hex(16).encode()
        """Cannot be guessed, and is the same length for all."""
        self.begun = self.ended = False
        self.group: Group | None = None
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
