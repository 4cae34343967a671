"""A feed of numbers, published one by one, and replayed to subscriptions that fall behind."""

from typing import Any

import msgspec
import trio

from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.pubsub.fan_out import FanOut, Group
from wsnode.pubsub.subscription import Event, EventChannel, Subscription


class Start(msgspec.Struct, array_like=True, frozen=True):
    """Where a subscription begins: at a number, or with the next one."""

    position: int | None = None


class Identity(msgspec.Struct, array_like=True, frozen=True):
    identity: str


class Amount(msgspec.Struct, array_like=True, frozen=True):
    count: int
    size: int = 0


class Feed:
    """The numbers so far, each as an event."""

    def __init__(self) -> None:
        self.fan_out = FanOut()
        self.group = Group(self.fan_out)
        self.events: list[Event] = []
        self.broken = ""
        """What subscriptions have a bug in."""

    def publish(self, count: int, size: int = 0) -> None:
        for _ in range(count):
            position = len(self.events)
            result = b'"number":%d,"filling":"%b"}' % (position, b"0" * size)
            self.events.append(Event([(b'{"subscription":"', b'",' + result)]))
            self.group.publish(self.events[-1], before=position)

    def register(self, methods: Registry) -> None:
        @methods.method("subscribe", channel=True)
        def subscribe(channel: EventChannel, params: Start) -> str:
            follower = Numbers(channel, self, params.position)
            channel.subscriptions.add(follower)
            return follower.identity.decode()

        @methods.method("unsubscribe", channel=True)
        def unsubscribe(channel: EventChannel, params: Identity) -> bool:
            if not channel.subscriptions.remove(params.identity.encode()):
                raise server_error("subscription not found")
            return True

        @methods.method("publish", view=False)
        def publish(params: Amount) -> int:
            self.publish(min(params.count, 100), min(params.size, 5000))
            return len(self.events)


class Numbers(Subscription):
    """All numbers from a position on, each once and in order; falling behind sends a notice and a replay."""

    def __init__(self, channel: EventChannel, feed: Feed, position: int | None) -> None:
        super().__init__("numbers", channel)
        self._feed = feed
        self._position = position

    def begin(self) -> None:
        if self._position is None:
            self._position = len(self._feed.events)
        self._catch_up_or_join()

    def fall_behind(self, position: Any, missed: int) -> None:
        self._position = position
        self.deliver(notice(behind=position, missed=missed))
        self._catch_up_or_join()

    def final_notice(self) -> Event:
        if self._position is None or self.group is not None:
            self._position = len(self._feed.events)
        return notice(position=self._position)

    def _catch_up_or_join(self) -> None:
        if self._position == len(self._feed.events):
            self._feed.group.join(self)
        else:
            self.channel.catch_up(self)

    async def take_step(self) -> bool:
        assert self._position is not None
        if self._feed.broken:
            raise KeyError(self._feed.broken)
        await trio.lowlevel.checkpoint()
        if self.ended:
            return False
        self.deliver(self._feed.events[self._position])
        self._position += 1
        if self._position < len(self._feed.events):
            return True
        self._feed.group.join(self)
        return False


def notice(**members: Any) -> Event:
    return Event([(b'{"subscription":"', b'",' + msgspec.json.encode(members)[1:])])
