"""Server of a configuration, its background tasks, and the effect of another configuration on it."""

import logging
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from wsnode.node.config import (
    Config,
    ConfigurationError,
    FollowConfig,
    ReplicaConfig,
)
from wsnode.node.config_line import read_again
from wsnode.node.listen_address import ListenAddress
from wsnode.server.access.keys import KeyFileStore
from wsnode.server.access.origin_policy import OPEN, OriginPolicy, is_local_host
from wsnode.server.access.router import Network
from wsnode.server.http.responses import StaticFile
from wsnode.server.limits import Limits
from wsnode.server.observability.logs import configure
from wsnode.server.observability.open_files import count_free_files, most_files
from wsnode.server.observability.supervisor import keep_running
from wsnode.server.scheduling.resources import NodeTotals
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import read_certificate, tls_context
from wsnode.sync.starknet.settings import FollowStarknetConfig

logger = logging.getLogger("wsnode.node")

FOLLOWED = FollowConfig(("ws://localhost",))
"""Upstreams in place of any others in a comparison, since new upstreams need no restart."""
REPEATED = ReplicaConfig("redis://localhost")
"""Journal in place of any other in a comparison, since a new journal needs no restart."""
RELOADED = ("limits", "log_level", "log_format", "tls_cert", "tls_key")
"""Settings that a running node takes from a new configuration."""


def server_of(config: Config, networks: Sequence[Network], totals: NodeTotals | None = None) -> Server:
    """Return the server of a node, or of one of its workers; `totals` count for all workers."""
    return Server(
        networks,
        config.limits,
        origin_policy=_origin_policy(config),
        operators=_operators_perimeter(config.metrics.address),
        closes_slow=config.slow_subscriber == "close",
        public_metrics=config.serves_metrics_to_clients,
        files=_files(config, networks),
        processes=config.workers,
        totals=totals,
        open_files=count_free_files(),
    )


def warn_of_few_files(config: Config, server: Server) -> None:
    """Log a warning if open files allow fewer connections than the configuration wants."""
    wanted, most = config.limits.connections, server.all_limits.connections
    if most < wanted:
        # The default is only an upper bound, not an operator's wish, so having slightly fewer is no reason
        # for a line.
        level = logging.INFO if wanted != Limits().connections else logging.DEBUG
        level = logging.WARNING if most < wanted // 2 else level
        text = "at most %d connections, not %d: a process can have %d open files (ulimit -n)"
        logger.log(level, text, most, wanted, most_files())


def run_beside(networks: Sequence[Network], nursery: trio.Nursery) -> None:
    """Start the background tasks of the networks."""
    for network in networks:
        for work in network.background:
            nursery.start_soon(keep_running, work)
        if isinstance(network.keys, KeyFileStore):
            nursery.start_soon(keep_running, network.keys.watch)


class RunningNode(NamedTuple):
    """Parts of a node that a new configuration can change, and the configuration at the start."""

    config: Config
    server: Server
    networks: Sequence[Network]
    tls: ssl.SSLContext | None
    beside: Sequence[Server] = ()
    """Servers beside the main one, each on its own port."""
    worker: int | None = None
    """Number of this worker, None if the node has one process."""


def reload(running: RunningNode, reread: Callable[[], Config] | None) -> None:
    """Apply a new configuration; if it cannot be read, the old one stays."""
    for network in running.networks:
        if isinstance(network.keys, KeyFileStore):
            network.keys.reload()
    if reread is None or (config := read_again(reread, partial(_renew_certificate, running.tls))) is None:
        return
    configure(config.log_level, config.log_format, worker=running.worker)
    running.server.apply(config.limits)
    if running.worker in (None, 1):
        warn_of_few_files(config, running.server)
    for network in running.networks:
        if network.reload is not None and network.name in config.networks:
            network.reload(config.networks[network.name])
    for beside in running.beside:
        beside.apply(limits_beside(config))
    # Only the first of several workers logs the line, because all would log the same.
    if running.worker in (None, 1) and (waiting := needs_restart(running.config, config)):
        logger.warning("in force only after a restart: %s", ", ".join(waiting))


def _renew_certificate(tls: ssl.SSLContext | None, config: Config) -> None:
    if tls is not None and config.tls_cert is not None and config.tls_key is not None:
        certificate, key = Path(config.tls_cert), Path(config.tls_key)
        # A TLS context keeps a certificate even if it refuses the key, so the pair is tried in a separate
        # context first.
        tls_context(certificate, key)
        read_certificate(tls, certificate, key)


def needs_restart(old: Config, new: Config) -> list[str]:
    """Return the names of settings that differ and need a restart to take effect."""
    return [
        name
        for name in Config.__struct_fields__
        if name not in RELOADED and _lasting(old, name) != _lasting(new, name)
    ]


def _lasting(config: Config, name: str) -> Any:
    """Return a setting, with the parts that a running node can change replaced by constants."""
    if name != "networks":
        return getattr(config, name)
    return {
        name: msgspec.structs.replace(
            network,
            follow=network.follow and _followed(network.follow),
            follow_starknet=network.follow_starknet and _followed_starknet(network.follow_starknet),
            replica=network.replica and _repeated(network.replica),
        )
        for name, network in config.networks.items()
    }


def _followed(config: FollowConfig) -> FollowConfig:
    # A running node takes new URLs of beacon nodes. A change between none and some needs a restart, and so
    # does one of `head` or `beacon_config`.
    return msgspec.structs.replace(
        FOLLOWED,
        beacon=("http://localhost",) if config.beacon else (),
        head=config.head,
        beacon_config=config.beacon_config,
    )


def _followed_starknet(config: FollowStarknetConfig) -> FollowStarknetConfig:
    return msgspec.structs.replace(config, upstreams=FOLLOWED.upstreams, agree=None)


def _repeated(config: ReplicaConfig) -> ReplicaConfig:
    return msgspec.structs.replace(
        REPEATED,
        shared_rates=config.shared_rates,
        shared_filters=config.shared_filters,
        shared_pool=config.shared_pool,
    )


def _files(config: Config, networks: Sequence[Network]) -> dict[str, StaticFile]:
    """Return the files for browsers, by path; none unless the console is enabled."""
    if not config.console:
        return {}
    from wsnode.console.files import Settings, console_files

    settings = Settings(keys=not config.open, metrics=config.serves_metrics_to_clients)
    for network in networks:
        settings = msgspec.structs.replace(settings, **network.page)
    return console_files(settings)


def limits_beside(config: Config) -> Limits:
    """Return the limits of the ports of engines, beside the clients' port."""
    # A node without an engine starts sooner without the modules of payloads.
    from wsnode.node.services.engine import engine_limits

    return engine_limits(config.limits)


def _origin_policy(config: Config) -> OriginPolicy:
    if not config.is_private:
        return OriginPolicy.of_origins(config.origins)
    hosts = [host for network in config.networks.values() for host in network.hosts]
    return OriginPolicy.local(hosts, config.origins)


def _operators_perimeter(address: ListenAddress | None) -> OriginPolicy:
    return OPEN if address is None or not is_local_host(address.host) else OriginPolicy.local((), ())


def tls_of(config: Config) -> ssl.SSLContext | None:
    """Return the TLS context of the configured certificate and key, None if there are none.

    Raises:
        ConfigurationError: The files cannot be read, or do not belong together.
    """
    if config.tls_cert is None or config.tls_key is None:
        return None
    try:
        return tls_context(Path(config.tls_cert), Path(config.tls_key))
    except OSError as error:
        raise ConfigurationError(f"tls_cert {config.tls_cert}, tls_key {config.tls_key}: {error}") from error
