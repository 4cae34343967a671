"""Asks the system which sockets have something to be read."""

import select
import selectors
from typing import Protocol

from wsnode._native.wire import waiting_events

ARRIVED = getattr(select, "EPOLLIN", 1)
"""Stands for bytes, and nothing else."""

MOST_AT_ONCE = 4096
"""The most events of one `epoll_wait`. With 1,023, which are Python's own, a client beside 19,000 others that
end waits for nineteen calls."""


class Polling(Protocol):
    """The watched sockets of one server, by their descriptors."""

    def fileno(self) -> int:
        """Return a descriptor that is readable while `arrivals` has something to return."""

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""

    def watch_again(self, descriptor: int) -> None:
        """Have `arrivals` return a watched socket once more if something of it is unread."""

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more."""

    def arrivals(self) -> list[tuple[int, int]]:
        """Return the sockets that have something, each with `ARRIVED` unless its end came too."""

    def close(self) -> None:
        """Watch nothing any more."""


class EdgePolling:
    """Linux's epoll, edge-triggered: what has been returned and is not read yet costs no later call anything.

    Ten thousand unread sockets would otherwise cost 10 ms in each call. The reader reads until a call returns
    less than was asked for (epoll(7), question 9), and to the end of the stream if that has arrived.
    """

    _EVENTS = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET if hasattr(select, "epoll") else 0

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.fileno = self._epoll.fileno
        self.forget = self._epoll.unregister
        self.close = self._epoll.close

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""
        self._epoll.register(descriptor, self._EVENTS)

    def watch_again(self, descriptor: int) -> None:
        """Have `arrivals` return a watched socket once more if something of it is unread."""
        self._epoll.modify(descriptor, self._EVENTS)

    def arrivals(self) -> list[tuple[int, int]]:
        """Return the sockets with something new, each with its events; `ARRIVED` is that of bytes alone."""
        return waiting_events(self.fileno(), MOST_AT_ONCE)


class LevelPolling:
    """Other systems: every socket with something unread is returned by each call."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.close = self._selector.close

    def fileno(self) -> int:
        """Return a descriptor that is readable while `arrivals` has something to return."""
        return int(self._selector.fileno())

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_again(self, descriptor: int) -> None:
        """Do nothing: what is unread is returned anyway."""

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more."""
        self._selector.unregister(descriptor)

    def arrivals(self) -> list[tuple[int, int]]:
        """Return the sockets with something unread; their ends come by themselves."""
        return [(key.fd, ARRIVED) for key, _ in self._selector.select(0)]


def new_polling() -> Polling:
    """Return this system's."""
    return EdgePolling() if hasattr(select, "epoll") else LevelPolling()
