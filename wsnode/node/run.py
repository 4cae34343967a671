"""The composition root: opens every network's chains, builds the server, and runs them in one nursery."""

import logging
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from wsnode.node.addresses import Address
from wsnode.node.config import Config, ConfigurationError, FollowConfig
from wsnode.node.networks import Grow, open_network
from wsnode.server.accepting import serve
from wsnode.server.access.directory import Network, Port
from wsnode.server.access.keys import KeyFileRing
from wsnode.server.access.perimeter import OPEN, Perimeter, is_local_host
from wsnode.server.http.files import StaticFile
from wsnode.server.limits import Limits
from wsnode.server.server import RESTARTING, Server
from wsnode.server.transport.encrypted import read_certificate, tls_context
from wsnode.server.transport.sockets import open_tcp, open_unix
from wsnode.server.upkeep.allocator import give_back_freed_memory, keep_freed_memory
from wsnode.server.upkeep.background import keep_running, log_failure
from wsnode.server.upkeep.last_resort import LastResort
from wsnode.server.upkeep.logs import Stream, configure

logger = logging.getLogger("wsnode.node")

HURRY_SECONDS = 0.9
"""The time that a second signal leaves to threads that run."""
FOLLOWED = FollowConfig(("ws://localhost",))
"""Stands for any upstreams where those do not count."""
RELOADED = ("limits", "log_level", "log_format", "tls_cert", "tls_key")
"""Settings that a running node reads again."""

Announce = Callable[[Address], None]


