"""Asks the system which sockets have something to be read."""

import select
import selectors
from typing import Protocol

from wsnode._native.wire import waiting_events

ARRIVED = getattr(select, "EPOLLIN", 1)
"""Stands for bytes, and nothing else."""


class Poller(Protocol):
    """The watched sockets of one server, by their descriptors."""

    def fileno(self) -> int:
        """Return a descriptor that is readable while `ready_sockets` has something to return."""

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""

    def watch_again(self, descriptor: int) -> None:
        """Have `ready_sockets` return a watched socket once more if something of it is unread."""

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more."""

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return the sockets that have something, each with `ARRIVED` unless its end came too."""

    def close(self) -> None:
        """Watch nothing any more."""


class EpollPoller:
    """Linux's epoll, edge-triggered: what has been returned and is not read yet costs no later call anything.

    Ten thousand unread sockets would otherwise cost 10 ms in each call. The reader reads until a call returns
    less than was asked for (epoll(7), question 9), and to the end of the stream if that has arrived.
    """

    _EVENTS = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET if hasattr(select, "epoll") else 0

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self.fileno = self.epoll.fileno
        self.forget = self.epoll.unregister
        self.close = self.epoll.close

    def watch_host(self, epoll: int) -> None:
        """Begin to watch another epoll, which is returned as long as it has events."""
        self.epoll.register(epoll, select.EPOLLIN)

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""
        self.epoll.register(descriptor, self._EVENTS)

    def watch_again(self, descriptor: int) -> None:
        """Have `ready_sockets` return a watched socket once more if something of it is unread."""
        self.epoll.modify(descriptor, self._EVENTS)

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return the sockets with something new, each with its events; `ARRIVED` is that of bytes alone."""
        return waiting_events(self.fileno())


class SelectPoller:
    """Other systems: every socket with something unread is returned by each call."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.close = self._selector.close

    def fileno(self) -> int:
        """Return a descriptor that is readable while `ready_sockets` has something to return."""
        return int(self._selector.fileno())

    def watch(self, descriptor: int) -> None:
        """Begin to watch a socket."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_again(self, descriptor: int) -> None:
        """Do nothing: what is unread is returned anyway."""

    def forget(self, descriptor: int) -> None:
        """Watch a socket no more."""
        self._selector.unregister(descriptor)

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return the sockets with something unread; their ends come by themselves."""
        return [(key.fd, ARRIVED) for key, _ in self._selector.select(0)]


def new_poller() -> Poller:
    """Return this system's."""
    return EpollPoller() if hasattr(select, "epoll") else SelectPoller()
