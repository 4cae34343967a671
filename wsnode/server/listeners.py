"""The kinds of listening sockets."""

import socket
from enum import IntEnum


class ListenerKind(IntEnum):
    """The kinds of listening sockets: they decide what a connection is served."""

    CLIENTS = 0
    UNIX = 1
    """A path of the file system, whose clients are on this machine; nothing is encrypted."""
    OPERATORS = 2
    """The operators' address, with their pages alone, unencrypted."""


def listener_kind(listener: socket.socket) -> ListenerKind:
    """Return the door of a clients' listening socket."""
    return ListenerKind.CLIENTS if listener.family in (socket.AF_INET, socket.AF_INET6) else ListenerKind.UNIX
