"""Pollers: readiness of many sockets, asked of the system."""

import select
import selectors
from typing import Protocol

from wsnode._native.wire import waiting_events

ARRIVED = getattr(select, "EPOLLIN", 1)
"""Event of arrived bytes alone, without an end of the stream."""


class Poller(Protocol):
    """Watched sockets of one server, by descriptor."""

    def fileno(self) -> int:
        """Return a descriptor that is readable while `ready_sockets` has sockets to return."""

    def watch(self, descriptor: int) -> None: ...

    def watch_again(self, descriptor: int) -> None:
        """Have `ready_sockets` return a watched socket once more if it has unread bytes."""

    def forget(self, descriptor: int) -> None: ...

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return descriptor and events of each ready socket.

        The events are `ARRIVED` for bytes alone, others at the end of the stream.
        """

    def close(self) -> None: ...


class EpollPoller:
    """Linux's epoll, edge-triggered: unread bytes that were reported once are not reported again.

    Ten thousand unread sockets would otherwise cost 10 ms in each call. The reader reads until a call returns
    fewer bytes than it asked for (epoll(7), question 9), and to the end of the stream if that has arrived.
    """

    _EVENTS = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET if hasattr(select, "epoll") else 0

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self.fileno = self.epoll.fileno
        self.forget = self.epoll.unregister
        self.close = self.epoll.close

    def watch_host(self, epoll: int) -> None:
        """Begin to watch another epoll; it is reported for as long as it has events."""
        self.epoll.register(epoll, select.EPOLLIN)

    def watch(self, descriptor: int) -> None:
        self.epoll.register(descriptor, self._EVENTS)

    def watch_again(self, descriptor: int) -> None:
        self.epoll.modify(descriptor, self._EVENTS)

    def ready_sockets(self) -> list[tuple[int, int]]:
        return waiting_events(self.fileno())


class SelectPoller:
    """Poller of other systems: each call returns every socket with unread bytes."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.close = self._selector.close

    def fileno(self) -> int:
        return int(self._selector.fileno())

    def watch(self, descriptor: int) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ)

    def watch_again(self, descriptor: int) -> None:
        """Do nothing, since unread bytes are reported in any case."""

    def forget(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def ready_sockets(self) -> list[tuple[int, int]]:
        """Return each socket with unread bytes or an end; the events are always `ARRIVED`."""
        return [(key.fd, ARRIVED) for key, _ in self._selector.select(0)]


def new_poller() -> Poller:
    """Return epoll where the system has it, else a poller of `selectors`."""
    return EpollPoller() if hasattr(select, "epoll") else SelectPoller()
