"""Listening sockets, TCP and Unix, their kinds, and accepting of their connections."""

import os
import socket
import stat
from collections.abc import Awaitable, Callable
from enum import IntEnum
from logging import Logger
from pathlib import Path
from typing import Any, Final

import trio

from wsnode.untrusted.repeated_warning import RepeatedWarning

BACKLOG: Final = 4096
ACCEPTS_AT_ONCE: Final = 8
"""Connections that are accepted before other tasks run."""
FAILURE_SECONDS: Final = 0.1
"""Seconds of pause after a connection could not be accepted."""


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


def open_tcp(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for every address of `host`; port 0 stands for a free port.

    Raises:
        OSError: An address cannot be listened on; the message names it.
    """
    listeners: list[socket.socket] = []
    try:
        for family, kind, _protocol, _name, address in socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            listener = socket.socket(family, kind)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listeners.append(_listen(listener, address))
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise _failure(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", error) from error
    return listeners


def open_unix(path: Path) -> socket.socket:
    """Return a listening Unix socket at `path`; a socket file without a listener is replaced.

    Raises:
        OSError: The path is in use, or is no socket; the message names it.
    """
    if path.exists() and stat.S_ISSOCK(os.stat(path).st_mode):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(str(path)) != 0:
                path.unlink()
    try:
        return _listen(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), str(path))
    except OSError as error:
        raise _failure(str(path), error) from error


async def accept_each(
    listener: socket.socket,
    take: Callable[[socket.socket, Any], Awaitable[None]],
    logger: Logger,
    on_failure: Callable[[], None],
) -> None:
    """Call `take` with each connection of a listening socket and its address, for ever.

    `on_failure` is called whenever a connection cannot be accepted, which is logged once a minute at most;
    the connection stays in the listener's queue.
    """
    failures = RepeatedWarning(logger, trio.current_time)
    while True:
        await trio.lowlevel.wait_readable(listener)
        for _ in range(ACCEPTS_AT_ONCE):
            try:
                connected, address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            except OSError as error:
                # Some failures are errors of the network or a lack of free descriptors (accept(2)): both
                # pass, so accepting goes on.
                failures.say("cannot accept: %s", error)
                on_failure()
                await trio.sleep(FAILURE_SECONDS)
                break
            await take(connected, address)


def _listen(listener: socket.socket, address: Any) -> socket.socket:
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _failure(address: str, error: OSError) -> OSError:
    return OSError(f"cannot listen on {address}: {error.strerror or error}")
