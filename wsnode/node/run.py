"""Composition root: opens every network's chains, builds the server, and runs them in one nursery."""

import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from functools import partial

import trio

from wsnode.ethereum.state import LiveBytes
from wsnode.node.assembly import open_network
from wsnode.node.config import Config
from wsnode.node.listen_address import ListenAddress
from wsnode.node.listen_sockets import open_clients, open_operators
from wsnode.node.networks import Grow
from wsnode.node.running import (
    RunningNode,
    limits_beside,
    reload,
    run_beside,
    server_of,
    tls_of,
    warn_of_few_files,
)
from wsnode.node.signals import HELD, open_signals
from wsnode.server.accepting import serve
from wsnode.server.access.router import Network, Port
from wsnode.server.observability.logs import LogStream, configure
from wsnode.server.observability.open_files import raise_most_files
from wsnode.server.observability.supervisor import ShutdownWatchdog
from wsnode.server.scheduling.gc_policy import collect_garbage
from wsnode.server.server import RESTARTING, Server
from wsnode.server.transport.sockets import open_tcp

logger = logging.getLogger("wsnode.node")

Announce = Callable[[ListenAddress], None]


async def run(
    config: Config,
    announce: Announce,
    reread: Callable[[], Config] | None = None,
    *,
    grow: Grow | None = None,
    durable: bool = True,
    log_to: LogStream | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `announce` gets the address once connections are accepted.

    On SIGHUP the configuration from `reread` replaces the server's limits, the certificate and the log
    settings; keys are read again too. SIGUSR1 does nothing. Chains that `grow` are written too; `durable`
    ones survive a power failure. Log lines go `log_to` a stream, standard error if None.

    Raises:
        ConfigurationError, OSError, KeyFileError: The node cannot start.
    """
    collect_garbage()
    configure(config.log_level, config.log_format, log_to)
    raise_most_files()
    live_bytes = LiveBytes()
    with ExitStack() as stack:
        networks = [
            stack.enter_context(
                open_network(name, network, config, grow=grow, durable=durable, live_bytes=live_bytes)
            )
            for name, network in config.networks.items()
        ]
        await _serve(config, networks, announce, reread)


async def _serve(
    config: Config,
    networks: Sequence[Network],
    announce: Announce,
    reread: Callable[[], Config] | None,
) -> None:
    server, tls = server_of(config, networks), tls_of(config)
    warn_of_few_files(config, server)
    listeners, operators = open_clients(config), open_operators(config.metrics.address)
    ports = [_opened_port(port, config) for network in networks for port in network.ports]
    with (
        ShutdownWatchdog() as last_resort,
        open_signals() as signals,
    ):
        async with trio.open_nursery() as ending:
            async with trio.open_nursery() as nursery:
                run_beside(networks, nursery)
                await nursery.start(partial(serve, server, listeners, tls=tls, operators=operators))
                for beside, sockets in ports:
                    await nursery.start(serve, beside, sockets)
                announce(ListenAddress(config.address.host, listeners[0].getsockname()[1]))
                beside_it = [beside for beside, _sockets in ports]
                again = partial(reload, RunningNode(config, server, networks, tls, beside_it), reread)
                if await _obey(signals, again) == signal.SIGTERM:
                    server.final_notice = RESTARTING
                # Beyond the grace periods of calls and closes, no thread of the engine is awaited.
                last_resort.end_within(server.limits.ending_seconds + 1)
                ending.start_soon(_hurry, signals, server, last_resort)
                nursery.cancel_scope.cancel()
            ending.cancel_scope.cancel()


async def _obey(signals: AsyncIterator[int], reload: Callable[[], None]) -> int:
    """Return the number of the signal that ends the node; act on the others until then."""
    async for number in signals:
        if number == signal.SIGHUP:
            reload()
        elif number == signal.SIGUSR1:
            logger.warning("SIGUSR1 replaces workers, and this node has none")
        else:
            return number
    return signal.SIGTERM


async def _hurry(signals: AsyncIterator[int], server: Server, last_resort: ShutdownWatchdog) -> None:
    """End the node immediately on the next signal that ends it."""
    async for number in signals:
        if number not in HELD:
            server.hurry()
            last_resort.hurry()


def _opened_port(port: Port, config: Config) -> tuple[Server, list[socket.socket]]:
    server = Server([port.network], limits_beside(config), public_metrics=False)
    listeners = open_tcp(port.host, port.port)
    address = ListenAddress(port.host, listeners[0].getsockname()[1])
    logger.info("%s at http://%s and ws://%s", port.network.name, address, address)
    return server, listeners
