"""A subscription to numbered events, which writes down what becomes of it."""

from typing import Any

from wsnode.pubsub.fan_out import Group
from wsnode.pubsub.subscription import Event, EventChannel, Subscription


def numbered(number: int, size: int = 0) -> Event:
    """Return an event with one notification of `number`, about `size` bytes larger than need be."""
    return Event([(b'{"to":"', b'","number":%d%b}' % (number, b" " * size))])


def last_word() -> Event:
    return Event([(b'{"to":"', b'","last":true}')])


class Follower(Subscription):
    """Joins its group when it begins, and stays out of it once it has fallen behind."""

    def __init__(self, channel: EventChannel, group: Group, kind: str = "numbers") -> None:
        super().__init__(kind, channel)
        self.target = group
        self.missed: list[tuple[Any, int]] = []
        """Where it has fallen behind, and by how much."""

    def begin(self) -> None:
        self.target.join(self)

    def fall_behind(self, position: Any, missed: int) -> None:
        assert self.group is None
        self.missed.append((position, missed))

    def final_notice(self) -> Event | None:
        return last_word()


class Faulty(Follower):
    """Has a bug wherever it can."""

    def begin(self) -> None:
        raise KeyError("begin")

    def fall_behind(self, position: Any, missed: int) -> None:
        raise KeyError("fall_behind")

    def final_notice(self) -> Event | None:
        raise KeyError("final_notice")
