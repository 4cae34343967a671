"""Sockets on which a node listens."""

import logging
import socket
from pathlib import Path

from wsnode.node.config import Config
from wsnode.node.listen_address import ListenAddress
from wsnode.server.transport.sockets import open_tcp, open_unix

logger = logging.getLogger("wsnode.node")


def open_clients(config: Config) -> list[socket.socket]:
    """Return the sockets for clients: those of the TCP address, then the Unix socket if there is one.

    Raises:
        OSError: An address cannot be listened on.
    """
    listeners = open_tcp(config.address.host, config.address.port)
    if config.unix_socket is not None:
        listeners.append(open_unix(Path(config.unix_socket)))
    return listeners


def open_operators(address: ListenAddress | None) -> list[socket.socket]:
    """Return the sockets for operators, an empty list without an address.

    Raises:
        OSError: The address cannot be listened on.
    """
    if address is None:
        return []
    listeners = open_tcp(address.host, address.port)
    logger.info("metrics and health at http://%s", ListenAddress(address.host, listeners[0].getsockname()[1]))
    return listeners
