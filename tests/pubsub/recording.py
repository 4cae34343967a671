"""A channel and a subscription that record the events they receive."""

from typing import Any

import trio

from wsnode.jsonrpc.resource_quota import ResourceQuota
from wsnode.pubsub.subscription import ConnectionSubscriptions, Event, Subscription


class Open:
    """Allows any number of subscriptions."""

    client = None

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.live_calls = ResourceQuota(1 << 40)

    def take(self, kind: str) -> None:
        self.taken.append(kind)

    def give_back(self, kind: str) -> None:
        self.taken.remove(kind)

    def charge(self, calls: int) -> None:
        pass


class RecordingChannel:
    """A client with room for `room` bytes, until `read` makes more; what it got is in `sent`."""

    def __init__(self, nursery: trio.Nursery | None = None, room: int = 1 << 40) -> None:
        self.sent: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self.quota = Open()
        self.subscriptions = ConnectionSubscriptions(self, self.quota)
        self._nursery = nursery
        self._limit = room
        self._waiting = 0
        self._room = trio.Event()
        self._turn = trio.Lock()

    @property
    def rpc_version(self) -> None:
        return None

    @property
    def is_full(self) -> bool:
        return self._waiting > self._limit

    def offer(self, identity: bytes, event: Event) -> bool:
        if self._waiting + event.size > self._limit:
            return False
        self.deliver(identity, event)
        return True

    def deliver(self, identity: bytes, event: Event) -> None:
        if self.closed is None:
            self.sent += [before + identity + after for before, after in event.messages]
            self._waiting += event.size

    def fall_behind(self, subscription: Subscription, position: Any, missed: int) -> None:
        subscription.fall_behind(position, missed)

    def catch_up(self, subscription: Subscription) -> None:
        assert self._nursery is not None
        self._nursery.start_soon(self._take_steps, subscription)

    def stop_catching_up(self, subscription: Subscription) -> None: ...

    async def _take_steps(self, subscription: Subscription) -> None:
        goes_on = True
        while goes_on and not subscription.ended:
            async with self._turn:
                while 2 * self._waiting > self._limit:
                    await self._room.wait()
                goes_on = not subscription.ended and await subscription.take_step()

    def close(self, code: int, reason: str) -> None:
        self.closed = self.closed or (code, reason)

    def read(self) -> list[bytes]:
        """Return what was sent since the last time, and make room for as much."""
        sent, self.sent = self.sent, []
        self._waiting = 0
        self._room.set()
        self._room = trio.Event()
        return sent

    def post_reply(self) -> None:
        """Do what follows the reply to a call."""
        self.subscriptions.release(self.subscriptions.take_pending())
