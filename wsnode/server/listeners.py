"""Kinds of listening sockets."""

import socket
from enum import IntEnum


class ListenerKind(IntEnum):
    """Kind of a listening socket; it decides what is served there."""

    CLIENTS = 0
    UNIX = 1
    """Path of the file system, whose clients are on this machine; not encrypted."""
    OPERATORS = 2
    """Operators' address, with their pages only; not encrypted."""


def listener_kind(listener: socket.socket) -> ListenerKind:
    """Return the kind of a clients' listening socket."""
    return ListenerKind.CLIENTS if listener.family in (socket.AF_INET, socket.AF_INET6) else ListenerKind.UNIX