async def run(
    config: Config,
    announce: Announce,
    reread: Callable[[], Config] | None = None,
    *,
    grow: Grow | None = None,
    durable: bool = True,
    log_to: Stream | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `announce` gets the address once connections are accepted.

    On SIGHUP the configuration from `reread` replaces the server's limits, the certificate and the log
    settings; keys are read again too. Chains that `grow` are written too; `durable` ones survive a power
    failure.
    Log lines go `log_to` a stream, standard error if None.

    Raises:
        ConfigurationError, OSError, KeyFileError: The node cannot start.
    """
    configure(config.log_level, config.log_format, log_to)
    keep_freed_memory()
    with ExitStack() as stack:
        networks = [
            stack.enter_context(open_network(name, network, config, grow=grow, durable=durable))
            for name, network in config.networks.items()
        ]
        await _serve(config, networks, announce, reread)


async def _serve(
    config: Config,
    networks: Sequence[Network],
    announce: Announce,
    reread: Callable[[], Config] | None,
) -> None:
    slow = config.slow_subscriber == "close"
    server = Server(
        networks,
        config.limits,
        perimeter=_perimeter(config),
        operators=_operators_perimeter(config.metrics.address),
        closes_slow=slow,
        public_metrics=config.serves_metrics_to_clients,
        files=_files(config),
    )
    tls = tls_of(config)
    listeners, operators = _listeners(config), _operators(config.metrics.address)
    ports = [_opened_port(port, config) for network in networks for port in network.ports]
    with (
        LastResort() as last_resort,
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals,
    ):
        async with trio.open_nursery() as ending:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(keep_running, give_back_freed_memory)
                for network in networks:
                    for work in network.background:
                        nursery.start_soon(keep_running, work)
                    if isinstance(network.keys, KeyFileRing):
                        nursery.start_soon(keep_running, network.keys.watch)
                await nursery.start(partial(serve, server, listeners, tls=tls, operators=operators))
                for beside, sockets in ports:
                    await nursery.start(serve, beside, sockets)
                announce(Address(config.address.host, listeners[0].getsockname()[1]))
                beside_it = [beside for beside, _sockets in ports]
                again = partial(reload, Running(config, server, networks, tls, beside_it), reread)
                if await _obey(signals, again) == signal.SIGTERM:
                    server.farewell = RESTARTING
                # Beyond the grace periods of calls and closes, no thread of the engine is awaited.
                last_resort.end_within(server.limits.grace_seconds + 2 * server.limits.close_seconds + 1)
                ending.start_soon(_hurry, signals, server, last_resort)
                nursery.cancel_scope.cancel()
            ending.cancel_scope.cancel()


async def _obey(signals: AsyncIterator[int], reload: Callable[[], None]) -> int:
    """Return the signal that ends the node."""
    async for number in signals:
        if number != signal.SIGHUP:
            return number
        reload()
    return signal.SIGTERM


async def _hurry(signals: AsyncIterator[int], server: Server, last_resort: LastResort) -> None:
    """Have the next signal that ends the node end it at once."""
    async for number in signals:
        if number != signal.SIGHUP:
            server.hurry()
            last_resort.end_within(HURRY_SECONDS)


class Running(NamedTuple):
    """The parts that a new configuration can change, and the configuration at the start."""

    config: Config
    server: Server
    networks: Sequence[Network]
    tls: ssl.SSLContext | None
    beside: Sequence[Server] = ()
    """What is served on ports of their own."""


def reload(running: Running, reread: Callable[[], Config] | None) -> None:
    """Apply a new configuration; one that cannot be read changes nothing."""
    for network in running.networks:
        if isinstance(network.keys, KeyFileRing):
            network.keys.reload()
    if reread is None:
        return
    try:
        config = reread()
        _renew_certificate(running.tls, config)
    except (ConfigurationError, OSError) as error:
        logger.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no bug of ours
        return
    except Exception as error:
        log_failure("the configuration stays as it was", error)
        return
    configure(config.log_level, config.log_format)
    running.server.apply(config.limits)
    for network in running.networks:
        if network.reload is not None and network.name in config.networks:
            network.reload(config.networks[network.name])
    for beside in running.beside:
        beside.apply(_limits_beside(config))
    if waiting := needs_restart(running.config, config):
        logger.warning("in force only after a restart: %s", ", ".join(waiting))


def _renew_certificate(tls: ssl.SSLContext | None, config: Config) -> None:
    if tls is not None and config.tls_cert is not None and config.tls_key is not None:
        certificate, key = Path(config.tls_cert), Path(config.tls_key)
        # A context keeps the certificate of a pair whose key it refuses, so one of its own tries them first.
        tls_context(certificate, key)
        read_certificate(tls, certificate, key)


def needs_restart(old: Config, new: Config) -> list[str]:
    """Return the settings that differ and that a running node cannot change."""
    return [
        name
        for name in Config.__struct_fields__
        if name not in RELOADED and _lasting(old, name) != _lasting(new, name)
    ]


def _lasting(config: Config, name: str) -> Any:
    """Return a setting without the parts of it that a running node reads again."""
    if name != "networks":
        return getattr(config, name)
    return {
        name: network if network.follow is None else msgspec.structs.replace(network, follow=FOLLOWED)
        for name, network in config.networks.items()
    }


def _listeners(config: Config) -> list[socket.socket]:
    listeners = open_tcp(config.address.host, config.address.port)
    if config.unix_socket is not None:
        listeners.append(open_unix(Path(config.unix_socket)))
    return listeners


def _operators(address: Address | None) -> list[socket.socket]:
    if address is None:
        return []
    listeners = open_tcp(address.host, address.port)
    logger.info("metrics and health at http://%s", Address(address.host, listeners[0].getsockname()[1]))
    return listeners


def _files(config: Config) -> dict[str, StaticFile]:
    """Return what browsers are served."""
    if not config.console:
        return {}
    from wsnode.console.files import Settings, console_files

    return console_files(Settings(keys=not config.open, metrics=config.serves_metrics_to_clients))


def _limits_beside(config: Config) -> Limits:
    """Return the limits of the ports beside the clients' one: those of engines."""
    # A node without an engine starts sooner without the modules of payloads.
    from wsnode.node.driving import engine_limits

    return engine_limits(config.limits)


def _opened_port(port: Port, config: Config) -> tuple[Server, list[socket.socket]]:
    server = Server([port.network], _limits_beside(config), public_metrics=False)
    listeners = open_tcp(port.host, port.port)
    address = Address(port.host, listeners[0].getsockname()[1])
    logger.info("%s at http://%s and ws://%s", port.network.name, address, address)
    return server, listeners


def _perimeter(config: Config) -> Perimeter:
    if not config.is_private:
        return Perimeter.of_origins(config.origins)
    hosts = [host for network in config.networks.values() for host in network.hosts]
    return Perimeter.local(hosts, config.origins)


def _operators_perimeter(address: Address | None) -> Perimeter:
    return OPEN if address is None or not is_local_host(address.host) else Perimeter.local((), ())


def tls_of(config: Config) -> ssl.SSLContext | None:
    """Return the context of the named certificate and key, None if none are named.

    Raises:
        ConfigurationError: They cannot be read, or do not belong together.
    """
    if config.tls_cert is None or config.tls_key is None:
        return None
    try:
        return tls_context(Path(config.tls_cert), Path(config.tls_key))
    except OSError as error:
        raise ConfigurationError(f"tls_cert {config.tls_cert}, tls_key {config.tls_key}: {error}") from error
