"""The server of a configuration, what runs beside it, and what another configuration changes of it."""

import logging
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from wsnode.node.addresses import Address
from wsnode.node.config import Config, ConfigurationError, FollowConfig, ReplicaConfig
from wsnode.node.rereading import read_again
from wsnode.server.access.directory import Network
from wsnode.server.access.keys import KeyFileRing
from wsnode.server.access.perimeter import OPEN, Perimeter, is_local_host
from wsnode.server.http.files import StaticFile
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.shared import Totals
from wsnode.server.transport.encrypted import read_certificate, tls_context
from wsnode.server.upkeep.background import keep_running
from wsnode.server.upkeep.logs import configure

logger = logging.getLogger("wsnode.node")

FOLLOWED = FollowConfig(("ws://localhost",))
"""Stands for any upstreams where those do not count."""
REPEATED = ReplicaConfig("redis://localhost")
"""Stands for any journal."""
RELOADED = ("limits", "log_level", "log_format", "tls_cert", "tls_key")
"""Settings that a running node reads again."""


def server_of(config: Config, networks: Sequence[Network], totals: Totals | None = None) -> Server:
    """Return the server of a node, or of one of its workers, which have `totals` together."""
    return Server(
        networks,
        config.limits,
        perimeter=_perimeter(config),
        operators=_operators_perimeter(config.metrics.address),
        closes_slow=config.slow_subscriber == "close",
        public_metrics=config.serves_metrics_to_clients,
        files=_files(config),
        processes=config.workers,
        totals=totals,
    )


def run_beside(networks: Sequence[Network], nursery: trio.Nursery) -> None:
    """Start what runs as long as the networks are served."""
    for network in networks:
        for work in network.background:
            nursery.start_soon(keep_running, work)
        if isinstance(network.keys, KeyFileRing):
            nursery.start_soon(keep_running, network.keys.watch)


class Running(NamedTuple):
    """The parts that a new configuration can change, and the configuration at the start."""

    config: Config
    server: Server
    networks: Sequence[Network]
    tls: ssl.SSLContext | None
    beside: Sequence[Server] = ()
    """What is served on ports of their own."""
    worker: int | None = None
    """The number of this worker, if the node has several."""


def reload(running: Running, reread: Callable[[], Config] | None) -> None:
    """Apply a new configuration; one that cannot be read changes nothing."""
    for network in running.networks:
        if isinstance(network.keys, KeyFileRing):
            network.keys.reload()
    if reread is None or (config := read_again(reread, partial(_renew_certificate, running.tls))) is None:
        return
    configure(config.log_level, config.log_format, worker=running.worker)
    running.server.apply(config.limits)
    for network in running.networks:
        if network.reload is not None and network.name in config.networks:
            network.reload(config.networks[network.name])
    for beside in running.beside:
        beside.apply(limits_beside(config))
    # One of several workers is enough to say it.
    if running.worker in (None, 1) and (waiting := needs_restart(running.config, config)):
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
        name: msgspec.structs.replace(
            network,
            follow=network.follow and FOLLOWED,
            replica=network.replica and _repeated(network.replica),
        )
        for name, network in config.networks.items()
    }


def _repeated(told: ReplicaConfig) -> ReplicaConfig:
    return msgspec.structs.replace(
        REPEATED,
        shared_rates=told.shared_rates,
        shared_filters=told.shared_filters,
        shared_pool=told.shared_pool,
        alt=told.alt,
        trust_roots=told.trust_roots,
    )


def _files(config: Config) -> dict[str, StaticFile]:
    """Return what browsers are served."""
    if not config.console:
        return {}
    from wsnode.console.files import Settings, console_files

    return console_files(Settings(keys=not config.open, metrics=config.serves_metrics_to_clients))


def limits_beside(config: Config) -> Limits:
    """Return the limits of the ports beside the clients' one: those of engines."""
    # A node without an engine starts sooner without the modules of payloads.
    from wsnode.node.growth.driving import engine_limits

    return engine_limits(config.limits)


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
