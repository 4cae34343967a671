"""The composition root: opens every network's chains, builds the server, and runs them in one nursery."""

import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack

import trio

from wsnode.config import Address, Config
from wsnode.networks import open_network
from wsnode.server.listener import Server, open_tcp, serve
from wsnode.server.network import Network


async def run(config: Config, announce: Callable[[Address], None]) -> None:
    """Serve until SIGINT or SIGTERM; `announce` is told the address once connections are accepted.

    Raises:
        ConfigurationError, OSError: The node cannot start.
    """
    with ExitStack() as stack:
        networks = [
            stack.enter_context(open_network(name, network, config.call_limits))
            for name, network in config.networks.items()
        ]
        await serve_networks(config, networks, announce)


async def serve_networks(
    config: Config, networks: list[Network], announce: Callable[[Address], None]
) -> None:
    """Serve networks that are open already, until SIGINT or SIGTERM."""
    listeners = open_tcp(config.address.host, config.address.port)
    server = Server(networks, config.limits, keys=None if config.open else NoKeys())
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, server, listeners)
            announce(_bound(config.address, listeners[0]))
            async for _signal in signals:
                nursery.cancel_scope.cancel()


def _bound(asked: Address, listener: socket.socket) -> Address:
    port: int = listener.getsockname()[1]
    return Address(asked.host, port)


class NoKeys:
    """A key ring without a key."""

    def lookup(self, key: str) -> str | None:
        """Return nothing."""
        return None
